"""`make proofs` runs every benchmark that a document names."""

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import ALONE, ON_A_STACK

REPOSITORY = Path(__file__).parents[1]
DOCUMENTS = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "benchmarks").glob("*.md")]
SMALLEST = {**ALONE, **ON_A_STACK}


def named(text: str) -> set[str]:
    return set(re.findall(r"\bbenchmarks\.([a-z_]+)\b", text))


def test_every_benchmark_that_a_document_names_is_run() -> None:
    names = set().union(*(named(document.read_text("utf-8")) for document in DOCUMENTS))
    assert names - SMALLEST.keys() == set()


def test_the_list_of_benchmarks_is_whole() -> None:
    listed = (REPOSITORY / "benchmarks" / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `\S+ -m benchmarks\.([a-z_]+)", listed, re.MULTILINE)) == SMALLEST.keys()


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_what_is_run_is_a_program_that_says_what_it_measures(name: str) -> None:
    source = (REPOSITORY / "benchmarks" / f"{name}.py").read_text("utf-8")
    assert source.startswith('"""')
    assert '\nif __name__ == "__main__":\n' in source
