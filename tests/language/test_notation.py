"""One canonical form for mathematics, and readable TeX."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.language import analysis, notation
from sakuin.language.analysis import AnalyzedText, term_counts
from sakuin.language.tex import plain_tex, readable_tex

EQUAL = [
    ("x^2", "x²", "x^{2}", "X²", "ｘ＾２", "xの二乗", "xの2乗", "xの２乗", "エックスの二乗", "x squared", "x**2"),
    ("2^3", "2 to the power of 3", "2 to the third power", "2の3乗"),
    ("a^2+b^2=c^2", "a squared + b squared = c squared"),
    ("x^n", "xのn乗", "エックスのn乗", "x^{n}", "xⁿ", "x to the power of n"),
    ("√2", r"\sqrt{2}", r"\sqrt 2", "ルート2", "ルート２", "√(2)", "square root of 2", "るーと2"),
    ("1/2", r"\frac{1}{2}", r"\dfrac12", "½", "１／２", "二分の一", "2分の1", "にぶんのいち", "one half"),
    ("2/5", "五分の二", "5分の2", r"\frac25"),
    ("√3/2", r"\frac{\sqrt{3}}{2}", "2分の√3", "2分のルート3"),
    ("0≤x", "0 ≦ x", "0≦x", r"0 \leq x", r"0 \leqq x", "0<=x", "0 ⩽ x"),
    ("a≠b", "a ≠ b", r"a \neq b", "a != b"),
    ("45°", "45度", "４５度", r"45^\circ", r"45^{\circ}", "45 degrees"),
    ("△abc", "△ABC", "三角形ABC", "三角形 ABC", r"\triangle ABC", "triangle ABC"),
    ("∠abc", "∠ABC", "角ABC", r"\angle ABC", "angle ABC"),
    ("2π", r"2\pi", "2パイ", "２π", "2pi"),
    ("sinθ", r"\sin\theta", "sin θ", "sinシータ", "sin theta"),
    ("sin^2θ+cos^2θ=1", r"\sin^2\theta+\cos^2\theta=1", "sin²θ＋cos²θ＝1", r"\sin^{2} \theta + \cos^{2} \theta = 1"),
    ("ax^2+bx+c=0", "ax² + bx + c = 0", "$ax^{2}+bx+c=0$", r"\( ax^2+bx+c=0 \)", "aｘ²＋bx＋c＝0"),
    ("ab+xy≤3", r"ab+xy\leq 3", r"$ab+xy\leq 3$"),
    ("abc∽def", r"\(ABC\sim DEF\)", r"ABC\sim DEF"),
    ("a_n", "aₙ", "a_{n}"),
    ("a_(n+1)", "a_{n+1}"),
    ("±√k", r"\pm\sqrt{k}", "プラスマイナスルートk"),
    ("5c2", "5C2", "₅C₂", "{}_5C_2", "{}_{5}C_{2}"),
    ("5cm", "5 cm", "５㎝", "5センチ", "5センチメートル"),
    ("10%", "10％", "10パーセント", "10 percent"),
    ("1000円", "1,000円", "１，０００円"),
    ("(-b±√(b^2-4ac))/2a", r"\frac{-b \pm \sqrt{b^2-4ac}}{2a}"),
]
PROSE = [
    *("1, 2, 3", "5分の休憩", "直角三角形", "アップルパイ", "三平方の定理", "well-known", "平方根の計算", "一般項"),
    "この角は",
]


def canonical(text: str) -> str:
    return notation.canonical(text, mathematics=True)


def analyze(text: str) -> AnalyzedText:
    return analysis.analyze(text, mathematics=True)


@pytest.mark.parametrize("ways", EQUAL, ids=lambda ways: ways[0])
def test_every_way_to_write_it_is_one_form_and_gives_the_same_terms(ways: tuple[str, ...]) -> None:
    assert {way: canonical(way).strip() for way in ways} == dict.fromkeys(ways, ways[0])
    assert {way: term_counts(analyze(way)) for way in ways} == dict.fromkeys(ways, term_counts(analyze(ways[0])))


# Texts of other subjects, with their words that must be found.
OTHERS = [
    ("trade from 2010 to the UK", "2010 uk"),
    ("exports rose from 12 to the US", "12 us"),
    ("Windows 7 to the PC", "window 7 pc"),
    ("18 to the 19th century", "18 to century"),
    (r"C:\Program Files\Git\bin", "c program file git bin"),
    (r"HKEY_LOCAL_MACHINE\Software\Classes", "hkey local machine software class"),
    (r"DOMAIN\administrator", "domain administrator"),
    (r"server\max and D:\to\times", "server max and d to time"),
    ("Player 1 squared off", "player 1 squared off"),
    ("a squared circle", "a squared circle"),
    ("TCP/IP from 1990-2000", "tcp ip from 1990 2000"),
    ("id=5 and London - Paris", "id and london paris"),
    ("the U.S. and the UN", "the us and the un"),
    ("38 möglichen Gebieten", "38 möglichen gebieten"),
    ("públicos y ricos a pocos años", "público y a año"),
]


@pytest.mark.parametrize(("text", "words"), OTHERS, ids=lambda value: value[:20])
@pytest.mark.parametrize("mathematics", [True, False])
def test_texts_of_other_subjects_keep_all_their_words(text: str, words: str, *, mathematics: bool) -> None:
    assert set(words.split()) - term_counts(analysis.analyze(text, mathematics=mathematics)).keys() == set()
    assert notation.canonical(text, mathematics=mathematics) == notation.canonical(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("xの二乗", "xの二乗"),
        ("x squared", "x squared"),
        ("三角形ABCの角は45度", "三角形abcの角は45度"),
        ("one half of the market", "one half of the market"),
        ("x² + 5x + 6 = 0", "x^2+5x+6=0"),
        (r"\(\frac{1}{2}\) of $\sqrt{2}$", " 1/2  of  √2 "),
    ],
)
def test_without_mathematics_only_signs_and_tex_are_notation(text: str, form: str) -> None:
    assert notation.canonical(text) == form


@pytest.mark.parametrize("text", PROSE)
def test_prose_stays_prose(text: str) -> None:
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("x - 3 = y", "x-3=y"),
        ("5 percent - x", "5% - x"),
        ("38 +-", "38 ±"),
        ("√(あ) = 3", "√あ = 3"),
        ("x ^(°)", "x °"),
    ],
)
def test_spaces_stay_beside_a_sign_that_another_rule_leaves_without_a_formula(written: str, form: str) -> None:
    assert canonical(written) == form


def test_morphemes_have_their_places_beside_a_formula_of_any_length() -> None:
    for formula in ("x=1", "x^2-7x+12=0", "y=a(x-p)^2+q"):
        text = f"方程式 {formula} の解と、{formula}の根。{formula}"
        (line,) = analyze(text).lines
        assert "".join(morpheme.surface for morpheme in line) == text.replace(formula, " " * len(formula))


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("ﾀｽｷｶﾞｹ", "タスキガケ"),
        ("ルーーート", "ルート"),
        ("デ一タ", "データ"),
        ("みすゞ", "みすず"),
        ("こゝろ", "こころ"),
        ("ニ次方程式", "二次方程式"),
        ("ＡＢＣ", "abc"),
        ("a\x00b\u202ec\ud800", "abc"),
        ("x^2 − 4", "x^2-4"),
    ],
)
def test_width_case_long_vowels_and_unseen_signs_are_folded(written: str, form: str) -> None:
    assert canonical(written) == form


@pytest.mark.parametrize(
    "ways",
    [("２つ", "二つ", "2つ"), ("様々", "様様"), ("たすきがけ", "たすき掛け", "襷掛け"), ("25個", "二十五個", "２５個")],
)
def test_words_and_numbers_have_one_term(ways: tuple[str, ...]) -> None:
    words = {way: [term for term in term_counts(analyze(way)) if not term.startswith("^")] for way in ways}
    assert words == dict.fromkeys(ways, words[ways[0]])


def test_a_formula_is_known_whole_and_by_its_parts() -> None:
    assert {"x^2-7x+12=0", "x^2", "7x", "解く"} <= set(term_counts(analyze("x²-7x+12=0 を解く")))


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


def test_long_and_foreign_words_are_cut_and_not_lost() -> None:
    assert all(len(term.encode()) <= 39 for term in term_counts(analyze("a" * 200 + " " + "漢" * 50 + " " + "ア" * 50)))
    assert term_counts(analyze("二次方程怎么解"))
    assert {"이차", "차방", "방정"} <= set(term_counts(analyze("이차방정식의")))


@pytest.mark.parametrize(
    "text",
    ["x" + " " * 50_000 + "乗", r"\sqrt" + " " * 50_000 + "!", "a" * 50_000 + "分の", "一" * 50_000 + "分の"],
    ids=["power", "root", "letters", "numbers"],
)
def test_a_long_run_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    began = time.process_time()
    canonical(text)
    assert time.process_time() - began < 2


# ---------------------------------------------------------------- readable TeX


TEX_PIECES = [
    "\\",
    "{",
    "}",
    "$",
    "$$",
    " ",
    "\n",
    "quad",
    r"\quad",
    r"\,",
    r"\text",
    r"\left",
    ".",
    "(",
    "x",
    "解",
    r"\[",
]


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
