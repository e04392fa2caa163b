"""What `ChunkSearch` promises."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from sakuin.errors import Conflict
from sakuin.knowledge.model import EVERYTHING, Filters, FilterValues, KnowledgeChunk, ListedMaterial, Match, PageChange
from sakuin.knowledge.postgres_search import DEPTH, Question
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.platform.embedding import EmbeddingModel
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.ranking import unrelated

from tests.builders import LEARNS, a_chunk, a_source, text_of
from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.embedder import DIMENSIONS, WEIGHTS, vector_of

OTHER = PageIndexVersion(EmbeddingModel("another", 1536), TEXT_TEMPLATE, ANALYZER)
SUBJECTS = ("解の公式", "たすき掛け", "平方完成", "三平方の定理", "等差数列", "確率の和", "接線の傾き", "相似な図形")


def store(
    knowledge: Knowledge, chunks: Sequence[KnowledgeChunk], *, fingerprint: PageIndexVersion | None = None
) -> None:
    """Puts chunks in, each material as one page."""
    for material in dict.fromkeys(chunk.material for chunk in chunks):
        page = [chunk for chunk in chunks if chunk.material == material]
        knowledge.apply(a_source(material, 1), page, material=material, fingerprint=fingerprint)


def ask(
    knowledge: Knowledge,
    query: str,
    *,
    limit: int = 5,
    filters: Filters = EVERYTHING,
    by_meaning: bool = True,
    by_words: bool = True,
) -> Sequence[Match]:
    vector = vector_of(query) if by_meaning else None
    slots = analyze_query(query, knowledge.lexicon.look_up(query, lexicon_lookup(query))).slots if by_words else ()
    return knowledge.search.matches(Question(vector, slots, knowledge.version, filters, limit))


def a_library(count: int) -> list[KnowledgeChunk]:
    """`count` rules and examples over a few subjects; every fiftieth is of the rare category."""
    return [
        a_chunk(
            f"page-{number // 25}",
            f"{'ex' if number % 3 == 2 else 'rule'}-{number}",
            f"{SUBJECTS[number % len(SUBJECTS)]}を使う問題{number}の説明。",
            title=f"{SUBJECTS[number % len(SUBJECTS)]} {number}",
            category="珍しい" if number % 50 == 7 else "代数",
            level="高校" if number % 2 else "中学",
            position=number % 25,
        )
        for number in range(count)
    ]


def test_there_are_exactly_as_many_results_as_asked_for_or_as_there_are(knowledge: Knowledge) -> None:
    store(knowledge, a_library(30))
    for limit in (1, 5, 50):
        assert len(ask(knowledge, "平方完成", limit=limit)) == min(limit, 30)
        only = Filters(material="page-1")
        assert len(ask(knowledge, "平方完成", limit=limit, filters=only)) == min(limit, 5)
    # Any query is only text.
    for query in ("' or 1=1 --", '{"a": [1]}', "%_\\", "(a,b)", "~", "🙂", "a" * 1000):
        assert len(ask(knowledge, query)) == 5, query


def test_filters_never_starve_the_result_with_or_without_the_graph(
    knowledge: Knowledge, sql: psycopg.Connection
) -> None:
    # A graph index looks at its nearest few first: those of a rare category may not be among them.
    store(knowledge, a_library(300))
    rare = ask(knowledge, "たすき掛け", limit=50, filters=Filters(category="珍しい"))
    assert len(rare) == 6
    assert len(ask(knowledge, "たすき掛け", limit=3, filters=Filters(category="珍しい", type="rule"))) == 3
    rules = ask(knowledge, "接線の傾き", limit=50, filters=Filters(type="rule", level="高校"))
    assert len(rules) == 50
    assert {match.type for match in rules} == {"rule"}
    assert ask(knowledge, "たすき掛け", filters=Filters(category="無い")) == []
    assert ask(knowledge, "たすき掛け", filters=Filters(folder="page-1")) == []

    vector = str(list(vector_of("たすき掛け")))
    for category, scans in ((None, 1), ("珍しい", 0)):
        with sql.transaction():
            # Those of the transaction before may still be counted.
            scanned = "select pg_stat_get_xact_numscans('public.knowledge_vector_embedding'::regclass) - %s"
            ((before,),) = sql.execute(scanned, (0,)).fetchall()
            asked = "select public.search_candidates(%s, '[]', %s, 100, 0, 10000, p_category => %s)"
            sql.execute(asked, (vector, knowledge.version.space, category))
            assert sql.execute(scanned, (before,)).fetchone() == (scans,), category


@pytest.mark.scenario("knowledge-index/several-results-are-ranked")
def test_results_come_by_falling_similarity_between_0_and_1_the_same_way_each_time(knowledge: Knowledge) -> None:
    store(knowledge, a_library(60))
    first = ask(knowledge, "三平方の定理", limit=50)
    similarities = [match.ranked.similarity for match in first]
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= similarity <= 1 for similarity in similarities)
    assert "三平方の定理" in first[0].title
    assert ask(knowledge, "三平方の定理", limit=50) == first
    assert ask(knowledge, "三平方の定理", limit=7) == first[:7]


def test_a_chunk_is_found_once_by_its_nearest_passage(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    passages = {"whole": "複素数平面", "whole/1": "行列の固有値", "whole/2": "微分と積分"}
    long = a_chunk("long", "rule-a", "長い文", text_hashes=tuple(passages))
    store(knowledge, a_library(30))
    knowledge.index.store_vectors({name: vector_of(text) for name, text in passages.items()}, knowledge.version)
    change = PageChange("long", a_source("long", 1), [long], knowledge.version.id)
    assert knowledge.index.apply(change).outcome == "applied"
    for text in passages.values():
        found = [match.id for match in ask(knowledge, text, limit=50, by_words=False)]
        assert (found[0], found.count("long#rule-a")) == ("long#rule-a", 1), text
    (match,) = ask(knowledge, "微分と積分", filters=Filters(material="long"), by_words=False)
    assert match.cosine == pytest.approx(1.0, abs=1e-3)
    assert match.ranked.inner > 1
    (match,) = ask(knowledge, "複素数平面", filters=Filters(material="long"), by_words=False)
    assert match.ranked.inner == pytest.approx(0.0, abs=1e-6)
    # With the second passage gone, its vector waits to be deleted, and nothing finds it.
    shorter = replace(long, text_hashes=("whole", "whole/2"))
    change = PageChange("long", a_source("long", 2), [shorter], knowledge.version.id)
    assert knowledge.index.apply(change).outcome == "applied"
    (match,) = ask(knowledge, "行列の固有値", filters=Filters(material="long"), by_words=False)
    assert match.cosine == pytest.approx(0.0, abs=0.1)
    unused = sql.execute("select text_hash from unused_vector where starts_with(text_hash, 'whole')").fetchall()
    assert unused == [("whole/1",)]


def test_the_graph_gives_each_chunk_once_whatever_passages_are_near(knowledge: Knowledge) -> None:
    chunks = [a_chunk("m", f"rule-{n}", "文", text_hashes=(f"{n}", f"{n}/1", f"{n}/2")) for n in range(120)]
    vectors = {name: vector_of(f"解の公式 {name}") for chunk in chunks for name in chunk.text_hashes}
    store(knowledge, a_library(1))
    knowledge.index.store_vectors(vectors, knowledge.version)
    assert knowledge.index.apply(PageChange("m", a_source("m", 1), chunks, knowledge.version.id)).outcome == "applied"
    found = ask(knowledge, "解の公式", limit=200, by_words=False)
    assert len({match.id for match in found}) == len(found) > 66
    assert sorted(match.nearest_rank or 0 for match in found) == list(range(1, len(found) + 1))


def test_a_page_without_the_vector_of_one_passage_is_not_applied(knowledge: Knowledge) -> None:
    store(knowledge, a_library(1))
    long = a_chunk("long", "rule-a", "長い文", text_hashes=("whole", "whole/1"))
    knowledge.index.store_vectors({"whole": vector_of("長い文")}, knowledge.version)
    with pytest.raises(Conflict):
        knowledge.index.apply(PageChange("long", a_source("long", 1), [long], knowledge.version.id))
    assert knowledge.records.indexed_materials(["long"]) == {}


def test_ties_stand_by_id(knowledge: Knowledge) -> None:
    twins = [a_chunk("m", f"rule-{name}", "同じ文", title="同じ名") for name in ("c", "a", "d", "b")]
    store(knowledge, twins)
    assert [match.anchor for match in ask(knowledge, "同じ名")] == ["rule-a", "rule-b", "rule-c", "rule-d"]


def stored(vector: Sequence[float]) -> NDArray[np.float64]:
    """The vector as Postgres has it, with half precision, and as long as its own cosine takes it for: 1."""
    half = np.array(vector, dtype=np.float16).astype(np.float64)
    return half / np.linalg.norm(half)


def share_of_grams(knowledge: Knowledge, query: str, chunks: Sequence[KnowledgeChunk]) -> float:
    """The share of the question's character grams that some text has."""
    slots = analyze_query(query, knowledge.lexicon.look_up(query, lexicon_lookup(query))).slots
    indexed = {term for chunk in chunks for term in chunk.words.impacts}
    of_slots = [any(term in indexed for term in slot.terms) for slot in slots if slot.kind == "gram"]
    return sum(of_slots) / len(of_slots) if of_slots else 1.0


def test_the_meaning_is_what_the_formula_says(knowledge: Knowledge) -> None:
    library = a_library(60)
    store(knowledge, library)
    texts = np.array([stored(vector_of(text_of(chunk.title, chunk.content))) for chunk in library])
    questions = ("たすきがけ", "三平方の定理で斜辺を求める", "明日の天気", "等差数列 20", "quadratic formula")
    ways: tuple[dict[str, bool], ...] = ({}, {"by_meaning": False}, {"by_words": False})
    for question, asked in itertools.product(questions, ways):
        cosines = texts @ stored(vector_of(question))
        expected = {chunk.id: cosine for chunk, cosine in zip(library, cosines, strict=True)}
        by_words = asked.get("by_words", True)
        share = share_of_grams(knowledge, question, library) if by_words else 1.0
        others = unrelated([float(cosine) for cosine in cosines], WEIGHTS, known_share=share)
        found = ask(knowledge, question, limit=50, **asked)
        for match in found:
            if asked.get("by_meaning", True):
                # A vector travels with seven digits.
                assert match.cosine == pytest.approx(expected[match.id], abs=1e-5), question
                assert match.ranked.z == pytest.approx(others.deviations(expected[match.id]), abs=1e-3)
            else:
                assert (match.cosine, match.ranked.z) == (None, 0)
            penalty = WEIGHTS.example if match.type == "example" else 0
            if not by_words:
                assert match.ranked.evidence == pytest.approx(WEIGHTS.meaning * match.ranked.z + penalty)


def a_page_in(language: str, count: int) -> list[KnowledgeChunk]:
    """A page of `count` explanations; `in_language` says their vectors."""
    return [
        a_chunk(language, f"rule-{number}", position=number, text_hashes=(f"{language} {number}",), language=language)
        for number in range(count)
    ]


def in_language(axis: int, subject: int) -> list[float]:
    """The vector of a text: what all have in common counts twice as much as its language, and as its subject."""
    about = np.random.default_rng(subject).normal(size=30)
    vector = np.zeros(DIMENSIONS)
    vector[[2, axis]] = 2, 1
    vector[10:40] = about / np.linalg.norm(about)
    return [float(each) for each in vector / np.linalg.norm(vector)]


def store_two_languages(knowledge: Knowledge, many: int) -> Question:
    """Japanese and English texts on different subjects; returns a Japanese question that English text 7 answers."""
    japanese, english = pages = a_page_in("ja", many), a_page_in("en-GB", 40)
    vectors = {chunk.text_hashes[0]: in_language(0, subject) for subject, chunk in enumerate(japanese)}
    vectors |= {chunk.text_hashes[0]: in_language(1, many + subject) for subject, chunk in enumerate(english)}
    knowledge.embed([])
    knowledge.index.store_vectors(vectors, knowledge.version)
    for page in pages:
        material = page[0].material
        change = PageChange(material, a_source(material, 1), page, knowledge.version.id)
        assert knowledge.index.apply(change).outcome == "applied"
    return Question(in_language(0, many + 7), (), knowledge.version, EVERYTHING, 10)


def test_a_text_is_compared_with_unrelated_texts_of_its_own_language(knowledge: Knowledge) -> None:
    question = store_two_languages(knowledge, 60)
    found = knowledge.search.matches(question)
    assert found[0].id == "en-GB#rule-7"
    assert found[0].cosine is not None
    assert found[1].cosine is not None
    assert found[0].cosine < found[1].cosine


@pytest.mark.parametrize("knowledge", ["postgres"], indirect=True)
def test_each_language_has_its_nearest_texts_among_the_candidates(knowledge: Knowledge) -> None:
    question = store_two_languages(knowledge, 3 * DEPTH)
    assert knowledge.search.matches(question)[0].id == "en-GB#rule-7"


def test_all_of_the_few_chunks_that_pass_a_filter_are_compared_by_words(knowledge: Knowledge) -> None:
    library = a_library(200)
    store(knowledge, library)
    for filters in (Filters(category="珍しい"), Filters(material="page-3", level="高校"), Filters(level="高校")):
        passing = [
            chunk.id
            for chunk in library
            if filters.category in (None, chunk.category)
            and filters.level in (None, chunk.level)
            and filters.material in (None, chunk.material)
        ]
        found = ask(knowledge, "問題の説明", filters=filters, limit=200)
        by_words = {match.id: match.matching_rank for match in found if match.matching_rank}
        assert sorted(by_words.values()) == list(range(1, min(DEPTH, len(passing)) + 1))
        assert by_words.keys() <= set(passing)


def test_names_of_one_language_change_nothing(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    answers = []
    for names in ((None,), ("ja",), ("ja", "ja-JP", "JA"), ("ja", None)):
        knowledge.empty(sql)
        store(knowledge, [replace(chunk, language=names[at % len(names)]) for at, chunk in enumerate(a_library(60))])
        answers.append([(match.id, match.ranked) for match in ask(knowledge, "たすき掛けの公式", limit=50)])
    assert all(each == answers[0] for each in answers)


def test_a_concept_rises_with_the_example_that_was_asked_for(knowledge: Knowledge) -> None:
    concept = a_chunk("m", "rule-f", "根号を含む式。", title="公式")
    example = a_chunk("m", "ex-1", "噴水の高さを求める", title="噴水の高さ", illustrates=("rule-f",), position=1)
    others = [a_chunk("n", f"rule-{number}", f"高さ{number}", title=f"山の高さ{number}") for number in range(9)]
    store(knowledge, [concept, example, *others])
    found = ask(knowledge, "噴水の高さ", limit=3)
    assert [match.anchor for match in found[:2]] == ["rule-f", "ex-1"]
    assert found[1].ranked.evidence > found[2].ranked.evidence
    # It comes along although the words miss it.
    by_words = ask(knowledge, "噴水の高さ", limit=2, by_meaning=False)
    assert [match.anchor for match in by_words] == ["rule-f", "ex-1"]


def test_an_example_that_was_asked_for_in_words_has_no_penalty(knowledge: Knowledge) -> None:
    store(knowledge, [a_chunk("m", "ex-1", "噴水の高さ"), *(a_chunk("n", f"rule-{n}", f"話{n}") for n in range(9))])
    question = Question(vector_of("噴水の高さ"), (), knowledge.version, EVERYTHING, 1)
    (plain,), (wanted,) = (knowledge.search.matches(replace(question, wants_example=asked)) for asked in (False, True))
    assert wanted.anchor == plain.anchor == "ex-1"
    assert wanted.ranked.evidence == pytest.approx(plain.ranked.evidence - WEIGHTS.example)


def test_vectors_of_another_fingerprint_are_never_compared(knowledge: Knowledge) -> None:
    store(knowledge, [a_chunk("old", "rule-a", "たすき掛け", title="たすき掛け")], fingerprint=OTHER)
    knowledge.activate(knowledge.version)
    store(knowledge, [a_chunk("new", "rule-a", "ほかの話")])
    by_vector = ask(knowledge, "たすき掛け", by_words=False)
    assert [match.material for match in by_vector] == ["new"]
    # Its words still count while it waits to be built again. In turbopuffer a row needs a vector.
    of_words = {"old"} if knowledge.version.store == "postgres" else set()
    assert {match.material for match in ask(knowledge, "たすき掛け")} == {"new"} | of_words


@pytest.mark.scenario("knowledge-index/spelling-variants-are-found")
def test_another_spelling_finds_the_concept(knowledge: Knowledge) -> None:
    store(knowledge, [a_chunk("m", "method-tasukigake", "二つの因数に分ける。", title="たすき掛け")])
    store(knowledge, [a_chunk("f", "rule-f", "係数を代入する。", title="解の公式")])
    store(knowledge, [a_chunk("n", f"rule-{number}", f"ほかの話{number}") for number in range(20)])
    for query in ("たすきがけ", "タスキガケ", "襷掛け"):
        best = ask(knowledge, query, by_meaning=False)[0]
        assert best.anchor == "method-tasukigake", query
        assert best.ranked.evidence > best.ranked.needed, query
    # A reading in kana finds kanji.
    assert ask(knowledge, "かいのこうしき", by_meaning=False)[0].title == "解の公式"


@pytest.mark.scenario("knowledge-index/a-chunk-has-every-field")
def test_a_chunk_comes_back_with_every_field(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    given = a_chunk(
        "junior/二次方程式の解き方_教材",
        "rule-quadratic-formula",
        "係数を公式に代入する。\n\\(x = \\frac{-b}{2a}\\)",
        title="解の公式",
        category="代数",
        level="中学",
        prerequisites=("平方根", "因数分解"),
        position=3,
    )
    store(knowledge, [given])
    found = knowledge.chunk(given.id)
    assert found.id == "junior/二次方程式の解き方_教材#rule-quadratic-formula"
    assert (found.material, found.anchor, found.title) == (given.material, given.anchor, "解の公式")
    assert (found.content, found.content_hash) == (given.content, given.content_hash)
    assert (found.learns, found.type) == (LEARNS.items, "rule")
    assert (found.category, found.level, found.prerequisites) == ("代数", "中学", ("平方根", "因数分解"))
    assert (found.position, found.generation) == (3, 1)
    assert sql.execute("select extensions.vector_dims(embedding) from public.knowledge_vector").fetchall() == [(1536,)]


def test_an_unknown_id_has_no_chunk(knowledge: Knowledge) -> None:
    assert knowledge.read.chunks(["m#rule-unknown", "a&b=c#d"]) == [None, None]


def a_page_of(material: str, *anchors: str) -> list[KnowledgeChunk]:
    return [a_chunk(material, anchor, "一", position=place) for place, anchor in enumerate(anchors)]


def test_concepts_come_in_the_order_of_the_pages(knowledge: Knowledge) -> None:
    store(knowledge, [chunk for material in "ba" for chunk in a_page_of(material, "tip-b", "rule-a", "ex-c")])
    list_all = knowledge.read.concepts
    first, has_more = list_all(EVERYTHING, after=None, limit=4)
    second, has_still_more = list_all(EVERYTHING, after=("b", 0), limit=4)
    assert [item.id for item in first] == ["a#tip-b", "a#rule-a", "a#ex-c", "b#tip-b"]
    assert [item.id for item in second] == ["b#rule-a", "b#ex-c"]
    assert (has_more, has_still_more) == (True, False)
    assert [item.anchor for item in list_all(Filters(type="rule"), after=None, limit=9)[0]] == ["rule-a", "rule-a"]
    assert not list_all(Filters(material="b"), after=None, limit=3)[1]


def test_materials_come_by_name_and_without_those_that_explain_nothing(knowledge: Knowledge) -> None:
    pages = {"c": ("代数", None), "a": (None, "高校"), "b": ("代数", "中学")}
    for material, (category, level) in pages.items():
        store(
            knowledge, [a_chunk(material, "rule-a", "一", category=category, level=level, page_title=f"題{material}")]
        )
    knowledge.delete(a_source("c", 2), material="c")
    first, has_more = knowledge.read.materials(Filters(), None, limit=1)
    rest, has_still_more = knowledge.read.materials(Filters(), "a")
    assert [*first, *rest] == [ListedMaterial("a", "題a", None, "高校"), ListedMaterial("b", "題b", "代数", "中学")]
    assert (has_more, has_still_more) == (True, False)
    values = knowledge.read.filter_values(like="x/b")
    assert values == FilterValues(("rule",), ("代数",), ("中学", "高校"), (), ("b", "a"))
