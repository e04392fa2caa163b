"""The documents about security, rotation and reliability name the tests that prove them, and none is left out."""

import re
from pathlib import Path

import pytest

from tests.test_specs import all_proofs

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "SECURITY.md",
    ROOT / "docs" / "how-to" / "rotation.md",
    ROOT / "docs" / "explanation" / "reliability.md",
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
# Every module of these is about a promise.
FOLDERS = ("tests/isolation", "tests/hostile")
MODULES = (
    "tests/test_rotation.py",
    "tests/platform/test_renewed_keys.py",
    "tests/test_planted_secrets.py",
    "tests/test_locks.py",
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_is_named_is_there(document: Path) -> None:
    nodes = {proof.node for proof in all_proofs()}
    modules = {node.partition("::")[0] for node in nodes}
    named = NAMED.findall(document.read_text(encoding="utf-8"))
    assert named
    for module, test in named:
        assert module in modules, module
        assert not test or f"{module}::{test}" in nodes, test


@pytest.mark.parametrize("document", [DOCUMENTS[0], DOCUMENTS[2]], ids=lambda path: path.name)
def test_every_promise_names_a_test(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    promises = text.partition("## Promises")[2].partition("\n## ")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    assert [row for row in rows if not NAMED.search(row) and not any(f"`{folder}/`" in row for folder in FOLDERS)] == []


def test_every_module_about_security_is_named() -> None:
    text = DOCUMENTS[0].read_text(encoding="utf-8")
    assert {folder for folder in FOLDERS if f"`{folder}/`" not in text} == set()
    assert set(MODULES) <= {module for module, _ in NAMED.findall(text)}
