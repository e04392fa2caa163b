"""Every alarm has its page in docs/runbooks, and every page its alarm."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_template import ROOT, resources

RUNBOOKS = ROOT / "docs" / "runbooks"
ALARMS = resources("AWS::CloudWatch::Alarm")
PAGES = sorted(path.name for path in RUNBOOKS.glob("*.md") if path.name != "README.md")
COMMANDS = ("npx", "sakuin", "sam")
SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "layers" / "sakuin").rglob("*.py")))
HEADINGS = ("**What it means.**", "**Look here", "**Do this.**", "**How to know it is over.**")


def page_of(alarm: dict[str, Any]) -> str:
    """The page that an alarm's description names."""
    found = re.search(r"docs/runbooks/([a-z-]+\.md)$", alarm["AlarmDescription"])
    assert found, alarm["AlarmDescription"]
    return found[1]


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_names_a_page_that_is_there_and_listed_with_it(name: str) -> None:
    page = page_of(ALARMS[name])
    assert (RUNBOOKS / page).is_file()
    rows = [line for line in (RUNBOOKS / "README.md").read_text(encoding="utf-8").splitlines() if f"({page})" in line]
    assert any(f"`{name}`" in row for row in rows), f"{name} is not in the table of docs/runbooks/README.md"


def test_every_page_belongs_to_an_alarm() -> None:
    assert sorted({page_of(alarm) for alarm in ALARMS.values()}) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_it_means_where_to_look_what_to_do_and_when_it_is_over(page: str) -> None:
    text = (RUNBOOKS / page).read_text(encoding="utf-8")
    places = [text.find(heading) for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("page", PAGES)
def test_the_first_step_is_the_doctor(page: str) -> None:
    text = (RUNBOOKS / page).read_text(encoding="utf-8")
    assert re.search(r"\*\*Look here[^*]*\*\* First `sakuin doctor`", text)


@pytest.mark.parametrize("path", sorted(Path(RUNBOOKS).glob("*.md")), ids=lambda path: path.name)
def test_a_page_names_only_alarms_and_outputs_that_the_template_has(path: Path) -> None:
    named = set(re.findall(r"`(Sakuin\w+Alarm)`", path.read_text(encoding="utf-8")))
    assert named <= set(ALARMS)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_lines_that_the_product_logs(page: str) -> None:
    quoted = re.findall(r"`([a-z]+(?: [a-z]+)+)`", (RUNBOOKS / page).read_text(encoding="utf-8"))
    lines = {each for each in quoted if each.split()[0] not in COMMANDS}
    assert {each for each in lines if f'"{each}' not in SOURCES} == set()
