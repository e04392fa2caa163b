"""docs/reference/cost.md adds up, and names the models as the product knows them."""

import re
import tomllib
from pathlib import Path

import pytest
from sakuin.platform.openai.models import VENDORS

DOCUMENT = (Path(__file__).parents[1] / "docs" / "reference" / "cost.md").read_text("utf-8")
# A line of a table: its first cell, and the others, of which the first are numbers.
ROWS = re.findall(r"^\| ([^|\n]+?) \| (.+) \|$", DOCUMENT, re.MULTILINE)


def test_the_models_are_those_of_the_product() -> None:
    models = tomllib.loads(VENDORS.read_text(encoding="utf-8"))["model"]
    expected = {
        f"`{model['name']}`": [
            f"{model['usd_read']:g}",
            f"{model['usd_written']:g}" if "usd_written" in model else "",
            f"{model['shutdown']}, then `{model['replacement']}`" if "shutdown" in model else "no end announced",
            model["source"],
            model["read"],
        ]
        for model in models
    }
    written = {name: [cell.strip() for cell in cells.split("|")] for name, cells in ROWS if name in expected}
    assert written == expected


@pytest.mark.parametrize("heading", ["A library of pages", "Tables", "A public library"])
def test_a_table_adds_up(heading: str) -> None:
    section = DOCUMENT.split(f"## {heading}\n")[1].split("\n## ")[0]
    amounts: dict[str, list[float]] = {}
    for name, cells in re.findall(r"^\| ([^|]+?) \|(.*)$", section, re.MULTILINE):
        amounts[name] = [float(cell.replace(",", "")) for cell in re.findall(r"[\d,]+\.\d\d", cells)]
    amounts.pop("the first index, once", None)
    [total] = [amounts.pop(name) for name in list(amounts) if name in ("**A month**", "**A day**")]
    columns = zip(*filter(None, amounts.values()), strict=True)
    assert [sum(column) for column in columns] == pytest.approx(total, abs=0.05)
