"""The embeddings endpoint as the published client sees it."""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import openai
import pytest
from sakuin.knowledge.index_page import chunks_of_page
from sakuin.knowledge.learns.sources import learns_without_model
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.vocabulary import NO_VOCABULARY
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.model import NAME, Text
from sakuin_local.embeddings.recorded import put_into
from sakuin_local.places import SAMPLES

from tests.awaiting import awaited
from tests.local_model import running_model
from tests.parallel import TESTS


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model keeps its vectors: only a file that is not there yet begins with recorded ones."""
    folder = tmp_path_factory.mktemp("model")
    VectorCache(folder / "vectors.sqlite")
    return folder


@pytest.fixture(scope="module")
def url(model: Path) -> Iterator[str]:
    with running_model(model) as running:
        yield running


@pytest.fixture(scope="module")
def client(url: str) -> openai.OpenAI:
    return client_at(url)


def client_at(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="any", max_retries=0)


def vectors(client: openai.OpenAI, *texts: str, dimensions: int = 1536) -> np.ndarray:
    answer = client.embeddings.create(model=NAME, input=list(texts), dimensions=dimensions)
    return np.array([each.embedding for each in answer.data])


def test_zeros_fill_the_wanted_dimensions_and_keep_the_cosine(client: openai.OpenAI) -> None:
    texts = ("query: たすき掛け", "passage: 因数分解の方法")
    short, long = vectors(client, *texts, dimensions=384), vectors(client, *texts)

    assert long.shape == (2, 1536)
    assert not long[:, 384:].any()
    assert short[0] @ short[1] == pytest.approx(long[0] @ long[1])


def test_answers_come_in_the_order_of_the_inputs_with_the_same_text_twice(client: openai.OpenAI) -> None:
    texts = [f"passage: 例題{number}" for number in (3, 1, 2, 1, 3)]
    rows = vectors(client, *texts)

    assert (rows[0] == rows[4]).all()
    assert (rows[1] == rows[3]).all()
    assert not (rows[0] == rows[1]).all()


def test_text_after_a_nul_counts(client: openai.OpenAI) -> None:
    cut, whole = vectors(client, "passage: 平方", "passage: 平方\0完成のやり方")

    assert not (cut == whole).all()


def test_a_lone_surrogate_is_no_failure(client: openai.OpenAI) -> None:
    assert Text.of("passage: a\ud800b") == Text(is_query=False, text="a?b")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"input": "no prefix"}, "begins with 'query: ' or 'passage: '"),
        ({"input": ""}, "not empty"),
        ({"input": []}, "1 to 2048 texts"),
        ({"input": ["query: a"] * 2049}, "1 to 2048 texts"),
        ({"input": [1, 2]}, "lists of tokens"),
        ({"input": "query: a", "dimensions": 256}, "384 dimensions"),
        ({"input": "query: " + "あ" * 20_000}, "maximum is 8192"),
    ],
)
def test_what_openai_or_the_model_would_not_take_is_refused(
    client: openai.OpenAI, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        client.embeddings.create(model=NAME, **asked)


def test_another_model_is_not_found(client: openai.OpenAI) -> None:
    assert client.models.retrieve(NAME).id == NAME
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("text-embedding-3-small")
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="text-embedding-3-small", input="query: a")


def test_a_question_does_not_wait_for_a_batch(url: str, model: Path) -> None:
    batch = [f"passage: 連立方程式の解き方その{number}。" * 2 for number in range(40)]
    seen = VectorCache(model / "vectors.sqlite")

    with ThreadPoolExecutor() as threads:
        rest = threads.submit(vectors, client_at(url), *batch)
        awaited("the first of the batch", lambda: seen.found([Text.of(batch[0])]))
        vectors(client_at(url), "query: 急ぎの質問")

        assert not rest.done()


def test_vectors_survive_on_disk(tmp_path: Path) -> None:
    text, vector = Text(is_query=True, text="あ"), np.arange(3, dtype="<f4")

    VectorCache(tmp_path / "v.sqlite").store({text: vector})
    found = VectorCache(tmp_path / "v.sqlite").found([text, Text(is_query=False, text="あ")])

    assert list(found) == [text]
    assert found[text].tolist() == [0.0, 1.0, 2.0]


def test_the_recorded_vectors_are_those_of_the_model(client: openai.OpenAI, tmp_path: Path) -> None:
    questions = (TESTS / "general" / "de" / "queries.jsonl").read_text("utf-8").splitlines()[:5]
    page = read_page(next(SAMPLES.rglob("一次関数*.html")).read_bytes())
    _, passages = chunks_of_page("", page, learns_without_model(page, {}), NO_VOCABULARY)
    texts = [f"query: {json.loads(line)['query']}" for line in questions]
    texts += [f"passage: {text}" for text in islice(passages.values(), 10)]
    put_into(tmp_path / "v.sqlite")
    recorded = VectorCache(tmp_path / "v.sqlite").found([Text.of(text) for text in texts])

    assert len(recorded) == len(texts)
    for text, vector in zip(texts, vectors(client, *texts, dimensions=384), strict=True):
        assert recorded[Text.of(text)] @ vector == pytest.approx(1, abs=1e-3)


def test_a_new_stack_has_the_vectors_of_the_samples(tmp_path: Path) -> None:
    put_into(tmp_path / "recorded.sqlite")
    with running_model(tmp_path):
        assert contents(tmp_path / "vectors.sqlite") == contents(tmp_path / "recorded.sqlite") != []


def contents(cache: Path) -> list[tuple[bytes, bytes]]:
    with closing(sqlite3.connect(cache)) as connection:
        return connection.execute("select key, value from vector order by key").fetchall()
