"""The scenarios of the specification, on sample pages, with the real model and the real database."""

import json
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest
from sakuin.adapters.supabase_index import SupabaseIndex
from sakuin.adapters.supabase_lexicon import SupabaseLexicon
from sakuin.adapters.supabase_search import SupabaseSearch
from sakuin.domain.learns import names_action
from sakuin.domain.recipe import ANALYZER, RECIPE, EmbeddingModel, Fingerprint
from sakuin.domain.similarity import calibration_of
from sakuin.entrypoints.material_messages import bucket_event
from sakuin.ports.embedding import Vector
from sakuin.services.apply_page import ApplyPage
from sakuin.services.follow_bucket import BucketEvents
from sakuin.services.learns_sources import LearnsSources
from sakuin.services.search_knowledge import SearchKnowledge
from sakuin_local.embeddings.model import NAME, Model, Text
from supabase import Client

from tests.doubles.bucket import MemoryBucket
from tests.doubles.queue import MemoryQueue
from tests.emptied import emptied

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PAGE = "junior/二次方程式の解き方_教材"
FINGERPRINT = Fingerprint(EmbeddingModel(NAME, 1536, "query: ", "passage: "), RECIPE, ANALYZER)


class E5:
    """An `Embedder` on the model of the local stack; zeros at the end keep every cosine."""

    def __init__(self) -> None:
        self._model = Model()

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        parts = self._model.embed([Text(is_query=False, text=text) for text in texts])
        return [_padded(vector.tolist()) for part in parts for vector in part.result()]

    def query(self, text: str) -> Vector:
        (part,) = self._model.embed([Text(is_query=True, text=text)])
        return _padded(part.result()[0].tolist())


def _padded(vector: list[float]) -> Vector:
    return vector + [0.0] * (1536 - len(vector))


@pytest.fixture(scope="module")
def search(service: Client, sql: psycopg.Connection) -> SearchKnowledge:
    """Two sample pages in the index, through the events of their upload."""
    emptied(sql)
    bucket, index, embedder = MemoryBucket(), SupabaseIndex(service), E5()
    apply_page = ApplyPage(bucket, index, embedder, LearnsSources(bucket, index, None, ""), FINGERPRINT, 10**7)
    events = BucketEvents(bucket, index, MemoryQueue(), apply_page, "")
    for name in ("learns.yml", f"{PAGE}.html", "junior/三平方の定理の使い方_教材.html"):
        bucket.write(name, (SAMPLES / name).read_bytes())
    for body in bucket.take_messages():
        event = bucket_event(json.loads(body))
        assert event is not None
        events.process(event)
    index, lexicon = SupabaseSearch(service, calibration_of(NAME)), SupabaseLexicon(service)
    return SearchKnowledge(index, lexicon, embedder, FINGERPRINT, "/school_asset")


@pytest.mark.scenario("knowledge-index/a-similar-concept-is-found")
def test_who_wants_to_solve_by_formula_finds_the_quadratic_formula(search: SearchKnowledge) -> None:
    best = search("二次方程式を公式で解きたい").results[0]
    assert best.id == f"{PAGE}#rule-quadratic-formula"
    assert best.similarity > 0.8


@pytest.mark.scenario("knowledge-index/spelling-variants-are-found")
def test_who_writes_it_in_kana_finds_the_concept_in_kanji(search: SearchKnowledge) -> None:
    assert f"{PAGE}#method-tasukigake" in [hit.id for hit in search("たすきがけ").results]


@pytest.mark.scenario("knowledge-index/several-results-are-ranked")
def test_the_best_five_come_by_falling_similarity(search: SearchKnowledge) -> None:
    similarities = [hit.similarity for hit in search("平方完成のやり方").results]
    assert len(similarities) == 5
    assert similarities == sorted(similarities, reverse=True)


@pytest.mark.scenario("knowledge-index/learns-are-action-oriented")
def test_what_is_learnt_is_three_to_five_actions(search: SearchKnowledge) -> None:
    hits = search("二次方程式", top_k=50).results
    assert len(hits) > 20
    assert all(3 <= len(hit.learns) <= 5 for hit in hits)
    assert [item for hit in hits for item in hit.learns if not names_action(item)] == []


@pytest.mark.parametrize("query", ["明日の天気", "カレーライスの作り方", "flight to London"])
def test_a_question_off_the_topic_looks_like_no_hit(search: SearchKnowledge, query: str) -> None:
    assert search(query).no_good_match


def test_the_link_of_the_best_result_leads_to_an_element_of_its_page(search: SearchKnowledge) -> None:
    path, _, anchor = search("解の公式").results[0].url.partition("#")
    html = (SAMPLES / path.removeprefix("/school_asset/")).read_text(encoding="utf-8")
    assert f'id="{anchor}"' in html
