"""The catalogue of texts: both languages, and reasons, which are stored as their code and values."""

import json
import re
import string
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from sakuin.console.shell import ENTRIES
from sakuin.errors import NotFound
from sakuin.texts.catalogue import LANGUAGES, code_of, coded, counted, restored, stored, texts_in

ENGLISH = texts_in("en").sentences
CODES = sorted(code.removeprefix("said.") for code in ENGLISH if code.startswith("said."))
# A code in SQL: of an error that `require` raises, or of a reason.
_SQL_CODE = re.compile(r"""(?:'(?:PT\d+|P0002|23505)',\s*|'code', )'([a-z_.]+)'(?! \|\|)""")
VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


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
def test_a_reason_is_the_same_after_it_was_stored(data: st.DataObject) -> None:
    code = data.draw(st.sampled_from(CODES))
    values = {name: data.draw(VALUES) for name in names(ENGLISH[f"said.{code}"])}
    reason = coded("work.continues", reason=coded(code, **values), vendor="openai")
    again = restored(json.loads(json.dumps(stored(reason))))
    assert (again, again.code) == (reason.replace("\0", "\\u0000"), "work.continues")
    assert texts_in("ja").said(again)


def test_a_reason_in_a_reason_is_translated_with_it() -> None:
    reason = coded("page.long", count=2_939_459, most=2_000_000)
    finding = coded("finding.unreadable_page", reason=reason)
    assert finding == (
        "The page cannot be indexed. Its explanations have 2,939,459 characters; the limit is 2,000,000. "
        "Split the page."
    )
    japanese = texts_in("ja").said(restored(stored(finding)))
    assert japanese
    assert "2,939,459 文字" in japanese
    assert not set(string.ascii_letters) & set(japanese)
    assert [counted("heading", count) for count in (1, 1200)] == ["1 heading", "1,200 headings"]


def test_a_text_without_a_code_stays_as_it_is() -> None:
    for text in ("<script>alert(1)</script>", "It has a \0 and a \ud800", ""):
        again = restored(stored(text))
        assert (again.code, texts_in("ja").said(again), texts_in("ja").said(text)) == ("other", None, None)
        assert texts_in("en").said(again) == text.replace("\0", "\\u0000").replace("\ud800", "\\ud800")
    assert stored(None) is restored(None) is None


def test_the_reason_of_another_version_is_shown_by_its_code() -> None:
    assert restored({"code": "page.of_tomorrow", "values": {}}) == "page.of_tomorrow"
    assert restored({"code": "page.empty", "values": 1, "more": 2}) == {"code": "page.empty", "values": 1, "more": 2}


def test_the_message_of_an_error_keeps_its_code() -> None:
    assert code_of(str(NotFound(coded("record.no_table", id="t")))) == "record.no_table"
    assert code_of(str(NotFound("no table"))) is None


def test_each_code_in_sql_is_in_the_catalogue() -> None:
    schema = Path(__file__).parents[2] / "supabase/schema"
    codes = {code for file in schema.glob("*.sql") for code in _SQL_CODE.findall(file.read_text(encoding="utf-8"))}
    assert len(codes) > 30
    assert codes <= set(CODES)
