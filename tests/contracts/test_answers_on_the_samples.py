"""The scenarios of the specification, on sample pages, with the real model and the real database."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import openai
import psycopg
import pytest
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.index_page import IndexPage
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.learns.writer import names_action
from sakuin.knowledge.messages import read_event
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon
from sakuin.knowledge.search import SearchKnowledge
from sakuin.platform.embedding import EmbeddingModel, Vector
from sakuin.retrieval.calibration import calibration_of
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin_local.embeddings.model import NAME
from supabase import Client

from tests.convergence.delivery import silent
from tests.doubles.bucket import MemoryBucket
from tests.doubles.queue import MemoryQueue
from tests.emptied import emptied
from tests.local_model import running_model

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PAGE = "junior/二次方程式の解き方_教材"
FINGERPRINT = PageIndexVersion(EmbeddingModel(NAME, 1536, "query: ", "passage: "), TEXT_TEMPLATE, ANALYZER)


class E5:
    """An `Embedder` on the model of the local stack."""

    def __init__(self, url: str) -> None:
        self._client = openai.OpenAI(base_url=url, api_key="any")

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        return self._embedded([f"{FINGERPRINT.model.passage_prefix}{text}" for text in texts])

    def query(self, text: str) -> Vector:
        return self._embedded([f"{FINGERPRINT.model.query_prefix}{text}"])[0]

    def _embedded(self, texts: list[str]) -> list[Vector]:
        model = FINGERPRINT.model
        answer = self._client.embeddings.create(model=model.name, input=texts, dimensions=model.dimensions)
        return [each.embedding for each in answer.data]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[E5]:
    with running_model(tmp_path_factory.mktemp("model")) as url:
        yield E5(url)


@pytest.fixture(scope="module")
def search(service: Client, sql: psycopg.Connection, embedder: E5) -> SearchKnowledge:
    """Two sample pages in the index, through the events of their upload."""
    emptied(sql)
    bucket, index = MemoryBucket(), KnowledgeIndex(service)
    apply_page = IndexPage(bucket, index, embedder, LearnsSources(bucket, index, None, ""), FINGERPRINT, 10**7)
    events = BucketEvents(bucket, index, MemoryQueue(), apply_page, "", *silent())
    for name in ("learns.yml", f"{PAGE}.html", "junior/三平方の定理の使い方_教材.html"):
        bucket.write(name, (SAMPLES / name).read_bytes())
    for body in bucket.take_messages():
        event = read_event(json.loads(body))
        assert event is not None
        events.process_event(event)
    index, lexicon = KnowledgeSearch(service, calibration_of(NAME)), Lexicon(service)
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
