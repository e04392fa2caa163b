"""The words' leg against its formula, written down a second time; the postings against the chunks they came from."""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sakuin.knowledge.model import EVERYTHING, KnowledgeChunk, PageChange
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.postgres_search import ChunkSearch, PostgresChunks, Question
from sakuin.language.model import IndexedWords, Slot
from sakuin.platform.supabase.client import Client, call

from tests.builders import a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.embedder import WEIGHTS, vector_of
from tests.effort import times

TERMS = ("解", "式", "公式", "^公式", "^関数", "関数")
impacts = st.dictionaries(st.sampled_from(TERMS), st.floats(0.01, 1.0), min_size=1)
ways = st.lists(st.sampled_from((*TERMS, "無い")), min_size=1, max_size=3).map(tuple)
slots = st.lists(st.builds(Slot, st.sampled_from(["word", "gram"]), ways), min_size=1, max_size=5)
ASKED = [Slot("word", ("式",)), Slot("word", ("公式",))]


def a_text(number: int, words: Mapping[str, float], *, material: str = "m") -> KnowledgeChunk:
    return a_chunk(material, f"rule-{number}", str(number), words=IndexedWords(words, frozenset()))


def ceiling(texts: Sequence[Mapping[str, float]], slot: Slot) -> float:
    """The highest score of a slot: a term that no text has does not count beside one that some have."""
    held = [term for term in slot.terms if any(term in text for text in texts)]
    return max(rarity(texts, term) for term in held or slot.terms)


def rarity(texts: Sequence[Mapping[str, float]], term: str) -> float:
    having = sum(term in text for text in texts)
    return math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))


def coverage(texts: Sequence[Mapping[str, float]], asked: Sequence[Slot]) -> np.ndarray:
    """The share that each text would get if its terms had the greatest impact."""
    return shares([dict.fromkeys(text, 1.0) for text in texts], asked)


def shares(texts: Sequence[Mapping[str, float]], asked: Sequence[Slot]) -> np.ndarray:
    """The part of the highest score of all slots that each text gets."""
    held = np.zeros(len(texts))
    for slot in asked:
        held += [max(rarity(texts, term) * text.get(term, 0) for term in slot.terms) for text in texts]
    return held / sum(ceiling(texts, slot) for slot in asked)


def test_words_and_evidence_are_what_the_formula_says(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    # The pages of a folder are compared with slots of its own.
    folders = {"": "", "a/": "a/", "ab/": "", "a/b/": "a/b/", "a/b/c/": "a/b/"}
    some_pages = st.lists(st.tuples(st.sampled_from(list(folders)), impacts), min_size=1, max_size=6)

    @given(some_pages, st.tuples(slots, slots, slots))
    @settings(max_examples=times(16), suppress_health_check=list(HealthCheck))
    def agrees(pages: list[tuple[str, dict[str, float]]], asked: tuple[list[Slot], ...]) -> None:
        knowledge.empty(sql)
        for number, (folder, words) in enumerate(pages):
            material = f"{folder}{number}"
            knowledge.apply(a_source(material, 1), [a_text(number, words, material=material)], material=material)
        own, texts = dict(zip(("", "a/", "a/b/"), asked, strict=True)), [words for _, words in pages]
        folder_slots = {folder: own[folder] for folder in ("a/", "a/b/")}
        question = Question(vector_of("問い"), own[""], knowledge.version, EVERYTHING, 50, folder_slots=folder_slots)
        by_words: dict[str, list[tuple[int, float]]] = {folder: [] for folder in own}
        found = knowledge.search.matches(question)
        assert len(found) == len(pages)
        for match in found:
            number, words = int(match.anchor.removeprefix("rule-")), match.ranked.words
            folder = folders[pages[number][0]]
            # An impact is stored in 32,767 steps.
            assert words.share == pytest.approx(shares(texts, own[folder])[number], abs=1e-4)
            assert words.covered == pytest.approx(coverage(texts, own[folder])[number])
            expected = WEIGHTS.score(match.ranked.z, words.share, words.covered)
            assert match.ranked.evidence == pytest.approx(expected)
            # The database chooses the candidates by the same sum, turbopuffer by whole frequencies.
            if match.matching_rank and knowledge.version.store == "postgres":
                by_words[folder].append((match.matching_rank, words.share))
        for ranked in by_words.values():
            assert [words for _, words in sorted(ranked)] == pytest.approx(sorted((w for _, w in ranked), reverse=True))

    agrees()


@pytest.mark.parametrize("knowledge", ["turbopuffer"], indirect=True)
def test_turbopuffer_chooses_by_the_same_sum_of_whole_frequencies(knowledge: Knowledge) -> None:
    frequencies = [4, 1, 3, 12, 2, 7]
    texts = [{"式": each / (each + 1), "解": 0.9} for each in frequencies]
    knowledge.apply(a_source("m", 1), [a_text(number, words) for number, words in enumerate(texts)])
    found = knowledge.search.matches(Question(None, ASKED[:1], knowledge.version, EVERYTHING, 50))
    ranks = {match.matching_rank: frequencies[int(match.anchor.removeprefix("rule-"))] for match in found}
    assert ranks == dict(enumerate(sorted(frequencies, reverse=True), start=1))


def postings(sql: psycopg.Connection) -> dict[tuple[str, str], int]:
    """The impact of each chunk and term in the postings."""
    assert sql.execute("select count(*) from public.posting where n = 0").fetchone() == (0,)
    rows = sql.execute(
        "select w.id, p.term, u.impact from public.posting p, unnest(p.chunks, p.impacts) u(chunk, impact) "
        "left join public.chunk_words w on w.number = u.chunk"
    ).fetchall()
    found = {(id, term): impact for id, term, impact in rows}
    assert len(found) == len(rows)
    return found


def test_pages_written_at_once_are_all_there(service: Client, knowledge: Knowledge, sql: psycopg.Connection) -> None:
    def written(number: int) -> str:
        words = IndexedWords({"式": 0.5, f"語{number % 3}": 0.5}, frozenset({("シキ", "式"), ("ゴ", "語")}))
        name = f"p{number}"
        chunk = a_chunk(name, "rule-a", "同じ", words=words)
        index = KnowledgeIndex(service)
        done = [
            index.apply(
                PageChange(name, a_source(name, version), chunks=page, fingerprint=knowledge.version.id),
                expected_generation=None,
            )
            for version, page in enumerate(([chunk], [], [chunk]), 1)
        ]
        return done[-1].outcome

    knowledge.embed([a_chunk("p0", "rule-a", "同じ")])
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(written, range(24))) == {"applied"}
    assert sum(term == "式" for _, term in postings(sql)) == 24
    # Pages that come one after the other stand in different blocks, so that their writers need not wait.
    blocks = sql.execute("select count(*) from public.posting where term = '式'").fetchone()
    assert blocks is not None
    assert blocks[0] > 20


def test_beyond_the_budget_the_rarest_slot_still_finds_all_its_chunks(service: Client, knowledge: Knowledge) -> None:
    texts = [{"式": 0.5} for _ in range(30)] + [{"式": 0.9}, {"式": 0.1, "公式": 0.1}]
    knowledge.apply(a_source("m", 1), [a_text(number, words) for number, words in enumerate(texts)])
    question = Question(None, ASKED, knowledge.version, EVERYTHING, 50)
    narrow = ChunkSearch(PostgresChunks(service, posting_budget=1), WEIGHTS)
    assert len(knowledge.search.matches(question)) == 32
    (found,) = narrow.matches(question)
    # Each candidate is scored by all slots, not only by the one that found it.
    assert (found.anchor, found.ranked.words.matched) == ("rule-31", ("公式", "式"))
    assert len(narrow.matches(replace(question, slots=ASKED[:1]))) == 32


def test_the_expected_chunk_is_judged_wherever_it_ranks_and_takes_no_one_s_place(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("m", 1), [a_text(number, {"式": 1 / (number + 1)}) for number in range(80)])
    question = Question(vector_of("rule-12"), ASKED[:1], knowledge.version, EVERYTHING, 5, expected="m#rule-79")
    *best, last = knowledge.search.matches(question)
    assert best == list(knowledge.search.matches(replace(question, expected=None)))
    assert last.anchor == "rule-79"
    assert last.nearest_rank is not None
    assert last.nearest_rank > 1
    assert last.ranked.words.share == pytest.approx(1 / 80, abs=1e-4)
    inside = replace(question, expected=best[0].id)
    assert [match.id for match in knowledge.search.matches(inside)] == [match.id for match in best]
    assert len(knowledge.search.matches(replace(question, expected="no#rule-such"))) == 5


def test_another_analyzer_costs_no_vector_and_its_vectors_are_compared(knowledge: Knowledge) -> None:
    other = replace(knowledge.version, analyzer="another analyzer")
    chunk = a_text(1, {"式": 0.5})
    first = knowledge.apply(a_source("m", 1), [chunk])
    knowledge.record(other)
    assert knowledge.index.missing_vectors(chunk.text_hashes, other) == set()
    (match,) = knowledge.search.matches(Question(vector_of("1"), (), other, EVERYTHING, 5))
    assert match.cosine is not None
    again = knowledge.index.apply(
        PageChange("m", None, chunks=[chunk], fingerprint=other.id), expected_generation=first.generation
    )
    assert again.outcome == "applied"
    assert call(knowledge.index.client, "outdated_materials", {"p_fingerprint": other.id}) == []
