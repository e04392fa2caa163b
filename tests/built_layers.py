"""The template's layers as `sam build` makes them, for this machine."""

import os
import subprocess
import sys
from pathlib import Path

from sakuin_local.aws.layers import build_layers, built, is_our_own
from sakuin_local.aws.template import Template, read_template
from sakuin_local.places import EMULATOR, REPOSITORY, TEMPLATE
from sakuin_local.processes import Programs

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
RESOURCES: Template = read_template(TEMPLATE)["Resources"]
FUNCTIONS = [name for name, one in RESOURCES.items() if one["Type"] == "AWS::Serverless::Function"]
LAYERS = [name for name, one in RESOURCES.items() if one["Type"] == "AWS::Serverless::LayerVersion"]


def built_layers(folder: Path) -> dict[str, Path]:
    """Each layer's folder by its logical id: our own is built in `folder`, the others where `sakuin up` has them."""
    build_layers(TEMPLATE, Programs(folder), minor=MINOR)
    sources = {name: REPOSITORY / RESOURCES[name]["Properties"]["ContentUri"] for name in LAYERS}
    return {
        name: _own(name, source, folder / name) if is_our_own(source) else built(source, MINOR)
        for name, source in sources.items()
    }


def layers_of(function: str, layers: dict[str, Path]) -> dict[str, Path]:
    return {layer["Ref"]: layers[layer["Ref"]] for layer in RESOURCES[function]["Properties"]["Layers"]}


def _own(name: str, source: Path, target: Path) -> Path:
    command = ["make", "--silent", f"--makefile={source / 'Makefile'}", f"build-{name}"]
    given = [f"ARTIFACTS_DIR={target}", f"PY={MINOR}", "STRICT=1"]
    environment = {**os.environ, "PYTHON_OF_LAYER": str(EMULATOR / "python")}
    subprocess.run([*command, *given], check=True, env=environment)
    return target
