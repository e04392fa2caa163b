"""Who may import whom: the table of the house, held against the import graph."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "layers" / "sakuin" / "sakuin"
COMMAND = ROOT / "cli" / "sakuin_cli"
FUNCTIONS = ROOT / "functions"

# Each room, and the rooms it may walk into.
MAY_IMPORT = {
    "domain": {"domain", "errors"},
    "errors": set(),
    "settings": {"errors", "domain"},
    "ports": {"ports", "domain"},
    "services": {"services", "domain", "ports", "errors"},
    # The secret's shape belongs to the settings.
    "adapters": {"adapters", "domain", "ports", "errors", "settings"},
    "entrypoints": {"entrypoints", "domain", "services", "errors"},
    "functions": {"bootstrap", "entrypoints"},
}
# Pure libraries of parsing and text: no I/O, no state outside themselves.
PURE = {"bs4", "lxml", "regex", "soupsieve", "yaml", "sudachipy"}
WIRING = {"bootstrap"}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {name_of(path): path for path in PACKAGE.rglob("*.py")}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room of `sakuin.knowledge.page` is domain, of `sakuin.errors` errors; the package itself has none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(path: Path, *, at_import_only: bool = False) -> Iterator[str]:
    """The dotted names that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_import_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(path: Path, *, at_import_only: bool = False) -> set[str]:
    """The modules of the package that a file imports."""
    known = modules()
    return {name for name in imported(path, at_import_only=at_import_only) if name in known and name != "sakuin"}


@pytest.mark.parametrize("module", sorted(name for name in modules() if room_of(name) in MAY_IMPORT))
def test_a_module_imports_only_what_its_room_may(module: str) -> None:
    rooms = {room_of(name) for name in own(modules()[module])}
    assert rooms <= MAY_IMPORT[room_of(module)], module


def test_every_module_has_a_room() -> None:
    rooms = {room_of(name) for name in modules()}
    assert rooms <= {"", *MAY_IMPORT, *WIRING}


@pytest.mark.parametrize("room", ["domain", "errors", "ports", "services", "settings"])
def test_the_inside_needs_no_library_but_pure_ones_of_text(room: str) -> None:
    allowed = set(sys.stdlib_module_names) | {"sakuin"} | (PURE if room == "domain" else set())
    for module, path in modules().items():
        if room_of(module) == room:
            assert {name.split(".")[0] for name in imported(path)} <= allowed, module


@pytest.mark.parametrize("forbidden", ["os", "socket", "urllib.request", "http.client", "subprocess", "time", "random"])
def test_the_domain_does_no_io_and_reads_no_clock(forbidden: str) -> None:
    users = [
        module for module, path in modules().items() if room_of(module) == "domain" and forbidden in imported(path)
    ]
    assert users == []


def test_an_adapter_speaks_to_one_vendor() -> None:
    vendors = {"boto3", "botocore", "openai", "supabase", "postgrest", "aws_lambda_powertools", "turbopuffer"}
    pairs = ({"boto3", "botocore"}, {"supabase", "postgrest"})
    one_vendor = (*pairs, {"openai"}, {"aws_lambda_powertools"}, {"turbopuffer"})
    for module, path in modules().items():
        if room_of(module) == "adapters":
            used = {name.split(".")[0] for name in imported(path)} & vendors
            assert any(used <= vendor for vendor in one_vendor), module


def test_there_is_no_import_cycle() -> None:
    graph = {name: own(path, at_import_only=True) - {name} for name, path in modules().items()}
    while leaves := [name for name, wanted in graph.items() if not wanted & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert graph == {}


@pytest.mark.parametrize("forbidden", ["sakuin_cli", "sakuin_local", "typer", "rich"])
def test_what_lambda_runs_knows_neither_the_command_nor_the_local_stack(forbidden: str) -> None:
    layers_and_functions = [*(ROOT / "layers").rglob("*.py"), *FUNCTIONS.rglob("*.py")]
    users = [path for path in layers_and_functions if forbidden in {name.split(".")[0] for name in imported(path)}]
    assert users == []


def test_only_its_entry_point_ties_the_command_to_the_local_stack() -> None:
    users = [path.name for path in COMMAND.rglob("*.py") if any(_is_local(name) for name in imported(path))]
    assert users == ["main.py"]


def _is_local(name: str) -> bool:
    return name.split(".")[0] == "sakuin_local"


@pytest.mark.parametrize("app", sorted(FUNCTIONS.glob("*/app.py")), ids=lambda path: path.parent.name)
def test_a_function_is_wiring(app: Path) -> None:
    tree = ast.parse(app.read_text(encoding="utf-8"))
    assert {room_of(name) for name in own(app)} <= MAY_IMPORT["functions"]
    assert {name.split(".")[0] for name in imported(app)} <= {"os", "sakuin"}
    assert not any(isinstance(node, ast.If | ast.FunctionDef | ast.ClassDef | ast.Try) for node in ast.walk(tree))
    assert len(app.read_text(encoding="utf-8").splitlines()) <= 15


def test_no_file_has_a_name_that_says_nothing() -> None:
    names = {path.stem for path in [*PACKAGE.rglob("*.py"), *COMMAND.rglob("*.py")]}
    assert names.isdisjoint({"utils", "helpers", "common", "misc", "base"})


def test_every_file_says_what_it_answers() -> None:
    for path in [*PACKAGE.rglob("*.py"), *COMMAND.rglob("*.py"), *FUNCTIONS.rglob("*.py")]:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
