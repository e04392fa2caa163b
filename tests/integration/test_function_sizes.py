"""Lambda takes 250 MB a function, unzipped, layers included."""

import sys
from pathlib import Path
from typing import Any

import pytest
from sakuin_local.layers import built, is_our_own
from sakuin_local.template import read_template

from tests.integration.conftest import REPOSITORY, Deployed

pytestmark = pytest.mark.integration

LIMIT = 250 * 1024 * 1024
TEMPLATE = REPOSITORY / "template.yaml"
RESOURCES = read_template(TEMPLATE)["Resources"]
FUNCTIONS = [name for name, resource in RESOURCES.items() if resource["Type"] == "AWS::Serverless::Function"]
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def layers_of(function: str) -> list[Path]:
    """The folders that a function's layers unpack to, built for this machine with their bytecode."""
    sources = [
        REPOSITORY / RESOURCES[layer["Ref"]]["Properties"]["ContentUri"] for layer in properties(function)["Layers"]
    ]
    return [source if is_our_own(source) else built(source, MINOR) for source in sources]


def properties(function: str) -> dict[str, Any]:
    return RESOURCES[function]["Properties"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_with_its_layers_fits(deployed: Deployed, function: str) -> None:
    folders = [*layers_of(function), REPOSITORY / properties(function)["CodeUri"]]
    sizes = {folder.name: size(folder) for folder in folders}
    assert all(sizes.values())
    assert sum(sizes.values()) < LIMIT, sizes
