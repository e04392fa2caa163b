"""The metric of freshness: how long uploads took to become searchable."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sakuin.upkeep.canary import CANARY_KEY

from tests.builders import a_page
from tests.worlds import World

ONE, TWO = a_page({"rule-a": "解の公式: 一。"}), a_page({"rule-a": "解の公式: 二。"})


def process(world: World) -> list[int]:
    """Processes all messages as the queue does; returns the values of the metric in seconds."""
    seconds: list[int] = []
    while messages := [*world.bucket.take_messages(), *world.queue.take_messages()]:
        for message in messages:
            events = world.events
            event = events.read(json.loads(message))
            assert event is not None
            events.process(event, None)
            counted = events.metrics.metric_set.get("FreshnessMilliseconds", {"Value": []})
            seconds += [round(value / 1000) for value in counted["Value"]]
            events.metrics.clear_metrics()
    return seconds


def about(seconds: float) -> Any:
    """One value of so many seconds; a busy machine takes some more."""
    return pytest.approx([seconds + 15], abs=15.5)


def upload(world: World, key: str, body: bytes, *, seconds_ago: float) -> list[int]:
    """Uploads a page in the past, and processes its event now."""
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    world.bucket.write(key, body)
    return process(world)


def test_each_new_version_of_a_page_counts_from_its_upload(world: World) -> None:
    assert upload(world, "a.html", ONE, seconds_ago=7) == about(7)
    assert upload(world, "a.html", TWO, seconds_ago=100) == about(100)


def test_a_page_that_waited_for_its_worker_counts_from_its_upload_too(world: World) -> None:
    world.bucket.now = datetime.now(UTC) - timedelta(hours=2)
    world.bucket.write("a.html", ONE)
    world.bucket.forget_messages()
    world.queue.recheck(["a.html"], reason="resumed")
    assert process(world) == about(7200)


def test_nothing_else_counts(world: World) -> None:
    assert upload(world, CANARY_KEY, ONE, seconds_ago=1) == []
    assert upload(world, "bad.html", b"%PDF-1.7", seconds_ago=1) == []
    assert upload(world, "old.html", ONE, seconds_ago=8 * 86_400) == []
    assert upload(world, "a.html", ONE, seconds_ago=1) == about(1)
    world.queue.reindex(["a"], reason="asked")
    world.queue.recheck(["a.html"], reason="asked")
    world.bucket.remove("a.html")
    assert process(world) == []
