"""The words of a text in the index."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sakuin.language.indexing import index_words
from sakuin.language.readings import MOST_READINGS
from sakuin.language.vocabulary import vocabulary_of

BODY = "二次方程式の解は、平方完成をしなくても公式に代入すれば求められます。グラフとx軸の交点も調べます。"


def test_a_term_counts_more_in_title_and_learns_than_in_the_body() -> None:
    title = index_words(title="判別式", learns=(), body=BODY).impacts["判別"]
    learns = index_words(title="", learns=("判別式",), body=BODY).impacts["判別"]
    body = index_words(title="", learns=(), body=BODY + "判別式").impacts["判別"]
    assert 0 < body < learns == title <= 1


def test_a_term_said_again_counts_more_and_a_longer_text_makes_it_count_less() -> None:
    once = index_words(title="", learns=(), body="判別式").impacts["判別"]
    assert index_words(title="", learns=(), body="判別式と判別式").impacts["判別"] > once
    assert index_words(title="", learns=(), body="判別式" + BODY * 5).impacts["判別"] < once


def test_words_grams_formulas_and_concepts_are_terms() -> None:
    text: dict[str, Any] = {"title": "ピタゴラスの定理", "learns": (r"\sqrt{2} の計算",), "body": "a²+b²=c²"}
    found = set(index_words(**text, vocabulary=vocabulary_of("school-mathematics")).impacts)
    assert {"定理", "^タゴ", "#pythagorean-theorem", "√2", "#square-root", "a^2+b^2=c^2", "c^2"} <= found
    assert set(index_words(**text).impacts) == {term for term in found if not term.startswith("#")}


def test_a_version_of_three_numbers_has_the_term_of_its_first_two() -> None:
    def terms(text: str) -> set[str]:
        return set(index_words(title=text, learns=(), body="").impacts)

    assert terms("0.37") == {"0.37"}
    assert terms("0.37.0") == {"0.37", "0", "37"}
    # Sudachi writes 0.40 as 0.4.
    assert terms("0.40") < terms("v0.40.1")


def test_words_of_scripts_with_spaces_are_kept_as_spelled_with_their_terms() -> None:
    words = index_words(title="Newtons Gesetze", learns=(), body="Die Straße, une théorème, сила трения; F=ma; law")
    short = {"die", "une", "ma", "law"}
    assert {"newtons", "gesetze", "straße", "théorème", "сила", "трения"} | short == set(words.spelled)
    assert set(words.spelled.values()) <= words.impacts.keys()
    assert ("straße", "straße") in words.pairs


def test_the_readings_of_words_and_of_compounds_are_kept() -> None:
    readings = index_words(title="", learns=(), body=BODY).readings
    assert {
        ("ニジホウテイシキ", "二次方程式"),
        ("ヘイホウカンセイ", "平方完成"),
        ("コウシキ", "公式"),
        ("カイ", "解"),
        ("グラフ", "グラフ"),
        ("エックスジク", "x軸"),
    } <= readings
    assert all(2 <= len(reading) <= 24 for reading, _ in readings)


def test_particles_and_lone_endings_have_no_reading_worth_keeping() -> None:
    written = {written for _, written in index_words(title="", learns=(), body=BODY).readings}
    assert not written & {"の", "は", "を", "ます", "次方程式", "れ"}


def test_a_text_of_many_words_keeps_a_bounded_number_of_readings() -> None:
    body = "".join(chr(0x4E00 + number) + chr(0x5E00 + number) + "。" for number in range(3000))
    assert len(index_words(title="", learns=(), body=body).readings) <= MOST_READINGS


@given(st.text(max_size=100), st.lists(st.text(max_size=30), max_size=3), st.text(max_size=300))
def test_every_impact_is_above_zero_and_at_most_one(title: str, learns: list[str], body: str) -> None:
    words = index_words(title=title, learns=learns, body=body)
    assert all(0 < impact <= 1 for impact in words.impacts.values())
    assert words == index_words(title=title, learns=learns, body=body)
    for reading, written in words.readings:
        (reading + written).encode()
