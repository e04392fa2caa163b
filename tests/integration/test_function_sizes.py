"""Lambda takes 250 MB a function, unzipped, layers included; a layer has bytecode and nothing that nobody reads."""

import importlib.util
from pathlib import Path

import pytest

from scripts.sizes import LIMIT, WANTED, size
from tests.built_layers import FUNCTIONS, LAYERS, RESOURCES, built_layers, layers_of
from tests.integration.conftest import REPOSITORY

pytestmark = pytest.mark.integration

# Flags of a .pyc: it goes by its source's hash, and the hash is not looked at.
UNCHECKED_HASH = 0b01
NOBODY_READS = ("*.pyi", "*.pyx", "*.c", "*.h", "tests", "*.dist-info/RECORD")


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built_layers(tmp_path_factory.mktemp("layers"))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_with_its_layers_stays_well_under_the_limit(layers: dict[str, Path], function: str) -> None:
    code = REPOSITORY / RESOURCES[function]["Properties"]["CodeUri"]
    sizes = {folder.name: size(folder) for folder in (code, *layers_of(function, layers).values())}
    assert sum(sizes.values()) <= WANTED < LIMIT, sizes


@pytest.mark.parametrize("layer", LAYERS)
def test_the_bytecode_of_a_layer_is_this_version_s_and_is_believed_unseen(layers: dict[str, Path], layer: str) -> None:
    compiled = list(layers[layer].rglob("*.pyc"))
    sources = list(layers[layer].rglob("*.py"))
    heads = {file.read_bytes()[:8] for file in compiled}
    assert heads == {importlib.util.MAGIC_NUMBER + UNCHECKED_HASH.to_bytes(4, "little")}
    # Some packages carry a template of code or two that no version compiles.
    assert len(sources) - len(compiled) <= 3


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_has_no_stubs_no_sources_of_compiled_modules_and_no_tests(layers: dict[str, Path], layer: str) -> None:
    assert [path for pattern in NOBODY_READS for path in layers[layer].rglob(pattern)] == []


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer != "SakuinLayer"])
def test_a_layer_keeps_the_licences_of_its_packages(layers: dict[str, Path], layer: str) -> None:
    packages = list((layers[layer] / "python").glob("*.dist-info"))
    said = [package for package in packages if (package / "licenses").exists() or list(package.glob("LICEN[CS]E*"))]
    named = [package for package in packages if "License" in (package / "METADATA").read_text(encoding="utf-8")]
    assert packages
    assert set(said) | set(named) == set(packages)
