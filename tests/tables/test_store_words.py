"""The words of chunks and questions as turbopuffer gets them."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from sakuin.language.analysis import analyze, term_counts
from sakuin.language.indexing import index_words
from sakuin.platform.turbopuffer.documents import words_leg
from sakuin.tables.chunking import chunks
from sakuin.tables.embed_chunks import repeated_terms

SAMPLE = Path(__file__).parents[2] / "samples" / "tables" / "学習コラム.json"


def slot(*terms: str) -> tuple[str, ...]:
    return terms


def test_a_chunk_s_terms_are_stored_as_often_as_they_stand_there() -> None:
    articles = json.loads(SAMPLE.read_text())["articles"]
    texts = [chunk.text for article in articles for chunk in chunks(article["content"])]
    assert len(texts) >= 26
    for text in texts:
        words = index_words(title="", learns=(), body=text)
        assert Counter(repeated_terms(words.impacts)) == term_counts(analyze(text))


def test_a_text_without_words_has_no_terms() -> None:
    assert repeated_terms(index_words(title="", learns=(), body="。、！").impacts) == ()
    assert repeated_terms({}) == ()


def test_single_terms_are_one_clause_and_alternatives_a_maximum() -> None:
    asked = (slot("二次"), slot("方程式"), slot("三平方", "ピタゴラス"), slot("^二次"))
    assert words_leg(asked, "") == (
        "Sum",
        [
            ("terms", "BM25", ["二次", "方程式", "^二次"]),
            ("Max", [("terms", "BM25", [term]) for term in ("三平方", "ピタゴラス")]),
        ],
    )


def test_one_clause_needs_no_sum_and_a_slot_that_stands_twice_counts_once() -> None:
    assert words_leg((slot("公式"), slot("公式")), "") == ("terms", "BM25", ["公式"])


def test_without_words_the_engine_reads_the_question_and_without_that_nothing_is_asked() -> None:
    assert words_leg((), "🐡") == ("content", "BM25", "🐡")
    assert words_leg((slot(),), " \u3000") is None


@pytest.mark.parametrize("many", [(slot(f"語{n}") for n in range(3_000)), (slot(*"甲乙丙丁") for _ in range(3_000))])
def test_a_question_of_any_length_stays_within_the_store_s_limits(many: Iterable[tuple[str, ...]]) -> None:
    asked = json.dumps(words_leg(tuple(many), ""), ensure_ascii=False)
    assert len(asked) < 4_000


def test_of_a_question_that_is_too_long_the_words_are_kept_and_the_grams_cut() -> None:
    leg = words_leg([slot("公式"), *(slot(f"^語{n}") for n in range(200))], "")
    assert leg is not None
    assert leg[2][0] == "公式"
    assert len(leg[2]) < 200
