"""What each function weighs, unzipped and with its layers: the output of `sam build`, or another build of the same."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY

# Lambda's limit, and what is left for what is to come.
LIMIT = 250 * 1024 * 1024
WANTED = 235_000_000
_MEGABYTE = 1_000_000


def main() -> None:
    """Print the table; ends with 1 if a function is heavier than wanted."""
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / ".aws-sam" / "build"
    if not (build / "template.yaml").exists():
        raise SystemExit(f"{build} holds no build: run `make template`")
    sizes = sizes_of(read_template(build / "template.yaml")["Resources"], build)
    layers = list(dict.fromkeys(name for parts in sizes.values() for name in parts))
    print("MB".ljust(24), *(f"{name.removeprefix('Sakuin').removesuffix('Layer') or 'own':>12}" for name in layers))
    for function, parts in sizes.items():
        cells = (f"{parts[name] / _MEGABYTE:12.1f}" if name in parts else " " * 12 for name in layers)
        print(function.ljust(16), f"{sum(parts.values()) / _MEGABYTE:7.1f}", *cells)
    too_heavy = [function for function, parts in sizes.items() if sum(parts.values()) > WANTED]
    if too_heavy:
        raise SystemExit(f"more than {WANTED / _MEGABYTE:.0f} MB: {', '.join(too_heavy)}")


def sizes_of(resources: Mapping[str, Mapping[str, Any]], build: Path) -> dict[str, dict[str, int]]:
    """The bytes of each function's own code and of its layers, by the layer's name.

    `build` holds a folder for each function and layer, named by its logical id.
    """
    layers = {
        name: size(build / name)
        for name, resource in resources.items()
        if resource["Type"] == "AWS::Serverless::LayerVersion"
    }
    return {
        name: {"code": size(build / name)}
        | {layer["Ref"]: layers[layer["Ref"]] for layer in resource["Properties"]["Layers"]}
        for name, resource in resources.items()
        if resource["Type"] == "AWS::Serverless::Function"
    }


def size(folder: Path) -> int:
    """The bytes of all files below a folder; one that is not there raises FileNotFoundError."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    if not files:
        raise FileNotFoundError(f"{folder} is empty or not there: run `make template`")
    return sum(file.stat().st_size for file in files)


if __name__ == "__main__":
    main()
