"""One canonical form for mathematics, and readable TeX. `notation.yaml` has the form and the terms of each text."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.language import analysis, notation
from sakuin.language.analysis import AnalyzedText, term_counts
from sakuin.language.tex import plain_tex, readable_tex

from tests.snapshots import Case, cases, compare

NOTATION = Path(__file__).with_name("notation.yaml")


def canonical(text: str) -> str:
    return notation.canonical(text, mathematics=True)


def analyze(text: str) -> AnalyzedText:
    return analysis.analyze(text, mathematics=True)


@pytest.mark.parametrize("case", cases(NOTATION), ids=lambda case: case["ways"][0][:20])
def test_every_way_to_write_it_has_the_form_and_the_terms_that_it_had(case: Case) -> None:
    mathematics, ways = case.get("mathematics", True), case["ways"]
    (form,) = {notation.canonical(way, mathematics=mathematics).strip() for way in ways}
    terms = term_counts(analysis.analyze(ways[0], mathematics=mathematics))
    assert {way: term_counts(analysis.analyze(way, mathematics=mathematics)) for way in ways} == dict.fromkeys(
        ways, terms
    )
    compare(NOTATION, case, {"form": form, "terms": dict(terms)})


def test_signs_that_nobody_sees_are_left_out() -> None:
    assert canonical("a\x00b\u202ec\ud800") == "abc"


def test_morphemes_have_their_places_beside_a_formula_of_any_length() -> None:
    for formula in ("x=1", "x^2-7x+12=0", "y=a(x-p)^2+q"):
        text = f"方程式 {formula} の解と、{formula}の根。{formula}"
        (line,) = analyze(text).lines
        assert "".join(morpheme.surface for morpheme in line) == text.replace(formula, " " * len(formula))


@pytest.mark.parametrize(
    "ways",
    [("２つ", "二つ", "2つ"), ("様々", "様様"), ("たすきがけ", "たすき掛け", "襷掛け"), ("25個", "二十五個", "２５個")],
)
def test_words_and_numbers_have_one_term(ways: tuple[str, ...]) -> None:
    words = {way: [term for term in term_counts(analyze(way)) if not term.startswith("^")] for way in ways}
    assert words == dict.fromkeys(ways, words[ways[0]])


PIECES = st.sampled_from(
    [
        *("x", "²", "^", "{", "}", r"\frac", r"\sqrt", "エックス", "の", "二", "乗", "ルート", "√", "分の", "一"),
        *("(", ")", "=", "<", ">", "≦", "°", "度", "三角形", "ABC", "角", "π", "パイ", "+", "-", ",", "1", "0", "々"),
        *("ゝ", "ゞ", "ー", "ニ次", "ſ", "İ", "㎝", "%", "センチ", "1,000", "squared", "half", "theta", "プラス"),
        *("マイナス", " ", "one ", "\n"),
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=9).map("".join)))
def test_the_canonical_form_is_its_own_canonical_form(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)
    plain = notation.canonical(text)
    assert notation.canonical(plain) == plain


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join)))
def test_no_term_is_one_that_a_store_would_drop(text: str) -> None:
    for term in term_counts(analyze(text)):
        assert term.strip()
        assert len(term.encode()) <= 39
        assert "\0" not in term


def test_long_words_are_cut() -> None:
    assert all(len(term.encode()) <= 39 for term in term_counts(analyze("a" * 200 + " " + "漢" * 50 + " " + "ア" * 50)))


@pytest.mark.parametrize(
    "text",
    ["x" + " " * 50_000 + "乗", r"\sqrt" + " " * 50_000 + "!", "a" * 50_000 + "分の", "一" * 50_000 + "分の"],
    ids=["power", "root", "letters", "numbers"],
)
def test_a_long_run_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    began = time.process_time()
    canonical(text)
    assert time.process_time() - began < 2


TEX_PIECES = ["\\", *"{}$ \n.(x解", "$$", "quad", *(rf"\{name}" for name in ("quad", ",", "text", "left", "["))]


@pytest.mark.parametrize(
    ("source", "readable"),
    [
        (r"\[ x = \frac{-b \pm \sqrt{b^2-4ac}}{2a} \]", r"x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}"),
        (r"\(x = 1 \ \text{または} \quad x = 2\)", "x = 1 または x = 2"),
        (r"\left( \dfrac{a}{2} \right)^2", r"( \frac{a}{2} )^2"),
        (r"\displaystyle y\,dx \label{e}", "y dx"),
        ("1個 $5 で 2個 $9", "1個 $5 で 2個 $9"),
        ("解は $x^2$ です", "解は x^2 です"),
        (r"C:\text\label and Users\color", r"C:\text\label and Users\color"),
    ],
)
def test_tex_keeps_its_source_without_delimiters_spacing_and_fonts(source: str, readable: str) -> None:
    assert readable_tex(source) == readable


@given(st.lists(st.sampled_from(TEX_PIECES), max_size=30).map("".join) | st.text())
def test_readable_tex_stays_as_it_is_when_made_readable_again(text: str) -> None:
    once = readable_tex(text)
    assert readable_tex(once) == once


def test_a_title_shows_signs_in_place_of_simple_commands() -> None:
    assert plain_tex(r"\(0 \leq \theta \leq \frac{1}{2}\)") == "0 ≤ θ ≤ 1/2"
