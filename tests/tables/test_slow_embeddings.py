"""A slow or rate-limited embedding service delays a Table and fails nothing."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sakuin.errors import RateLimited
from sakuin.platform.embedding import EmbeddingModel, Vector, embed_texts
from sakuin.platform.openai.embeddings import OpenAIEmbedder, connected
from sakuin.wiring.embed_chunks import URGENCY
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.endpoint import application
from sakuin_local.embeddings.model import NAME
from sakuin_local.embeddings.queue import RequestQueue
from sakuin_local.serving import served

from tests.awaiting import awaited
from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.events import Context
from tests.local.test_embedding_queue import GatedModel
from tests.worlds import TableWorld, passages_of

# Twelve chunks of 1,000 characters, each in five passages, so four requests of one message; 40 chunks are two messages.
TWELVE = [f"{number:02}" + "図" * 998 for number in range(12)]
FORTY = [f"{number:02}" + "表" * 998 for number in range(40)]


@dataclass
class SlowEmbedder(MemoryEmbedder):
    """An embedder whose requests take two seconds of `now`, and that asks to wait after `left` requests.

    `progress` has how many chunks of `world` were stored before each request.
    """

    left: int = 1_000
    now: float = 0.0
    progress: list[int] = field(default_factory=list)
    world: TableWorld | None = None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if not self.left:
            raise RateLimited("embeddings", vendor="openai", retry_after=30)
        self.left -= 1
        self.now += 2
        if self.world is not None:
            (stored,) = self.world.sql("select count(*) from chunks where indexed_at is not null")
            self.progress += stored
        return super().passages(texts)


def used_tokens(world: TableWorld) -> int:
    return int(world.sql("select coalesce(sum(used), 0) from quota_use where quota = 'project_daily_tokens'")[0][0])


def test_a_rate_limit_keeps_what_is_embedded_and_embeds_it_once(world: TableWorld) -> None:
    world.embedder = embedder = SlowEmbedder(left=1)
    world.on_sqs()
    table, tool, _ = world.documented(TWELVE)
    for _ in range(10):
        world.take_all()
        assert world.waiting == []
        world.passes(30)
    world.take_all()
    status = world.status(tool)
    assert (status["state"], status["indexed_chunks_count"], status["chunks_count"]) == ("indexing", 3, 12)
    assert (status.get("last_error"), status["minutes_left"] >= 1) == (None, True)
    (row,) = world.unfinished_rows(table)
    waits = "Waiting for embeddings, about 1 minute"
    assert (row.state, row.reason, row.vendor, row.attempts) == ("retrying", waits, None, 0)

    embedder.left = 1_000
    world.passes(30)
    world.take_all()
    status = world.status(tool)
    assert (status["state"], status["indexed_chunks_count"], status["minutes_left"]) == ("ready", 12, None)
    passages = [passage for text in TWELVE for passage in passages_of(text)]
    assert sorted(embedder.embedded) == sorted(passages)
    assert (world.unfinished_rows(table), world.sqs.dead) == ([], [])
    assert used_tokens(world) == sum(len(text.encode()) for text in passages) // 3


def test_progress_counts_chunks_while_a_message_is_worked_on(world: TableWorld) -> None:
    table, tool, _ = world.documented(FORTY[:30])
    world.deliver(world.queues.asked.pop())
    world.embedder = embedder = SlowEmbedder(world=world)
    for _, project, _, ids in world.queues.asked:
        replace(world.embed, clock=lambda: embedder.now)(project, table, ids)
    # After each six seconds.
    assert embedder.progress == [0, 0, 0, 9, 9, 9, 19, 19, 19, 28]
    assert world.status(tool)["state"] == "ready"


@dataclass
class SlowService:
    """The local endpoint with a model that waits for the test; Tables and pages use it as deployed."""

    url: str
    model: GatedModel
    queue: RequestQueue

    def embedder(self, urgency: int | None = None) -> OpenAIEmbedder:
        session = connected(f"{self.url}/v1", "any", urgency=urgency)
        return OpenAIEmbedder(session, EmbeddingModel(NAME, 1536, "query: ", "passage: "))


@contextmanager
def slow_service(folder: Path) -> Iterator[SlowService]:
    model, queue = GatedModel(), RequestQueue(longest_wait=20, speed=60)
    stub: Any = model
    with served(application(stub, VectorCache(folder / "v.sqlite"), queue=queue)) as port:
        try:
            yield SlowService(f"http://127.0.0.1:{port}", model, queue)
        finally:
            model.gate.release(1_000)


def test_a_page_is_embedded_before_the_rest_of_a_table_that_waits(world: TableWorld, tmp_path: Path) -> None:
    with slow_service(tmp_path) as service, ThreadPoolExecutor() as threads:
        embedders: Any = {MODEL: service.embedder(URGENCY)}
        world.embedders = embedders
        world.on_sqs()
        table, tool, _ = world.documented(FORTY)
        while len(world.waiting) < 2:
            world.take()
        first, other = (world.sqs.receive(0) for _ in range(2))
        works = threads.submit(handled, world, first)
        awaited("the first part of the Table", lambda: service.model.started == 1)
        # The queue is too long for the second message, which returns later and has not failed.
        assert handled(world, other) == []
        (row,) = world.unfinished_rows(table)
        assert (row.attempts, row.reason.startswith("Waiting for embeddings, about ")) == (0, True)

        page = threads.submit(embed_texts, service.embedder(), {"page": "ページ"}, lambda _vectors: None)
        awaited("the page in the queue", lambda: len(service.queue._places) == 2)
        service.model.gate.release(2)
        assert page.result().vectors.keys() == {"page"}
        *first_part, last = service.model.embedded
        assert last == "ページ"
        assert set(first_part) < {passage for text in FORTY for passage in passages_of(text)}

        service.model.gate.release(1_000)
        assert works.result() == []
        world.passes(900)
        world.take_all()
    assert (world.status(tool)["state"], world.unfinished_rows(table)) == ("ready", [])
    assert len(service.model.embedded) == len({passage for text in FORTY for passage in passages_of(text)}) + 1


def handled(world: TableWorld, message: Any) -> list[Any]:
    """Returns the failures of a worker that received this message; without one, the message is deleted."""
    answer = world.handler(message.queue).handle({"Records": [message.as_record()]}, Context())
    failures: list[Any] = answer["batchItemFailures"]
    if not failures:
        world.sqs.delete(message.id)
    return failures
