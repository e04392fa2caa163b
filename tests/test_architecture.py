"""Which package may import which, compared with the import graph."""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "layers" / "sakuin" / "sakuin"
COMMAND = ROOT / "cli" / "sakuin_cli"
FUNCTIONS = ROOT / "functions"

# Each package, and the packages that it may import beside itself.
SHARED = {"differences", "errors", "limits", "platform", "language", "retrieval", "texts"}
PRODUCTS = {"knowledge", "tables"}
MAY_IMPORT = {
    "texts": set(),
    "differences": set(),
    "errors": {"texts"},
    "limits": {"errors"},
    "platform": {"errors", "texts"},
    "language": {"errors", "texts"},
    "retrieval": {"errors", "language", "platform"},
    "knowledge": SHARED,
    "tables": SHARED,
    # What callers of searches send: the tools of agents, REST and explanations.
    "arguments": SHARED | PRODUCTS,
    "explain": SHARED | PRODUCTS | {"arguments"},
    "mcp": SHARED | PRODUCTS | {"arguments", "explain"},
    "upkeep": SHARED | PRODUCTS,
    "http": SHARED | PRODUCTS | {"upkeep", "mcp", "explain", "arguments"},
    "console": SHARED | PRODUCTS | {"upkeep", "http", "mcp", "explain"},
    "settings": SHARED | PRODUCTS,
}
WIRING = "wiring"
# Libraries of parsing and text, without I/O.
PURE_LIBRARIES = {"bs4", "chardet", "lxml", "pydantic", "regex", "soupsieve", "sudachipy", "webencodings", "yaml"}
IMPURE = {"os", "socket", "urllib.request", "http.client", "subprocess", "time", "random"}
# What computes from its arguments alone.
PURE = (
    "differences",
    "errors",
    "limits",
    "language",
    "retrieval",
    "knowledge.excerpt",
    "knowledge.markdown",
    "knowledge.model",
    "knowledge.names",
    "knowledge.reading",
    "knowledge.validation",
    "tables.model",
    "tables.scan",
    "tables.chunking",
    "tables.document",
    "tables.json_pointer",
)
# The library of a vendor, and the words of which one names the module or its folder.
SDKS = {
    "boto3": {"aws"},
    "botocore": {"aws", "aws_lambda", "s3", "sqs", "secrets_manager"},
    "openai": {"openai"},
    "supabase": {"supabase", "supabase_auth"},
    "postgrest": {"supabase"},
    "turbopuffer": {"turbopuffer"},
    "mcp": {"mcp"},
    "fastapi": {"http", "console"},
    "sudachipy": {"morphemes"},
}


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {name_of(path): path for path in PACKAGE.rglob("*.py")}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    """The package of `sakuin.knowledge.page` is knowledge, of `sakuin.errors` errors; `sakuin` itself has none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@dataclass(frozen=True, slots=True)
class Source:
    """What a file imports, by dotted names; `at_import`: not inside functions."""

    doc: str | None
    imported: frozenset[str]
    at_import: frozenset[str]


@cache
def source(path: Path) -> Source:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    every, first = (frozenset(_imported(path, nodes)) for nodes in (ast.walk(tree), tree.body))
    return Source(ast.get_docstring(tree), every, first)


def imported(path: Path) -> frozenset[str]:
    """The dotted names that a file imports."""
    return source(path).imported


def _imported(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the package"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(path: Path, *, at_import_only: bool = False) -> set[str]:
    """The modules of the package that a file imports."""
    known = modules()
    names = source(path).at_import if at_import_only else imported(path)
    return {name for name in names if name in known and name != "sakuin"}


def is_pure(module: str) -> bool:
    """Whether the module, or a package that it lies in, is one of `PURE`."""
    return any(module == f"sakuin.{pure}" or module.startswith(f"sakuin.{pure}.") for pure in PURE)


def test_a_module_imports_only_what_its_package_may() -> None:
    wrong = {
        module: found
        for module, path in modules().items()
        if (package := package_of(module)) not in {"", WIRING}
        and (found := {package_of(name) for name in own(path)} - MAY_IMPORT[package] - {package})
    }
    assert wrong == {}


def test_only_the_wiring_imports_everything() -> None:
    importers = {package_of(name) for name, path in modules().items() if WIRING in map(package_of, own(path))}
    assert importers == {WIRING}


def test_a_pure_module_does_no_io_and_reads_no_clock() -> None:
    assert {f"sakuin.{pure}" for pure in PURE} <= modules().keys()
    allowed = set(sys.stdlib_module_names) | {"sakuin"} | PURE_LIBRARIES
    for module in filter(is_pure, modules()):
        used = imported(modules()[module])
        assert {name.split(".")[0] for name in used} <= allowed, module
        assert used.isdisjoint(IMPURE), module


@pytest.mark.parametrize("sdk", SDKS)
def test_a_module_that_imports_a_library_of_a_vendor_is_named_after_it(sdk: str) -> None:
    users = [name for name, path in modules().items() if sdk in {part.split(".")[0] for part in imported(path)}]
    assert users, f"nothing imports {sdk}"
    unnamed = [name for name in users if package_of(name) != WIRING and SDKS[sdk].isdisjoint(name.split("."))]
    assert unnamed == []


def test_a_folder_can_be_read_at_a_glance() -> None:
    files = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert {folder: number for folder, number in files.items() if number > 16} == {}


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
    assert {package_of(name) for name in own(app)} <= {WIRING}
    assert {name.split(".")[0] for name in imported(app)} <= {"os", "sakuin"}
    assert not any(isinstance(node, ast.If | ast.FunctionDef | ast.ClassDef | ast.Try) for node in ast.walk(tree))
    assert len(app.read_text(encoding="utf-8").splitlines()) <= 15


def test_no_file_has_a_name_that_says_nothing() -> None:
    names = {path.stem for path in [*PACKAGE.rglob("*.py"), *COMMAND.rglob("*.py")]}
    assert names.isdisjoint({"utils", "helpers", "common", "misc", "base"})


def test_every_file_says_what_it_answers() -> None:
    for path in [*PACKAGE.rglob("*.py"), *COMMAND.rglob("*.py"), *FUNCTIONS.rglob("*.py")]:
        assert source(path).doc, path
