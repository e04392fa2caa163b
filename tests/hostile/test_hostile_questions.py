"""Questions that nobody asks: each is understood as something, in bounded time, or refused."""

import pytest
from sakuin.knowledge.excerpt import excerpt, matched_words
from sakuin.language.analysis import analyze, term_counts
from sakuin.language.indexing import LONGEST_BODY, index_words
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import (
    MOST_READINGS,
    MOST_WORDS,
    analyze_query,
    lexicon_lookup,
    synonyms_in,
)
from sakuin.language.questions.slots import MOST_SLOTS

from tests.hostile.growth import grows_with_its_input
from tests.hostile.pages import INPUTS

PIECES = INPUTS["questions"]


@pytest.mark.parametrize("shape", PIECES)
def test_the_words_of_a_text_take_the_time_that_its_length_takes(shape: str) -> None:
    assert grows_with_its_input(
        lambda text: term_counts(analyze(text)), lambda times: (PIECES[shape] * times)[:times], size=2500
    )


@pytest.mark.parametrize("shape", PIECES)
def test_a_question_of_10_000_characters_is_understood_by_its_first_thousand(shape: str) -> None:
    long = (PIECES[shape] * 10_000)[:10_000]
    assert lexicon_lookup(long) == lexicon_lookup(long[:1000])
    asked = lexicon_lookup(long)
    assert (len(asked.readings) <= MOST_READINGS, len(asked.words) <= MOST_WORDS) == (True, True)
    everything = LexiconEntries(
        spellings=dict.fromkeys(asked.readings, ("解",)), similar=dict.fromkeys(asked.words, ("因数分解",))
    )
    for known in (LexiconEntries(), everything):
        found = analyze_query(long, known)
        assert len(found.slots) <= 2 * MOST_SLOTS
        assert len(found.text) <= 20_000


def test_the_words_of_an_endless_explanation_are_those_of_its_beginning() -> None:
    long = "解の公式。" * (LONGEST_BODY // 5)
    assert index_words(title="", learns=(), body=long + "噴水") == index_words(title="", learns=(), body=long)


@pytest.mark.parametrize("shape", PIECES)
def test_an_excerpt_and_the_matched_words_of_any_text_are_short(shape: str) -> None:
    text = PIECES[shape] * 500
    assert len(excerpt(text, around=[PIECES[shape], "解"])) <= 102
    assert len(matched_words(text, [PIECES[shape].strip() or "x"])) <= 8


def test_a_question_that_names_every_synonym_carries_twenty() -> None:
    groups = [(f"甲{number}", f"乙{number}") for number in range(500)]
    assert len(synonyms_in(" ".join(first for first, _ in groups), groups)) <= 20
