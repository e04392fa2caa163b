"""The published schemas accept what the code takes and gives."""

import json
import re
import runpy
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from sakuin.language.model import Rule

from tests.events import event

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "docs" / "reference" / "events"


def schema(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return read


def test_the_generated_documents_are_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    outdated = runpy.run_path(str(ROOT / "scripts" / "reference"))["outdated"]
    assert outdated() == [], "run .venv/bin/python scripts/reference"


def test_the_reference_names_the_rules_that_an_explanation_may_leave_out() -> None:
    lines = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| `without` |")]
    assert re.findall(r"`(\w+)`", row) == ["without", *get_args(Rule)]


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.schema.json")), ids=lambda path: path.name)
def test_a_schema_is_one(path: Path) -> None:
    Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("index_material.put", "s3-notification"),
        ("index_material.delete", "s3-notification"),
        ("index_material.test_event", "s3-test-event"),
        ("index_material.reindex", "reindex"),
        ("index_material.recheck", "recheck"),
    ],
)
def test_each_recorded_message_fits_its_schema_and_no_other(recorded: str, name: str) -> None:
    body = json.loads(event(recorded)["Records"][0]["body"])
    names = [path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")]
    assert [each for each in names if Draft202012Validator(schema(each)).is_valid(body)] == [name]


def test_every_route_is_described_in_the_pages_for_people() -> None:
    paths = json.loads(files("sakuin.http").joinpath("openapi.json").read_text("utf-8"))["paths"]
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert [path for path in paths if f"`{path}`" not in page and path not in page] == []


def test_every_message_is_described_in_the_pages_for_people() -> None:
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    assert [path.name for path in SCHEMAS.glob("*.schema.json") if path.name not in page] == []
