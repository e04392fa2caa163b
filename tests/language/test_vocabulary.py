"""Vocabularies, and that of school mathematics."""

import re
from collections import Counter
from pathlib import Path

import pytest
from sakuin.errors import Misconfigured
from sakuin.language.analysis import analyze, term_counts
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.vocabulary import NO_VOCABULARY, longest_mentions, parse_vocabulary, vocabulary_of
from sakuin.language.vocabulary_files import vocabulary_id

from tests.snapshots import Case, cases, compare

MATHEMATICS = vocabulary_of("school-mathematics")

CONCEPTS = Path(__file__).with_name("concepts.yaml")


@pytest.mark.parametrize("case", cases(CONCEPTS), ids=lambda case: case["text"])
def test_a_text_names_the_concepts_that_it_named(case: Case) -> None:
    terms = term_counts(analyze(case["text"], mathematics=True), MATHEMATICS)
    compare(CONCEPTS, case, [term for term in terms if term.startswith("#")])


def test_a_text_names_what_stands_within_a_longer_name_and_a_question_only_the_longest() -> None:
    found = MATHEMATICS.mentions(MATHEMATICS.canonical("二次方程式の解の公式"))
    assert {"quadratic-equation", "quadratic-formula"} <= {one.name for named in found for one in named.concepts}
    assert [one.name for named in longest_mentions(found) for one in named.concepts] == ["quadratic-formula"]


def test_in_a_text_of_another_language_no_word_is_a_concept() -> None:
    german, english = (
        analyze_query(question, LexiconEntries(), MATHEMATICS)
        for question in ("Wie lang ist die Strecke?", "How often does a die show six?")
    )
    assert german.text == german.query
    assert [term for slot in german.slots for term in slot.terms if term.startswith("#")] == []
    assert "#dice" in [term for slot in english.slots for term in slot.terms]
    in_page = {language: MATHEMATICS.of_language(language).terms("die strecke") for language in ("de-AT", "en-GB", "")}
    assert in_page == {"de-AT": [], "en-GB": ["#dice"], "": ["#dice"]}
    assert MATHEMATICS.of_language("de").mathematics


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
