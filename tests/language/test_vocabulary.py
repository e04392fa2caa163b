"""Vocabularies, and that of school mathematics."""

import re
from collections import Counter

import pytest
from sakuin.errors import Misconfigured
from sakuin.language.analysis import analyze, term_counts
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.vocabulary import NO_VOCABULARY, longest_mentions, parse_vocabulary, vocabulary_of
from sakuin.language.vocabulary_files import vocabulary_id

MATHEMATICS = vocabulary_of("school-mathematics")

TWINS = [
    ("cross-multiplication", "たすきがけ", "たすき掛け", "襷掛け", "タスキガケ"),
    ("quadratic-formula", "解の公式", "二次方程式の公式", "2次方程式の解の公式", "the quadratic formula"),
    ("pythagorean-theorem", "三平方の定理", "ピタゴラスの定理", "Pythagorean theorem", "Pythagoras' theorem"),
    ("discriminant", "判別式", "D=b²-4ac", "b^{2}-4ac", "discriminants"),
    ("gradient", "グラフの傾き", "変化の割合", "slope", "gradient", "rate of change"),
    ("completing-the-square", "平方完成", "完全平方", "completing the square", "complete the square"),
    ("simultaneous-equations", "連立方程式", "simultaneous equations", "system of equations"),
    ("similar-triangles", "相似な三角形", "similar triangles"),
    ("arithmetic-sequence", "等差数列", "arithmetic sequences", "arithmetic progression"),
    ("permutation", "順列", "permutations"),
    ("factoring", "因数分解", "factorisation", "factorization", "factoring"),
    ("square-root", "平方根", "√2", "ルート2", r"\sqrt{2}", "square root"),
    ("boxplot", "箱ひげ図", "box-and-whisker plot", "box plots"),
]


@pytest.mark.parametrize("spellings", TWINS, ids=lambda spellings: spellings[0])
def test_every_spelling_names_its_concept(spellings: tuple[str, ...]) -> None:
    name, *ways = spellings
    assert [way for way in ways if f"#{name}" not in term_counts(analyze(way, mathematics=True), MATHEMATICS)] == []


@pytest.mark.parametrize(
    ("english", "japanese"),
    [
        ("circumference", "円周"),
        ("diameter", "直径"),
        ("orthocenter", "垂心"),
        ("intermediate value theorem", "中間値の定理"),
        ("quotient rule", "商の微分"),
        ("half-angle formula", "半角の公式"),
        ("supplementary angle", "補角の公式"),
        ("angle of depression", "俯角"),
        ("empty set", "空集合"),
        ("universal set", "全体集合"),
        ("zero vector", "零ベクトル"),
        ("directrix", "準線"),
        ("last term", "末項"),
        ("lateral area", "側面積"),
        ("standard score", "偏差値"),
        ("pie chart", "円グラフ"),
    ],
)
def test_of_two_things_that_are_taught_together_each_has_its_own_name(english: str, japanese: str) -> None:
    (step,) = [step for step in analyze_query(english, LexiconEntries(), MATHEMATICS).steps if step.rule == "english"]
    assert step.read_as == MATHEMATICS.canonical(japanese)


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("反比例のグラフ", "#proportion"),
        ("アナログ", "#logarithm"),
        ("分解する", "#solution"),
        ("abcd", "#discriminant"),
        ("ベクトルグラフィックス", "#graph"),
        ("costume", "#cosine"),
        ("1000円", "#circle"),
    ],
)
def test_a_piece_of_another_word_names_nothing(text: str, absent: str) -> None:
    assert absent not in term_counts(analyze(text), MATHEMATICS)


def test_a_text_names_what_stands_within_a_longer_name_and_a_question_only_the_longest() -> None:
    found = MATHEMATICS.mentions(MATHEMATICS.canonical("二次方程式の解の公式"))
    assert {"quadratic-equation", "quadratic-formula"} <= {one.name for named in found for one in named.concepts}
    assert [one.name for named in longest_mentions(found) for one in named.concepts] == ["quadratic-formula"]


def test_every_concept_has_a_name_of_its_own_and_spellings_in_both_languages() -> None:
    concepts = MATHEMATICS.concepts
    assert [name for name, times in Counter(one.name for one in concepts).items() if times > 1] == []
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.name) for one in concepts)
    assert [one.name for one in concepts if not one.japanese or not one.english] == []
    assert all(len(one.term.encode()) <= 39 for one in concepts)


def test_a_spelling_stands_once_in_its_concept() -> None:
    twice = [
        (one.name, spelling)
        for one in MATHEMATICS.concepts
        for spelling, times in Counter((*one.japanese, *one.english)).items()
        if times > 1
    ]
    assert twice == []


def test_every_spelling_finds_its_own_concept() -> None:
    lost = [
        (concept.name, spelling)
        for concept in MATHEMATICS.concepts
        for spelling in (*concept.japanese, *concept.english)
        if concept.name
        not in {one.name for named in MATHEMATICS.mentions(MATHEMATICS.canonical(spelling)) for one in named.concepts}
    ]
    # A lone ideograph is found as a word, not as a concept.
    assert [spelling for _, spelling in lost if not re.fullmatch("[一-鿿]", spelling)] == []


def test_a_vocabulary_is_plain_text_that_others_can_write() -> None:
    law = parse_vocabulary(
        "law",
        """# Civil law
[concepts]
tort: 不法行為 | tort / wrongful act
lease: 賃貸借 / 賃貸借契約 | lease

[words]
claim: 請求
""",
    )
    assert [concept.name for concept in law.concepts] == ["tort", "lease"]
    assert [one.concepts[0].name for one in law.mentions("a wrongful act beside 賃貸借契約")] == [
        "lease",
        "lease",
        "tort",
    ]
    assert law.words == {"claim": ("請求",)}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tort: 不法行為", 1),
        ("[concept]", 1),
        ("[concepts]\ntort", 2),
        ("[concepts]\na: b\na: c", 3),
        ("[words]\na:", 2),
    ],
)
def test_a_vocabulary_of_another_format_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Misconfigured, match=f"law.txt, line {line}"):
        parse_vocabulary("law", text)


def test_a_deployment_names_its_vocabulary_or_has_none() -> None:
    assert vocabulary_of(vocabulary_id("school-mathematics")) == MATHEMATICS
    assert vocabulary_of(vocabulary_id("")) is NO_VOCABULARY
    with pytest.raises(Misconfigured, match=r"no vocabulary 'alchemy'\. Use school-mathematics"):
        vocabulary_id("alchemy")
