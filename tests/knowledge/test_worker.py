"""The worker of the material queue."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Conflict
from sakuin.platform.retry import MAX_FAILURES
from sakuin.platform.waiting import WorkRecords

from tests.builders import a_page
from tests.doubles.sqs import VISIBILITY_SECONDS
from tests.events import event
from tests.worked_queue import WorkedQueue
from tests.worlds import World


@pytest.fixture
def queue(world: World, records: WorkRecords) -> WorkedQueue:
    return WorkedQueue(world.events, records)


def uploaded(world: World, *names: str) -> list[str]:
    for name in names:
        world.bucket.write(f"{name}.html", a_page({"rule-a": f"名: {name}の文。"}))
    return world.bucket.take_messages()


class Unreadable:
    """An index whose vectors cannot be read."""

    def missing_vectors(self, *_of_page: Any) -> None:
        raise Conflict("Somebody else was first")


def test_the_last_failure_of_a_reindex_is_a_dead_letter_and_its_page_stays(queue: WorkedQueue, world: World) -> None:
    world.put("a.html", a_page({"rule-a": "名: 前の文。"}))
    index: Any = Unreadable()
    queue.work = replace(world.events, pages=replace(world.events.pages, index=index))
    assert queue.deliver(json.dumps({"reindex": {"material": "a", "reason": "test"}}), failures=4)
    assert (len(queue.sqs.dead), queue.records.waiting().count) == (1, 0)
    assert world.state("a").status == "ready"


def test_a_page_says_since_when_and_why_it_waits_also_a_new_one(queue: WorkedQueue, world: World) -> None:
    world.embedder.down = True
    for name, body in zip("ab", uploaded(world, "a", "b"), strict=True):
        assert queue.deliver(body)
        state = world.state(name)
        assert state.waiting is not None
        assert (state.waiting.reason, state.indexed_version_id) == ("The embedding service did not answer", None)
        assert state.waiting.since < state.waiting.until
    world.embedder.down = False
    queue.sqs.passes(60)
    assert queue.deliver_waiting() == [True, True]
    assert [world.state(name).waiting for name in "ab"] == [None, None]


class Deadly:
    """A bucket that ends the worker which reads it."""

    def read(self, *_: object, **__: object) -> None:
        raise KeyboardInterrupt


def test_a_page_that_ends_its_worker_each_time_says_so_and_the_version_before_answers(
    queue: WorkedQueue, world: World
) -> None:
    world.put("a.html", a_page({"rule-a": "名: 前の文。"}))
    (body,) = uploaded(world, "a")
    queue.send(body)
    bucket: Any = Deadly()
    queue.work = replace(world.events, pages=replace(world.events.pages, bucket=bucket))
    for _ in range(MAX_FAILURES):
        with pytest.raises(KeyboardInterrupt):
            queue.deliver_waiting()
        queue.sqs.passes(VISIBILITY_SECONDS)
    assert queue.deliver_waiting() == [True]
    state = world.state("a")
    assert (state.status, str(state.error)[:38]) == ("failed", "The worker ended without an answer: no")
    assert (state.waiting, len(queue.sqs.dead), len(world.chunks())) == (None, 1, 1)


def test_an_unreadable_page_is_no_failure_of_the_queue(queue: WorkedQueue, world: World) -> None:
    world.bucket.write("a.html", b"%PDF-1.7")
    (body,) = world.bucket.take_messages()
    assert queue.deliver(body)
    assert world.state("a").status == "failed"


@pytest.mark.parametrize("name", ["put", "delete", "test_event", "reindex", "recheck"])
def test_each_sample_event_is_processed(queue: WorkedQueue, name: str) -> None:
    assert queue.deliver(event(f"index_material.{name}")["Records"][0]["body"])


def test_one_line_is_logged_for_each_event(queue: WorkedQueue, world: World, caplog: pytest.LogCaptureFixture) -> None:
    (body,) = uploaded(world, "a")
    queue.deliver(body)
    (line,) = [vars(record) for record in caplog.records if record.msg == "bucket event processed"]
    assert (line["bucket_event"], line["material"], line["outcome"]) == ("ObjectWritten", "a", "applied")
    assert (line["chunks"], line["embedded"]) == (1, 1)
