"""The template's layers as `sam build` makes them, for this machine."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sakuin_local.aws.layers import build_layers, built, is_our_own
from sakuin_local.aws.template import Template, read_template
from sakuin_local.places import EMULATOR, REPOSITORY, TEMPLATE
from sakuin_local.processes import Programs

LAMBDA_BRINGS = ("boto3", "botocore", "s3transfer", "urllib3", "jmespath", "dateutil", "six")
NOBODY_THERE = "http://127.0.0.1:9"
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
WHOLE = read_template(TEMPLATE)
RESOURCES: Template = WHOLE["Resources"]
VARIABLES: dict[str, Any] = WHOLE["Globals"]["Function"]["Environment"]["Variables"]
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


def runtime_packages(folder: Path) -> Path:
    """Makes a folder of the packages that the runtime has beside the standard library."""
    for name in LAMBDA_BRINGS:
        spec = find_spec(name)
        assert spec
        assert spec.origin
        origin = Path(spec.origin)
        whole = origin.parent if spec.submodule_search_locations else origin
        (folder / whole.name).symlink_to(whole)
    return folder


def run_function(
    function: str, layers: dict[str, Path], runtime: Path, code: str, *, timeout: float = 120, **variables: str
) -> str:
    """Runs code with a function's own layers and the runtime's packages alone, and returns what it prints."""
    source = REPOSITORY / RESOURCES[function]["Properties"]["CodeUri"]
    folders = [source, *(path / "python" for path in layers_of(function, layers).values()), runtime]
    own = RESOURCES[function]["Properties"].get("Environment", {}).get("Variables", {})
    environment = {name: _value(value) for name, value in {**VARIABLES, **own}.items()} | {
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "LAMBDA_TASK_ROOT": str(source),
        **variables,
    }
    # Told by its arguments, since -I takes no PYTHONPATH and -S no site-packages.
    code = f"import sys\nsys.path[:0] = sys.argv[1:]\n{code}"
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, folders)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def _value(said: Any) -> str:
    """Returns the value in the template, or the default of its parameter."""
    if not isinstance(said, dict):
        return str(said)
    return str(WHOLE["Parameters"].get(said.get("Ref"), {}).get("Default", NOBODY_THERE))


def _own(name: str, source: Path, target: Path) -> Path:
    command = ["make", "--silent", f"--makefile={source / 'Makefile'}", f"build-{name}"]
    given = [f"ARTIFACTS_DIR={target}", f"PY={MINOR}", "STRICT=1"]
    environment = {**os.environ, "PYTHON_OF_LAYER": str(EMULATOR / "python")}
    subprocess.run([*command, *given], check=True, env=environment)
    return target
