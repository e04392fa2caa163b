"""`docs/reference/hostile-input.md` says the numbers that the code has."""

from pathlib import Path

import pytest
from sakuin import arguments
from sakuin.knowledge import names
from sakuin.knowledge.learns import authored as learns_file
from sakuin.knowledge.reading import page_reader, parsing
from sakuin.language import indexing
from sakuin.tables import document as table_document
from sakuin.tables import scan as table_walk

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "hostile-input.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "of"),
    [
        (parsing.MOST_ELEMENTS, "elements"),
        (page_reader.MOST_CHARACTERS, "characters in its explanations"),
        (page_reader.LONGEST_LABEL, "characters"),
        (page_reader.MOST_PREREQUISITES, "prerequisites"),
        (names.LONGEST_ANCHOR, "characters"),
        (indexing.LONGEST_BODY, "characters"),
        (learns_file.LONGEST_ITEM, "characters"),
        (learns_file.MOST_ITEMS, "items of one anchor"),
        (learns_file.LONGEST_NAME, "characters"),
        (table_document.MAX_DEPTH, "levels"),
        (table_document.MOST_OPERATIONS, "operations"),
        (table_walk.LONGEST_POINTER, "characters"),
        (arguments.MAX_QUERY, "characters"),
    ],
)
def test_a_limit_is_told_as_it_is(number: int, of: str) -> None:
    assert f"{number:,} {of}" in PAGE
