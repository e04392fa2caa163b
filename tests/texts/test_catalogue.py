"""The catalogue of texts: both languages, and reasons whose code and values are read back."""

import re
import string
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.console.shell import ENTRIES
from sakuin.knowledge import reconcile
from sakuin.texts.catalogue import LANGUAGES, coded, counted, read_back, texts_in

ENGLISH = texts_in("en").sentences
CODES = sorted(code.removeprefix("said.") for code in ENGLISH if code.startswith("said."))
# Values of ours have no sentence in them.
# An error of a SQL function: its code, and its message or the pattern of `format`.
_ERROR = re.compile(r"""'(?:PT\d+|P0002|23505)',\s*(?:format\(\s*)?'((?:[^']|'')+)'""")
# The console has no form that sends these.
REST_ALONE = {
    "A hash has 64 hexadecimal digits.",
    "Send a list of tools, which may be empty.",
    "An overlap has 0 to 604,800 seconds.",
}
VALUES = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"], include_characters="-/_#"), min_size=1, max_size=12)


def names(sentence: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(sentence) if name]


def test_both_languages_have_the_same_texts_with_the_same_values() -> None:
    def values(language: str) -> Mapping[str, set[str]]:
        return {code: set(names(sentence)) for code, sentence in texts_in(language).sentences.items()}

    english, *others = LANGUAGES
    for other in others:
        assert values(other) == values(english)
    assert {entry.text for entry in ENTRIES} <= ENGLISH.keys()


@given(st.data())
def test_the_code_and_the_values_of_each_message_are_read_back(data: st.DataObject) -> None:
    code = data.draw(st.sampled_from(CODES))
    values = {name: data.draw(VALUES) for name in names(ENGLISH[f"said.{code}"])}
    assert read_back(str(coded(code, **values)) + "") == (code, values)


def test_a_reason_in_a_reason_is_translated_with_it() -> None:
    reason = coded("page.long", count=2_939_459, most=2_000_000)
    finding = coded("finding.unreadable_page", reason=reason)
    assert finding == (
        "The page cannot be indexed. Its explanations have 2,939,459 characters; the limit is 2,000,000. "
        "Split the page."
    )
    japanese = texts_in("ja").said(finding)
    # What the database has is a plain text.
    assert texts_in("ja").said(finding + "") == japanese
    assert japanese
    assert "2,939,459 文字" in japanese
    assert not set(string.ascii_letters) & set(japanese)
    assert [counted("heading", count) for count in (1, 1200)] == ["1 heading", "1,200 headings"]


@pytest.mark.parametrize("name", ["_RECHECK", "NEEDS_COMMAND", "UNDER_WAY", "FAILED"])
def test_repairs_of_the_night_are_in_the_catalogue(name: str) -> None:
    assert texts_in("ja").said(getattr(reconcile, name))


def test_a_text_of_others_stays_as_it_is_and_costs_nothing() -> None:
    began = time.perf_counter()
    for hostile in ("<script>alert(1)</script>", "It has " * 250, "line 1: " * 240, "x" * 10**6):
        assert texts_in("ja").said(hostile) is None
        assert texts_in("en").said(hostile) == hostile
    assert time.perf_counter() - began < 1


def database_errors() -> Iterator[str]:
    """Yields what SQL functions say of projects, Tables, Tools, endpoints and keys, with a value for each `%s`."""
    source = (Path(__file__).parents[2] / "supabase/schema/3_projects.sql").read_text(encoding="utf-8")
    for message in _ERROR.findall(source):
        yield message.replace("''", "'").replace("%s", "x1")


def test_each_error_of_the_database_that_the_console_shows_is_in_the_catalogue() -> None:
    messages = set(database_errors())
    assert len(messages) > 25
    assert messages > REST_ALONE
    assert [message for message in messages - REST_ALONE if texts_in("ja").said(message) is None] == []
