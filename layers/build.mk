# How a layer is built, for `sam build`, for the local stack and for measuring; included by layers/*/Makefile.
#
#   make -f layers/base/Makefile build-SakuinBaseLayer ARTIFACTS_DIR=out PY=3.13 ARCH=arm64
#
# SAM runs the original Makefile in a copy of its folder, so everything is addressed from the Makefile's own place.
LAYER := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
LAYERS := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

# What the layer is for: what samconfig.toml says that the functions are, else the template's default. One choice, so that
# functions and layers cannot differ. PLATFORM= (empty) builds for the machine at hand.
of_config = $(sort $(shell sed -nE 's/^$(1) *= *"(python)?([^"]+)".*/\2/p' "$(LAYERS)/../samconfig.toml"))
of_template = $(shell sed -nE '/^  $(1):/,/Default:/s/^ +Default: (python)?//p' "$(LAYERS)/../template.yaml")
chosen = $(if $(word 2,$(of_config)),$(error samconfig.toml has more than one $(1): set $(2)),$(or $(of_config),$(of_template)))
PY ?= $(call chosen,PythonRuntime,PY)
ARCH ?= $(call chosen,Architecture,ARCH)
MACHINE_arm64 := aarch64
MACHINE_x86_64 := x86_64
PLATFORM ?= $(MACHINE_$(ARCH))-manylinux_2_28

UV ?= $(firstword $(wildcard $(LAYERS)/../.venv/bin/uv) uv)
export UV_HTTP_TIMEOUT ?= 180
export UV_HTTP_RETRIES ?= 10

# STRICT=1 refuses to build without bytecode, which doubles a cold start's import time.
STRICT ?=

define install
	mkdir -p "$(ARTIFACTS_DIR)/python"
	"$(UV)" pip install --quiet --no-deps --require-hashes --only-binary :all: --link-mode copy \
		--target "$(ARTIFACTS_DIR)/python" --python-version "$(PY)" $(if $(PLATFORM),--python-platform "$(PLATFORM)") \
		--requirement "$(LAYER)/requirements.txt"
	rm -rf "$(ARTIFACTS_DIR)/python/bin" "$(ARTIFACTS_DIR)/python/.lock"
	$(strip)
endef

# What no function reads: type stubs, sources of compiled modules, the packages' own tests, the installer's notes.
# Licences stay, and so does the metadata that packages look their own versions and entry points up in.
define strip
	find "$(ARTIFACTS_DIR)/python" -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' \
		-o -name '*.c' -o -name '*.h' -o -path '*.dist-info/RECORD' -o -path '*.dist-info/INSTALLER' \
		-o -path '*.dist-info/REQUESTED' \) -exec rm -f {} +
	find "$(ARTIFACTS_DIR)/python" -type d -name tests -prune -exec rm -rf {} +
endef

# Bytecode that is believed without a look at the source: a layer's files have other times than those compiled.
define compile
	"$(LAYERS)/compile" "$(PY)" "$(ARTIFACTS_DIR)/python" "$(STRICT)"
endef
