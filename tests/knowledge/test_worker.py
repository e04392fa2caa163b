"""The worker of the material queue."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Conflict
from sakuin.platform.unfinished_work import UnfinishedWorkStore

from tests.builders import a_page
from tests.events import event
from tests.worked_queue import WorkedQueue
from tests.worlds import World


@pytest.fixture
def queue(world: World, unfinished: UnfinishedWorkStore) -> WorkedQueue:
    return WorkedQueue(world.events, unfinished)


def uploaded(world: World, *names: str) -> list[str]:
    for name in names:
        world.bucket.write(f"{name}.html", a_page({"rule-a": f"名: {name}の文。"}))
    return world.bucket.take_messages()


def states(unfinished: UnfinishedWorkStore) -> list[tuple[str, str, str, str | None]]:
    return [(row.kind, row.subject, row.state, row.body) for row in unfinished.rows()]


class Unreadable:
    """An index whose rows cannot be read."""

    def state(self, _material: str) -> None:
        raise Conflict("Somebody else was first")


def test_the_last_failure_of_a_reindex_is_recorded(
    queue: WorkedQueue, world: World, unfinished: UnfinishedWorkStore
) -> None:
    world.put("a.html", a_page({"rule-a": "名: 前の文。"}))
    index: Any = Unreadable()
    queue.work = replace(world.events, index=index)
    body = json.dumps({"reindex": {"material": "a", "reason": "test"}})
    assert queue.deliver(body, receives=5)
    assert len(queue.sqs.dead) == 1
    assert states(unfinished) == [("material", "a", "failed", body)]
    assert world.state("a").status == "ready"


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
