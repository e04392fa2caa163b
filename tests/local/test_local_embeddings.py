"""The embeddings endpoint: as the published client sees it, its queue, and with the model of a deployment."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import openai
import pytest
from sakuin.knowledge.index_page import chunks_of_page
from sakuin.knowledge.model import Learns
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.platform.embedding import packed
from sakuin.retrieval.vectors import text_hash
from sakuin_local.addresses import LOOPBACK, free_port
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.deployment import SLICE, DeploymentModel
from sakuin_local.embeddings.endpoint import Endpoint
from sakuin_local.embeddings.model import DIMENSIONS, NAME, Text, Vector
from sakuin_local.embeddings.onnx import OnnxModel
from sakuin_local.embeddings.queue import RequestQueue
from sakuin_local.errors import LocalError
from sakuin_local.places import SAMPLES
from sakuin_local.processes import Programs
from sakuin_local.serving import served
from sakuin_local.vendors import start_embeddings
from starlette.testclient import TestClient
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from tests.awaiting import awaited
from tests.cli.recorded import recorded
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


def test_vectors_survive_on_disk(tmp_path: Path) -> None:
    text, vector = Text(is_query=True, text="あ"), np.arange(3, dtype="<f4")

    VectorCache(tmp_path / "v.sqlite").store({text: vector})
    found = VectorCache(tmp_path / "v.sqlite").found([text, Text(is_query=False, text="あ")])

    assert list(found) == [text]
    assert found[text].tolist() == [0.0, 1.0, 2.0]


def test_the_recorded_vectors_are_those_of_the_model(client: openai.OpenAI, tmp_path: Path) -> None:
    questions = (TESTS / "general" / "de" / "queries.jsonl").read_text("utf-8").splitlines()[:5]
    page = read_page(next(SAMPLES.rglob("一次関数*.html")).read_bytes())
    learns = {each.anchor: Learns((), "rules") for each in page.explanations}
    _, passages = chunks_of_page("", page, learns, "", {})
    texts = [f"query: {json.loads(line)['query']}" for line in questions]
    texts += [f"passage: {text}" for text in islice(passages.values(), 10)]
    cache = VectorCache(tmp_path / "v.sqlite")
    cache.add_recorded()
    recorded = cache.found([Text.of(text) for text in texts])

    assert len(recorded) == len(texts)
    for text, vector in zip(texts, vectors(client, *texts, dimensions=384), strict=True):
        assert recorded[Text.of(text)] @ vector == pytest.approx(1, abs=1e-3)


def test_a_new_stack_has_the_vectors_of_the_samples(tmp_path: Path) -> None:
    VectorCache(tmp_path / "recorded.sqlite").add_recorded()
    with running_model(tmp_path):
        assert contents(tmp_path / "vectors.sqlite") == contents(tmp_path / "recorded.sqlite") != []


def contents(cache: Path) -> list[tuple[bytes, bytes]]:
    with closing(sqlite3.connect(cache)) as connection:
        return connection.execute("select key, value from vector order by key").fetchall()


TABLE, PAGE, QUESTION = "passage: Table", "passage: page", "query: question"


@dataclass
class GatedModel:
    """Embeds one part each time the test opens the gate."""

    embedded: list[str] = field(default_factory=list)
    started: int = 0
    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def tokens(self, text: Text) -> int:
        return len(text.text)

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        self.started += 1
        self.gate.acquire()
        self.embedded += [text.text.split()[0] for text in texts]
        return [np.full(DIMENSIONS, DIMENSIONS**-0.5, "<f4") for _ in texts]


@dataclass
class Gated:
    """The endpoint with a gated model; `queue` is its queue."""

    url: str
    model: GatedModel
    queue: RequestQueue
    threads: ThreadPoolExecutor

    def ask(self, *texts: str, urgency: int = 3, timeout: float = 30.0) -> httpx2.Response:
        body = {"model": NAME, "input": list(texts), "encoding_format": "base64"}
        headers = {"Authorization": "Bearer any", "Priority": f"u={urgency}"}
        return httpx2.post(f"{self.url}/v1/embeddings", json=body, headers=headers, timeout=timeout)

    def begin(self, *texts: str, urgency: int = 3, timeout: float = 30.0) -> Future[httpx2.Response]:
        """Sends a request in a thread; returns once it has its place in the queue."""
        places = len(self.queue.places)
        answer = self.threads.submit(self.ask, *texts, urgency=urgency, timeout=timeout)
        awaited("its place in the queue", lambda: len(self.queue.places) > places)
        return answer

    def open_gate(self, parts: int) -> None:
        self.model.gate.release(parts)


@contextmanager
def endpoint(folder: Path, *, longest_wait: float) -> Iterator[Gated]:
    model, queue = GatedModel(), RequestQueue(longest_wait)
    stub: Any = model
    application = Endpoint(stub, VectorCache(folder / "v.sqlite"), queue).application()
    with ThreadPoolExecutor() as threads, served(application) as port:
        try:
            yield Gated(f"http://127.0.0.1:{port}", model, queue, threads)
        finally:
            model.gate.release(1000)


def long(text: str, number: int = 0) -> str:
    """A text that is a part of its own."""
    return f"{text} {number}" + "あ" * 1_000


def test_a_question_comes_before_a_page_and_a_page_before_the_rest_of_a_table(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=600) as running:
        table = running.begin(*(long(TABLE, number) for number in range(3)), urgency=5)
        awaited("the first part", lambda: running.model.started == 1)
        answers = [running.begin(long(PAGE)), running.begin(QUESTION), table]
        running.open_gate(5)
        assert [answer.result().status_code for answer in answers] == [200, 200, 200]
    assert running.model.embedded == ["Table", "question", "page", "Table", "Table"]


def test_a_request_that_waits_too_long_is_refused_and_one_that_is_alone_is_not(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=1.0) as running:
        page = running.begin(long(PAGE), long(PAGE, 1))
        refused = running.begin(long(TABLE), urgency=5).result()
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        assert refused.headers["Retry-After-Ms"] == "500"
        # The page has had the model for longer than it may wait.
        running.open_gate(2)
        assert page.result().status_code == 200
    assert running.model.embedded == ["page", "page"]


def test_a_text_whose_client_has_left_is_not_embedded(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=600) as running:
        page = running.begin(long(PAGE))
        awaited("the first part", lambda: running.model.started == 1)
        abandoned = running.begin(long(TABLE), timeout=0.1)
        with pytest.raises(httpx2.ReadTimeout):
            abandoned.result()
        # The server has seen the end of that connection before this one.
        assert httpx2.get(f"{running.url}/healthz").status_code == 200
        running.open_gate(1)
        assert page.result().status_code == 200
        awaited("an empty queue", lambda: not running.queue.places)
    assert running.model.embedded == ["page"]


def test_a_text_that_two_requests_have_is_embedded_once(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=600) as running:
        answers = [running.begin(long(PAGE)), running.begin(long(PAGE))]
        running.open_gate(1)
        assert [answer.result().status_code for answer in answers] == [200, 200]
    assert running.model.embedded == ["page"]


def field_of(number: int, value: int | bytes) -> bytes:
    """A field of a protocol buffer: a number, or bytes with their length."""

    def varint(count: int) -> bytes:
        return bytes([count & 127 | 128]) + varint(count >> 7) if count > 127 else bytes([count])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def model_file(table: np.ndarray) -> bytes:
    """A model of ONNX (onnx.proto) whose vector of a token is its row of a table."""
    numbers = b"".join(field_of(1, size) for size in table.shape) + field_of(2, 1)
    node = field_of(1, b"table") + field_of(1, b"input_ids") + field_of(2, b"hidden") + field_of(4, b"Gather")
    graph = (
        field_of(1, node)
        + field_of(2, b"g")
        + field_of(5, numbers + field_of(8, b"table") + field_of(9, table.tobytes()))
    )
    for place, name, kind, sizes in ((11, b"input_ids", 7, b"bt"), (12, b"hidden", 1, b"btd")):
        shape = b"".join(field_of(1, field_of(2, bytes([each]))) for each in sizes)
        tensor = field_of(1, field_of(1, kind) + field_of(2, shape))
        graph += field_of(place, field_of(1, name) + field_of(2, tensor))
    return field_of(1, 8) + field_of(7, graph) + field_of(8, field_of(2, 13))


WORDS = ("[PAD]", "query", "passage", "keys", "locks")


def onnx_model(folder: Path, size: int = 4, **settings: dict[str, object]) -> OnnxModel:
    """A model that knows a few words; the vector of each is another axis, and `[PAD]` is on all of them."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    table = np.vstack([np.ones(size), np.eye(len(WORDS) - 1, size)]).astype("<f4")
    (folder / "onnx" / "model.onnx").write_bytes(model_file(table))
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="keys"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, values in settings.items():
        file = folder / f"{name}.json".replace("pooling", "1_Pooling/config")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(values), "utf-8")
    return OnnxModel(folder)


def rounded(model: OnnxModel, *texts: str, is_query: bool = True) -> list[list[float]]:
    return [
        [round(float(each), 2) for each in vector] for vector in model.embed([Text(is_query, one) for one in texts])
    ]


def test_a_model_of_onnx_embeds_as_its_settings_say(tmp_path: Path) -> None:
    plain = onnx_model(tmp_path / "plain")
    # The mean of the tokens alone: what fills the shorter text does not count.
    assert rounded(plain, "keys", "keys keys locks locks") == [[0, 0, 1, 0], [0, 0, 0.71, 0.71]]
    first = onnx_model(tmp_path / "first", pooling={"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    assert rounded(first, "locks keys", "keys") == [[0, 0, 0, 1], [0, 0, 1, 0]]
    short = onnx_model(
        tmp_path / "short", sentence_bert_config={"max_seq_length": 2}, tokenizer_config={"model_max_length": 9}
    )
    assert rounded(short, "keys keys locks locks") == [[0, 0, 1, 0]]
    assert short.tokens(Text(is_query=True, text="keys keys locks")) == 2
    prompts = {"prompts": {"query": "query ", "document": "passage "}}
    asks = onnx_model(tmp_path / "asks", config_sentence_transformers=prompts)
    assert rounded(asks, "keys") == [[0.71, 0, 0.71, 0]]
    assert rounded(asks, "keys", is_query=False) == [[0, 0.71, 0.71, 0]]
    names = {each.name() for each in (plain, first, short, asks, onnx_model(tmp_path / "other" / "plain", size=5))}
    assert len(names) == 5
    assert OnnxModel(tmp_path / "plain" / "onnx" / "model.onnx").name() == plain.name()


def test_what_is_no_usable_model_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"it needs model\.onnx and tokenizer\.json"):
        OnnxModel(tmp_path)
    with pytest.raises(LocalError, match="the mean of the tokens or the first"):
        onnx_model(tmp_path / "max", pooling={"pooling_mode_max_tokens": True})
    with pytest.raises(LocalError, match="have 1537 numbers; at most 1536"):
        onnx_model(tmp_path / "large", size=1537)


def test_the_program_answers_with_the_model_at_a_path(tmp_path: Path) -> None:
    model = onnx_model(tmp_path / "multilingual-e5-tiny")
    programs, port = Programs(tmp_path), free_port()
    try:
        start_embeddings(tmp_path, programs, port=port, source=tmp_path / "multilingual-e5-tiny")
        client = client_at(f"http://{LOOPBACK}:{port}/v1")
        answer = client.embeddings.create(model=model.name(), input=["query: locks"], dimensions=1536)
    finally:
        programs.stop()
    # What an e5 model expects before a question is an unknown word here.
    assert np.allclose(answer.data[0].embedding, [0, 0, 0.5**0.5, 0.5**0.5] + [0] * 1532)


SAKUIN = Path(sys.executable).with_name("sakuin")

MODEL = "text-embedding-3-large"

STORED = "passage that the deployment has"


class Deployment:
    """A deployment that has the vector of one text; `status` is that of its answers, `asked` are the requests."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = 200

    def __call__(self, _method: str, path: str, body: bytes) -> tuple[int, object]:
        assert path == "/v1/index/vectors"
        asked = json.loads(body)
        self.asked.append(asked)
        stored = {text_hash(STORED): self.vector(STORED)}
        return self.status, {
            "settings": {"model": {"name": MODEL}},
            "vectors": {name: stored[name] for name in asked["names"] if name in stored},
            "texts": list(map(self.vector, asked["texts"])),
            "queries": list(map(self.vector, asked["queries"])),
        }

    @staticmethod
    def vector(text: str) -> str:
        return packed([float(len(text)), *[0.0] * 1535])


def embedded(client: TestClient, *texts: str) -> tuple[int, list[float]]:
    """The status, and the first number of each vector."""
    body = {"model": MODEL, "input": list(texts), "encoding_format": "base64", "dimensions": 1536}
    answer = client.post("/v1/embeddings", json=body, headers={"Authorization": "Bearer any"})
    data = answer.json().get("data", ())
    return answer.status_code, [float(np.frombuffer(b64decode(one["embedding"]), "<f4")[0]) for one in data]


def test_stored_vectors_are_not_embedded_again_and_new_ones_are_kept(tmp_path: Path) -> None:
    deployment = Deployment()
    with recorded(deployment) as url:
        model = DeploymentModel(url, "sk_sakuin_push")
        endpoint = Endpoint(model, VectorCache(tmp_path / "v.sqlite", MODEL), name=model.name(), size=SLICE)
        with TestClient(endpoint.application()) as client:
            texts = (f"passage: {STORED}", "passage: new")
            assert embedded(client, *texts) == embedded(client, *texts) == (200, [float(len(STORED)), 3.0])
            assert embedded(client, "query: 解の公式") == (200, [4.0])
            deployment.status = 503
            assert embedded(client, "passage: other")[0] == 503
            assert embedded(client, *texts)[0] == 200
            assert client.get(f"/v1/models/{MODEL}", headers={"Authorization": "Bearer any"}).json()["id"] == MODEL
    _name, names, texts_asked, questions, *_failed = deployment.asked
    assert names["names"] == [text_hash(STORED), text_hash("new")]
    assert (texts_asked["texts"], questions["queries"]) == (["new"], ["解の公式"])


def up(folder: Path, url: str, key: str) -> subprocess.CompletedProcess[str]:
    command = (SAKUIN, "up", "--no-samples", "--port", "0", "--data", folder / "data", "--vectors-of", url)
    environment = os.environ | {"SAKUIN_PUSH_KEY": key, "COLUMNS": "200"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_key_is_needed_and_a_deployment_that_fails_is_named(tmp_path: Path) -> None:
    assert up(tmp_path, "https://example.org", "").returncode == 2
    deployment = Deployment()
    deployment.status = 401
    with recorded(deployment) as url:
        refused = up(tmp_path, url, "sk_sakuin_wrong")
    assert (refused.returncode, f"{url} gives no vectors: " in refused.stderr) == (1, True)


def test_a_missing_package_is_named_with_what_installs_it(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ModuleNotFoundError(name='onnxruntime')", "utf-8")
    command = (SAKUIN, "up", "--model", tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = '`sakuin up` needs the package onnxruntime: install "sakuin[local,onnx]"'
    assert (refused.returncode, refused.stderr) == (1, f"sakuin: {said}\n")


@contextmanager
def running_model(folder: Path) -> Iterator[str]:
    """The endpoint's URL while the block runs; it keeps its vectors in `folder / "vectors.sqlite"`."""
    programs, port = Programs(folder), free_port()
    try:
        start_embeddings(folder, programs, port=port)
        yield f"http://{LOOPBACK}:{port}/v1"
    finally:
        programs.stop()
