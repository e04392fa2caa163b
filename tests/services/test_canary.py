"""The canary takes the way of every page, and leaves nothing that an agent could find."""

from dataclasses import dataclass, field

import pytest
from sakuin.services.canary import CANARY_KEY, Canary
from sakuin.services.search_knowledge import KnowledgeAnswer

from tests.builders import a_page
from tests.world import World, Worlds


@dataclass
class Clock:
    """Time that passes only by sleeping; `wakes` happens in each sleep."""

    now: float = 0.0
    wakes: list[object] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with one page."""
    world = a_world(prefix="site/")
    world.put("site/数.html", a_page({"rule-a": "加法: 足し算の規則。"}))
    return world


def canary(world: World, clock: Clock, *, indexer_works: bool = True) -> Canary:
    """A canary whose sleep lets the indexer do what waits in its queue."""

    def sleep(seconds: float) -> None:
        clock.now += seconds
        if indexer_works:
            world.settle()

    return Canary(world.bucket, world.records, world.prefix, clock, sleep)


def search(world: World) -> KnowledgeAnswer:
    return world.search("Nothing is explained here. Canary", top_k=50)


def test_an_index_that_follows_is_seen_and_the_page_is_gone_afterwards(world: World) -> None:
    clock, before = Clock(), (search(world), world.embedder.calls)
    seen = canary(world, clock)()
    assert (seen.arrived, seen.milliseconds) == (True, 200)
    assert world.bucket.current_version(f"site/{CANARY_KEY}") is None
    world.settle()
    assert (search(world), world.embedder.calls) == before
    assert [state.material for state in world.records.materials().items] == ["数"]


def test_while_it_is_there_no_agent_finds_it_and_nothing_was_embedded(world: World) -> None:
    clock, before = Clock(), (search(world), world.embedder.calls)
    world.put(f"site/{CANARY_KEY}", b"<!doctype html><html><body><p>Nothing is explained here.</p></body></html>")
    assert world.state("_sakuin/canary").status == "ready"
    assert (search(world), world.embedder.calls) == before
    assert canary(world, clock)().arrived


def test_an_index_that_does_not_follow_is_given_up_before_the_function_ends(world: World) -> None:
    clock = Clock()
    seen = canary(world, clock, indexer_works=False)()
    assert not seen.arrived
    assert 60_000 < seen.milliseconds < 100_000
    assert world.bucket.current_version(f"site/{CANARY_KEY}") is None


def test_a_page_that_is_refused_at_once_counts_as_late(a_world: Worlds) -> None:
    world = a_world(max_page_bytes=10)
    seen = canary(world, Clock())()
    assert not seen.arrived
    assert seen.milliseconds > 60_000


def test_it_sings_again_after_it_was_removed(world: World) -> None:
    for _ in range(3):
        assert canary(world, Clock())().arrived
        world.settle()
