"""Events about pages: after the page is searchable, at least once, and without text of the page."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin.knowledge.messages import Announcements, read_event
from sakuin.platform.aws import BusEvent
from sakuin_local.places import TEMPLATE

from tests.builders import a_page
from tests.convergence.passing import A_MINUTE, time_passes
from tests.doubles.event_bus import MemoryBus
from tests.worlds import World

SECRET = "判別式の秘密"
PAGE = {"rule-a": f"公式: {SECRET}を代入する。", "tip-b": "コツ: 符号に注意する。"}


def work(world: World) -> None:
    """Processes the messages of the bucket and the queue as the worker does."""
    events = world.events
    while messages := [*world.bucket.take_messages(), *world.queue.take_messages()]:
        for body in messages:
            event = read_event(json.loads(body))
            assert event is not None
            events.process(event, None)


def put(world: World, key: str = "a.html", body: bytes | None = None) -> str:
    version = world.bucket.write(key, a_page(PAGE) if body is None else body)
    work(world)
    return version


def told(world: World) -> list[tuple[str, dict[str, Any]]]:
    """The events since the last call."""
    events, world.bus.taken = world.bus.taken, []
    return [(event.type, dict(event.detail)) for event in events]


def send_missing(world: World, seconds: int = A_MINUTE) -> int:
    """What maintenance sends after some time."""
    time_passes(world.sql, seconds)
    return world.maintenance.announce_pages()


@pytest.mark.scenario("knowledge-index/an-event-says-what-became-of-a-version")
def test_what_became_of_each_version_is_told_without_a_text_of_the_page(world: World) -> None:
    first = put(world)
    unreadable = put(world, body=b"%PDF-1.7 " + SECRET.encode())
    world.bucket.remove("a.html")
    work(world)
    page = {"version": 1, "material": "a"}
    events = told(world)
    assert events == [
        ("MaterialIndexed", {**page, "generation": 1, "version_id": first, "explanations": 2}),
        (
            "MaterialFailed",
            {
                **{**page, "generation": 2, "version_id": unreadable, "explanations": 2},
                **{"searchable_version_id": first, "reason": "page.other_file"},
            },
        ),
        ("MaterialRemoved", {**page, "generation": 3}),
    ]
    assert SECRET not in json.dumps(events, ensure_ascii=False)
    assert send_missing(world) == 0


def test_the_members_of_the_events_are_those_of_the_reference(world: World) -> None:
    put(world)
    put(world, body=b"")
    world.bucket.remove("a.html")
    work(world)
    reference = (TEMPLATE.parent / "docs/reference/events.md").read_text("utf-8")
    for name, detail in told(world):
        ((members,),) = [re.findall(rf"^\| `{name}` \|[^|]*\| (.*) \|$", reference, re.MULTILINE)]
        assert set(re.findall("`([a-z_]+)`", members)) == detail.keys(), name


class LookingBus(MemoryBus):
    """A bus that looks at the index when it takes an event."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.searchable = world, list[list[str]]()

    def put(self, events: Sequence[BusEvent]) -> list[bool]:
        self.searchable.append([chunk.anchor for chunk in self.world.chunks("a")])
        return super().put(events)


def test_the_page_is_searchable_before_its_event_is_sent(world: World) -> None:
    world.bus = LookingBus(world)
    put(world)
    assert world.bus.searchable == [["rule-a", "tip-b"]]


def test_the_same_page_again_the_canary_and_another_index_version_are_no_news(world: World) -> None:
    put(world)
    put(world, "_sakuin/canary.html")
    told(world)
    put(world)
    world.queue.reindex(["a"], reason="learns.yml changed")
    world.queue.index_for("a", ["other"])
    work(world)
    assert told(world) == []
    assert send_missing(world) == 0
    # Nobody has heard of the first of two equal uploads.
    world.bus.down = True
    put(world, body=a_page({"rule-a": "新: 新しい文。"}))
    put(world, body=a_page({"rule-a": "新: 新しい文。"}))
    world.bus.down = False
    assert send_missing(world) == 1


@pytest.mark.scenario("knowledge-index/an-event-says-what-became-of-a-version")
def test_an_event_that_is_not_sent_delays_nothing_and_is_sent_a_minute_later(world: World) -> None:
    world.bus.down = True
    put(world)
    put(world, "b.html")
    assert world.state("b").status == "ready"
    world.bus.down = False
    assert send_missing(world, 0) == 0
    assert send_missing(world) == 2
    assert [(name, detail["material"]) for name, detail in told(world)] == [
        ("MaterialIndexed", "a"),
        ("MaterialIndexed", "b"),
    ]
    assert send_missing(world) == 0


def test_after_a_failure_a_worker_asks_the_bus_a_minute_later_again(world: World) -> None:
    attempts = []

    class Down(MemoryBus):
        def put(self, events: Sequence[BusEvent]) -> list[bool]:
            attempts.append(events)
            raise Unavailable("EventBridge does not answer")

    world.bus = Down()
    events = world.events
    for name in "abc":
        world.bucket.write(f"{name}.html", a_page(PAGE))
    for body in world.bucket.take_messages():
        event = read_event(json.loads(body))
        assert event is not None
        events.process(event, None)
    assert len(attempts) == 1


def test_a_page_that_changed_while_its_event_was_sent_gets_another_one(world: World) -> None:
    class Changing(MemoryBus):
        def put(self, events: Sequence[BusEvent]) -> list[bool]:
            world.put("a.html", a_page({"rule-a": "新: 新しい文。"}))
            return super().put(events)

    world.put("a.html", a_page(PAGE))
    time_passes(world.sql, A_MINUTE)
    changing = Changing()
    assert Announcements(world.client, lambda: changing).send_missing() == 1  # type: ignore[arg-type, return-value]
    assert send_missing(world) == 1
    ((_, detail),) = told(world)
    assert detail["version_id"] == world.state("a").indexed_version_id


MANY = """insert into material (material, bucket, key, sequencer, version_id, status, updated_at)
    select 'p' || to_char(n, 'FM0000'), 'b', 'p' || n, '1', 'v', 'ready', now() - interval '1 hour'
    from generate_series(1, %s) n"""


def test_many_are_sent_in_portions_and_rejected_ones_block_no_others(world: World) -> None:
    world.sql.execute(MANY, [250])
    world.bus.rejected = "p0007"
    assert world.maintenance.announce_pages() == 249
    assert world.maintenance.announce_pages() == 0
    world.bus.rejected = "nothing"
    assert world.maintenance.announce_pages() == 1
    assert len(told(world)) == 250


def test_a_slow_bus_takes_a_limited_time(world: World) -> None:
    world.sql.execute(MANY, [500])
    now = [0.0]

    class Slow(MemoryBus):
        def put(self, events: Sequence[BusEvent]) -> list[bool]:
            now[0] += 3.0
            return super().put(events)

    slow = Slow()
    announcements: Any = Announcements(world.client, lambda: slow, lambda: now[0])  # type: ignore[arg-type, return-value]
    assert announcements.send_missing() == 200
    assert replace(announcements, bus=lambda: world.bus).send_missing() == 300
