"""What is deployed: the locked packages and our modules under the functions' Python, and the wheels of their processor.

What cannot be checked on a machine is printed at the end of the run.
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sakuin_local.aws.layers import UV, build_layers, built
from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY, TEMPLATE
from sakuin_local.processes import Programs

from tests.built_layers import runtime_packages

PARAMETERS = read_template(TEMPLATE)["Parameters"]
MINOR = str(PARAMETERS["PythonRuntime"]["Default"]).removeprefix("python")
LOCKED = sorted((REPOSITORY / "layers").glob("*/requirements.txt"))
# The packages of Lambda's runtime are those of .venv, which are pure Python.
IMPORT = """
import importlib, pkgutil, sys
sys.path[:0] = sys.argv[1:]
import sakuin
names = {module.name for module in pkgutil.walk_packages(sakuin.__path__, "sakuin.")}
names |= {module.name for module in pkgutil.iter_modules(sys.argv[2:])}
for name in sorted(names):
    importlib.import_module(name)
print(len(names), sys.version.split()[0])
"""
# What uv says when it does not reach the registry.
UNREACHED = re.compile(r"error sending request|Failed to fetch|timed out|dns error|network", re.IGNORECASE)


def make(folder: Path, layer: str = "base", **variables: str) -> str:
    """The commands that build a layer, with the choice of the repository in `folder`."""
    target = f"build-Sakuin{layer.capitalize()}Layer"
    command = ["make", "--dry-run", f"--makefile={folder / 'layers' / layer / 'Makefile'}", target, "ARTIFACTS_DIR=out"]
    environ = {name: value for name, value in os.environ.items() if name not in ("PY", "ARCH", "PLATFORM", "MAKEFLAGS")}
    done = subprocess.run(command, env={**environ, **variables}, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def interpreter() -> str | None:
    """The interpreter of the functions' Python, if this machine has one."""
    found = subprocess.run(
        [str(REPOSITORY / "layers" / "interpreter"), MINOR], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None


def test_everything_deployed_imports_where_it_runs(interpreter: str | None, tmp_path: Path, summary: set[str]) -> None:
    if interpreter is None:
        summary.add(f"not checked: the deployed packages under Python {MINOR}, which this machine does not have")
        pytest.skip(f"no Python {MINOR}")
    build_layers(TEMPLATE, Programs(tmp_path / "logs"), minor=MINOR)
    layers = [lock.parent for lock in LOCKED]
    folders = [str(built(layer, MINOR) / "python") for layer in layers]
    own = str(REPOSITORY / "layers" / "sakuin")
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    runtime_packages(runtime)
    done = subprocess.run(
        [interpreter, "-I", "-S", "-c", IMPORT, own, *folders, str(runtime)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    count, version = done.stdout.split()
    assert int(count) > 200
    summary.add(f"deployed: {count} modules and packages imported under Python {version}")
    summary.add("not checked: boto3 of Lambda's runtime (that of .venv was imported)")


def test_a_file_that_does_not_compile_ends_the_build(interpreter: str | None, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def f(:\n")
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [str(REPOSITORY / "layers" / "compile"), own, str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHON_OF_LAYER": sys.executable}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "wrong.py" in done.stdout + done.stderr


def test_every_module_of_ours_parses_as_the_functions_python_reads_it() -> None:
    files = [file for part in ("layers/sakuin", "functions") for file in sorted((REPOSITORY / part).rglob("*.py"))]
    assert len(files) > 150
    major, minor = map(int, MINOR.split("."))
    for file in files:
        ast.parse(file.read_text("utf-8"), str(file), feature_version=(major, minor))


@pytest.mark.parametrize("runtime", ["python3.13", "python3.14"])
@pytest.mark.parametrize("architecture", PARAMETERS["Architecture"]["AllowedValues"])
def test_each_locked_package_has_a_wheel_for_functions(
    architecture: str, runtime: str, tmp_path: Path, summary: set[str]
) -> None:
    """By hash. What is in uv's cache is not asked for again."""
    assert runtime in PARAMETERS["PythonRuntime"]["AllowedValues"]
    commands = make(REPOSITORY, ARCH=architecture, PY=runtime.removeprefix("python"))
    asked = re.search(r"--python-version \S+ --python-platform \S+", commands)
    assert asked, commands
    command = [str(UV), "pip", "install", "--dry-run", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += ["--target", str(tmp_path), *shlex.split(asked[0])]
    command += [part for lock in LOCKED for part in ("--requirement", str(lock))]
    for offline in (["--offline"], []):
        done = subprocess.run([*command, *offline], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            summary.add(
                f"deployed: {done.stderr.count(' + ')} wheels for {runtime}, {architecture} found by hash, not run"
            )
            return
    if UNREACHED.search(done.stderr):
        summary.add(f"not checked: wheels for {architecture}, because the registry did not answer")
        pytest.skip("the registry did not answer")
    pytest.fail(done.stderr)


def test_layers_are_built_for_what_samconfig_says_that_the_functions_are(tmp_path: Path) -> None:
    for name in ("template.yaml", "samconfig.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    shutil.copytree(REPOSITORY / "layers", tmp_path / "layers", ignore=shutil.ignore_patterns("sakuin"))
    default = f'--python-version "{MINOR}" --python-platform "aarch64-'
    assert default in make(tmp_path)
    config = tmp_path / "samconfig.toml"
    config.write_text(config.read_text() + 'Architecture = "x86_64"\nPythonRuntime = "python3.14"\n')
    assert '--python-version "3.14" --python-platform "x86_64-' in make(tmp_path)
    config.write_text(config.read_text() + '[staging.deploy.parameters.parameter_overrides]\nArchitecture = "arm64"\n')
    assert "samconfig.toml has more than one Architecture: set ARCH" in make(tmp_path)
