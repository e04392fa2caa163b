"""The analysis of a question: `questions.yaml` has all that becomes of each, `specifics.yaml` what a text lacks."""

from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.language.analysis import analyze
from sakuin.language.indexing import index_words
from sakuin.language.model import AnalyzedQuery, LexiconEntries
from sakuin.language.questions import query_analysis
from sakuin.language.questions.query_analysis import lexicon_lookup
from sakuin.language.questions.specifics import absent, lack_of, missing_from
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary, vocabulary_of

from tests.snapshots import Case, cases, compare

QUESTIONS, SPECIFICS = (Path(__file__).with_name(f"{name}.yaml") for name in ("questions", "specifics"))
NOTHING = LexiconEntries()
MATHEMATICS = vocabulary_of("school-mathematics")
# What an index knows that has every concept of school mathematics, and no word of its own.
CONCEPTS = frozenset(concept.term for concept in MATHEMATICS.concepts)


def analyze_query(
    query: str, known: LexiconEntries, vocabulary: Vocabulary = MATHEMATICS, *, without: Set[str] = frozenset()
) -> AnalyzedQuery:
    return query_analysis.analyze_query(query, known, vocabulary, without=without)


def word_terms(question: AnalyzedQuery) -> set[str]:
    return {term for slot in question.slots if slot.kind == "word" for term in slot.terms}


def lexicon_of(case: Case) -> LexiconEntries:
    """The lexicon of a case. `concepts` stands for all of the vocabulary."""
    known = case.get("known", [])
    words = frozenset([known] if isinstance(known, str) else known)
    of_words = {name: {word: tuple(forms) for word, forms in case.get(name, {}).items()} for name in LISTS}
    groups = {folder: [tuple(group) for group in groups] for folder, groups in case.get("synonyms", {}).items()}
    return LexiconEntries(**of_words, synonyms=groups, known=words | (CONCEPTS if "concepts" in words else set()))


LISTS = ("spellings", "similar")


def shown(question: AnalyzedQuery) -> dict[str, Any]:
    """What is stored of an analysis, without what is empty."""
    grams = [slot.terms for slot in question.slots if slot.kind == "gram"]
    members = {
        "text": question.text,
        "understood_as": question.understood_as,
        "steps": [[step.rule, step.found, step.read_as] for step in question.steps],
        "words": [list(slot.terms) for slot in question.slots if slot.kind == "word"],
        "grams": ["/".join(terms) for terms in grams],
        "specifics": [specific.text for specific in question.specifics],
        **{name: list(getattr(question, name)) for name in ("known", "changed", "added")},
        **{name: getattr(question, name) for name in ("wants_example", "asks_nothing")},
    }
    return {name: value for name, value in members.items() if value}


def no_texts(_terms: list[str]) -> list[str]:
    return []


@pytest.mark.parametrize("case", cases(QUESTIONS), ids=lambda case: case["query"])
def test_a_question_is_analyzed_as_it_was(case: Case) -> None:
    vocabulary = NO_VOCABULARY if case.get("vocabulary") == "none" else MATHEMATICS
    question = analyze_query(case["query"], lexicon_of(case), vocabulary, without=set(case.get("without", ())))
    compare(QUESTIONS, case, shown(question))


@pytest.mark.parametrize("case", cases(SPECIFICS), ids=lambda case: case["query"])
def test_a_text_lacks_the_numbers_codes_and_names_that_it_lacked(case: Case) -> None:
    question = analyze_query(case["query"], lexicon_of(case), NO_VOCABULARY)
    compare(SPECIFICS, case, list(missing_from(case["text"], question)))


@pytest.mark.parametrize("text", ["Version 0.29 is old.", "In 0.29.0 the option is on.", "Since v0.29.1 it is off."])
@pytest.mark.parametrize("query", ["What changed in 0.29?", "changes of v0.29"])
def test_a_short_version_is_in_the_index_with_a_longer_one(query: str, text: str) -> None:
    terms = {term for line in analyze(text).lines for morpheme in line for term in morpheme.terms}
    specifics = analyze_query(query, NOTHING).specifics
    assert absent(specifics, lambda forms: [terms.issuperset(form) for form in forms], no_texts) == ()
    assert absent(specifics, lambda forms: [False for _ in forms], no_texts) == ("0.29",)


@pytest.mark.parametrize(
    ("texts", "is_absent"),
    [(["is_flag has no value"], True), (["is_flag", "is_value=1"], False), (["isValue is set"], False), ([], False)],
)
def test_a_code_is_absent_if_no_text_has_its_parts_together(texts: list[str], is_absent: bool) -> None:
    specifics = analyze_query("How do I use is_value?", NOTHING).specifics
    nowhere = absent(specifics, lambda forms: [True for _ in forms], lambda _terms: texts)
    assert nowhere == (("is_value",) if is_absent else ())


@pytest.mark.parametrize(
    ("text", "lacking"), [("判別式が負のとき", ()), ("D<0 のとき", ()), ("二次関数の値", ("D<0",))]
)
def test_signs_that_the_vocabulary_names_may_be_written_by_their_name(text: str, lacking: tuple[str, ...]) -> None:
    question = analyze_query("D<0 の意味", LexiconEntries(known=CONCEPTS))
    assert missing_from(text, question) == lacking


@pytest.mark.parametrize(
    ("query", "text", "doubts"),
    [
        ("When was version 2.5 released?", "Version 2.4 was released in the summer.", {"number"}),
        ("When was version 2.5 released?", "Version 2.5 was released in the summer.", set()),
        ("Which key is 7 in the table?", "The table has x = 3 in its first line.", set()),
        ("Solve x = 7 by the rule", "The rule divides both sides.", set()),
        ("A car of 900 kg drives 30 m in 4 s", "Speed is length by time.", set()),
        ("What does Marseille export?", "Lyon exports silk and wine.", {"name"}),
        ("How do I set `max_size`?", "The setting min_age says how old it is.", {"code"}),
    ],
)
def test_a_doubt_is_what_the_text_lacks_unless_a_number_is_an_example(query: str, text: str, doubts: set[str]) -> None:
    question = analyze_query(query, NOTHING)
    elsewhere = lack_of(text, question, lambda forms: [True for _ in forms], no_texts)
    nowhere = lack_of(text, question, lambda forms: [False for _ in forms], no_texts)
    assert (elsewhere.doubts, elsewhere.absent) == (doubts, ())
    assert nowhere.doubts == doubts | {f"absent_{kind}" for kind in doubts}
    assert nowhere.absent == missing_from(text, question)


# Words that school mathematics has another use for, and words of other languages.
WORDS = """
friction price model mode project product law table order value refraction reaction interest causes party radio
reibung funktion gesetz ordnung wert tabelle preis straße fricción precio modelo ley tabla orden valor proyecto
"""


@pytest.mark.parametrize("word", WORDS.split())
def test_a_word_is_searched_as_typed_whether_the_index_has_it_or_not(word: str) -> None:
    term = next(iter(index_words(title=word, learns=(), body="").spelled.values()), word)
    near = {word: ("fraction", "prime", "product", "node", "lay")}
    question = analyze_query(word, LexiconEntries(similar=near, known=CONCEPTS | {word, term}))
    assert question.text == word
    assert term in word_terms(question)
    assert "typos" not in {step.rule for step in question.steps}
    assert (question.known, question.changed) == ((term,), ())
    plain = analyze_query(word, LexiconEntries(known=frozenset({word, term})), NO_VOCABULARY)
    assert word_terms(plain) == word_terms(analyze_query(word, NOTHING, NO_VOCABULARY)) == {term}
    assert term in word_terms(analyze_query(word, LexiconEntries(known=CONCEPTS)))


def test_a_correction_counts_only_if_a_result_has_its_word() -> None:
    question = analyze_query("fricton of wood", LexiconEntries(similar={"fricton": ("friction",)}), NO_VOCABULARY)
    assert question.with_results([("wood",), ("friction",)]).understood_as == "friction of wood"
    assert question.with_results([("wood",), ()]).understood_as is None


def test_the_words_of_a_question_are_looked_up_in_any_language() -> None:
    assert lexicon_lookup("Reibung and friction of law").words == {
        **{"reibung": "reibung", "friction": "friction"},
        **{"and": "", "of": "", "law": ""},
    }
    compound = lexicon_lookup("三角州", MATHEMATICS)
    assert "サンカクシュウ" in compound.readings
    assert compound.words.items() >= {"三角": "", "州": ""}.items()


@pytest.mark.parametrize("query", ["x squared to the UK", "Who leads the WHO?", "what is a u.s. tax", "二乗の和"])
def test_every_typed_word_that_the_index_has_is_searched(query: str) -> None:
    known = frozenset(lexicon_lookup(query, MATHEMATICS).words)
    question = analyze_query(query, LexiconEntries(known=known))
    assert set(question.known) >= {term for term in lexicon_lookup(query).words if len(term) == 2} & {"uk", "us", "is"}
    assert question.changed == ()


def test_a_word_that_is_not_searched_is_one_that_was_changed() -> None:
    words = [f"word{one}{other}" for one in "abcdefghij" for other in "abcdefghij"]
    question = analyze_query(" ".join(words), LexiconEntries(known=frozenset(words)), NO_VOCABULARY)
    assert question.changed == tuple(words[96:])


@pytest.mark.parametrize(
    ("query", "title", "body", "known"),
    [
        ("三平方の定理", "ピタゴラスの定理", "直角をはさむ二辺", NOTHING),
        ("ぴよぴよ図", "速さの早見表", "", LexiconEntries(synonyms={"": [("ぴよぴよ図", "速さの早見表")]})),
    ],
)
def test_a_synonym_finds_a_page_that_has_its_twin_alone(
    query: str, title: str, body: str, known: LexiconEntries
) -> None:
    page = index_words(title=title, learns=(), body=body, vocabulary=MATHEMATICS)
    slots = [slot for slot in analyze_query(query, known).slots if slot.kind == "word"]
    assert all(any(term in page.impacts for term in slot.terms) for slot in slots)


@pytest.mark.parametrize(
    "text", ["一元二次方程怎么解", "勾股定理的证明", "이차방정식의 근의 공식", "théorème de Pythagore", "Что"]
)
def test_a_text_of_another_language_is_found_by_itself(text: str) -> None:
    assert word_terms(analyze_query(text, NOTHING)) & index_words(title=text, learns=(), body="").impacts.keys()


@pytest.mark.parametrize("nothing", ["", " ", "？？？", "\0\ud800\u202e", "!?", "。、", "※→"])
def test_a_question_of_no_words_has_no_slots(nothing: str) -> None:
    assert analyze_query(nothing, NOTHING).slots == ()
    assert lexicon_lookup(nothing).readings == frozenset()
    assert analyze_query(f"どうすればいいですか{nothing}", NOTHING).slots != ()


@given(st.text(max_size=80), st.text(alphabet="のかいこうしきってにじ二次方程式x^2=√ab ?", max_size=40))
def test_any_question_is_understood_in_one_way_without_what_stores_refuse(noise: str, mathematics: str) -> None:
    query = mathematics + noise
    known = LexiconEntries(spellings=dict.fromkeys(lexicon_lookup(query).readings, ("解",)))
    question = analyze_query(query, known)
    assert question == analyze_query(query, known)
    question.text.encode()
    assert "\0" not in question.text
    for slot in question.slots:
        assert slot.terms
        for term in slot.terms:
            assert term.strip()
            assert len(term.encode()) <= 39
