"""Every scenario of docs/specs is proven by tests, and every proof is listed under its scenario.

A test names what it proves with `@pytest.mark.scenario("knowledge-index/…")`.
`python tests/test_specs.py --write` copies the names of these tests into the `Tests:` lines.
Tests are found by reading their source, so that a broken import hides nothing.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "docs" / "specs"
NOTHING = "none yet"
MARKER = "mark.scenario"

SCENARIO = re.compile(
    r"^### Scenario: (?P<title>.+)\n\nId: `(?P<id>.+)`\n(?P<body>(?:(?!^#).*\n)*?)\nTests: (?P<tests>.+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of a specification; `tests` is what its `Tests:` line says."""

    spec: str
    title: str
    id: str
    tests: str

    @property
    def listed(self) -> frozenset[str]:
        """The node ids of the tests on its line."""
        return frozenset() if self.tests == NOTHING else frozenset(self.tests.split(", "))


@dataclass(frozen=True, slots=True)
class Proof:
    """One test in the source: its node id, and the scenarios that its markers name."""

    node: str
    scenarios: frozenset[str]


def scenarios(spec: Path) -> list[Scenario]:
    found = SCENARIO.finditer(spec.read_text(encoding="utf-8"))
    return [Scenario(spec.stem, match["title"], match["id"], match["tests"]) for match in found]


def marked(decorators: list[ast.expr]) -> frozenset[str]:
    """The names in `@pytest.mark.scenario("…")` among these decorators."""
    return frozenset(name for decorator in decorators for name in names_in_marker(decorator))


def names_in_marker(node: ast.AST) -> list[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="scenario"), args=args):
            return [str(ast.literal_eval(argument)) for argument in args]
        case _:
            return []


def proofs_in(body: list[ast.stmt], *, inside: str, inherited: frozenset[str] = frozenset()) -> Iterator[Proof]:
    """The tests of a module or a class; a marker on a class holds for its tests."""
    for statement in body:
        if isinstance(statement, ast.ClassDef) and statement.name.startswith("Test"):
            names = inherited | marked(statement.decorator_list)
            yield from proofs_in(statement.body, inside=f"{inside}::{statement.name}", inherited=names)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test"):
            yield Proof(f"{inside}::{statement.name}", inherited | marked(statement.decorator_list))


@cache
def sources() -> dict[str, str]:
    """Test modules by their path below the repository."""
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def all_proofs() -> list[Proof]:
    return [proof for path, text in sources().items() for proof in proofs(path, text)]


def proofs(path: str, text: str) -> Iterator[Proof]:
    """The tests of a module. One without classes and markers need not be parsed, which takes longer."""
    if MARKER in text or "\nclass Test" in text:
        yield from proofs_in(ast.parse(text).body, inside=path)
    else:
        names = re.findall(r"^(?:async )?def (test\w*)\(", text, re.MULTILINE)
        yield from (Proof(f"{path}::{name}", frozenset()) for name in names)


def all_scenarios() -> list[Scenario]:
    return [scenario for spec in spec_files() for scenario in scenarios(spec)]


def spec_files() -> list[Path]:
    return [SPECS / "knowledge-index.md", SPECS / "context-search.md"]


def with_tests(text: str, proofs: list[Proof]) -> str:
    """The specification's text with each `Tests:` line as the markers say."""

    def line(match: re.Match[str]) -> str:
        nodes = sorted(proof.node for proof in proofs if match["id"] in proof.scenarios)
        return match[0].removesuffix(match["tests"]) + (", ".join(nodes) or NOTHING)

    return SCENARIO.sub(line, text)


@pytest.mark.parametrize(("spec", "requirements", "count"), [("knowledge-index", 8, 19), ("context-search", 9, 11)])
def test_no_requirement_and_no_scenario_is_lost(spec: str, requirements: int, count: int) -> None:
    text = (SPECS / f"{spec}.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## Requirement: .", text, re.MULTILINE)) == requirements
    assert len(re.findall(r"^### Scenario: .", text, re.MULTILINE)) == count
    assert len(scenarios(SPECS / f"{spec}.md")) == count, "a scenario has a heading, an Id and a Tests line"


def test_an_id_is_its_heading_in_kebab_case() -> None:
    for scenario in all_scenarios():
        slug = re.sub(r"[^a-z0-9]+", "-", scenario.title.lower()).strip("-")
        assert scenario.id == f"{scenario.spec}/{slug}"


def test_ids_are_unique() -> None:
    ids = [scenario.id for scenario in all_scenarios()]
    assert len(ids) == len(set(ids))


def test_a_scenario_lists_exactly_the_tests_that_prove_it() -> None:
    for scenario in all_scenarios():
        proving = {proof.node for proof in all_proofs() if scenario.id in proof.scenarios}
        assert scenario.listed == proving, f"{scenario.id}: run python tests/test_specs.py --write"
        assert proving, f"no test has @pytest.mark.scenario({scenario.id!r})"


def test_every_marker_names_a_scenario() -> None:
    known = {scenario.id for scenario in all_scenarios()}
    unknown = {proof.node: proof.scenarios - known for proof in all_proofs() if proof.scenarios - known}
    assert unknown == {}


def test_every_marker_sits_on_a_test_or_its_class() -> None:
    for path, text in sources().items():
        if MARKER not in text:
            continue
        module = ast.parse(text)
        written = {name for node in ast.walk(module) for name in names_in_marker(node)}
        attached = {name for proof in proofs_in(module.body, inside=path) for name in proof.scenarios}
        assert written == attached, f"{path}: a marker that belongs to no test proves nothing"


def main() -> None:
    """Writes the `Tests:` lines of all specifications."""
    for spec in spec_files():
        text = spec.read_text(encoding="utf-8")
        spec.write_text(with_tests(text, all_proofs()), encoding="utf-8")
        missing = [scenario.id for scenario in scenarios(spec) if not scenario.listed]
        print(f"{spec.name}: {len(missing)} without a test", *missing, sep="\n  ")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/test_specs.py --write")
    main()
