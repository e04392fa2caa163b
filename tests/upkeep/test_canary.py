"""The canary: indexed like every page, found by its question, and not by agents."""

from dataclasses import dataclass, replace
from itertools import cycle

import pytest
from sakuin.errors import Unavailable
from sakuin.knowledge.model import EVERYTHING
from sakuin.knowledge.search import KnowledgeAnswer
from sakuin.upkeep.canary import CANARY_KEY, CANARY_MATERIAL, Canary, ask_for_canary, canary_page

from tests.builders import a_page
from tests.doubles.learns_model import MemoryLearnsModel
from tests.worlds import World, Worlds


@dataclass
class Clock:
    """A clock that only sleeping moves."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with one page."""
    world = a_world(prefix="site/")
    world.put("site/数.html", a_page({"rule-a": "加法: 足し算の規則。"}))
    return world


def canary(world: World, clock: Clock, *, indexer_works: bool = True) -> Canary:
    """Returns a canary during whose sleep the indexer works."""

    def sleep(seconds: float) -> None:
        clock.now += seconds
        if indexer_works:
            world.settle()

    def ask(token: str) -> str | None:
        clock.now += 0.5
        return ask_for_canary(world, token)

    return Canary(world.bucket, world.records, ask, world.prefix, tokens.__next__, clock, sleep)


tokens = cycle(["qwertzuiop", "yxcvbnmasd", "fghjklqwer"])


def search(world: World) -> KnowledgeAnswer:
    return world.search("What does the rule of qwertzuiop say?", top_k=50)


def found(world: World) -> list[str]:
    return [hit.id for hit in search(world).results]


def test_the_canary_is_found_and_deleted(world: World) -> None:
    clock, before = Clock(), search(world)
    seen = canary(world, clock).run()
    assert (seen.arrived, seen.found, seen.milliseconds, seen.reason) == (True, True, 700, None)
    assert world.bucket.current_version(f"site/{CANARY_KEY}") is None
    world.settle()
    assert search(world).results == before.results
    assert [state.material for state in world.records.materials()[0]] == ["数"]


def test_the_canary_leaves_no_vector(world: World) -> None:
    def vectors() -> int:
        ((count,),) = world.sql.execute("select count(*) from knowledge_vector")
        return int(count)

    before = vectors()
    world.put(f"site/{CANARY_KEY}", canary_page("qwertzuiop"))
    world.put(f"site/{CANARY_KEY}", canary_page("yxcvbnmasd"))
    assert vectors() == before + 1
    world.bucket.remove(f"site/{CANARY_KEY}")
    world.settle()
    assert vectors() == before


def test_agents_do_not_find_the_canary(world: World) -> None:
    before = found(world), world.read.concepts(EVERYTHING, None)
    world.put(f"site/{CANARY_KEY}", canary_page("qwertzuiop"))
    assert world.state(CANARY_MATERIAL).status == "ready"
    assert len(world.chunks(CANARY_MATERIAL)) == 1
    assert (found(world), world.read.concepts(EVERYTHING, None)) == before
    assert ask_for_canary(world, "qwertzuiop") is None


def test_an_answer_of_an_older_text_or_by_words_alone_is_not_enough(world: World) -> None:
    world.put(f"site/{CANARY_KEY}", canary_page("qwertzuiop"))
    assert ask_for_canary(world, "fghjklqwer") == "the search found an older version"
    world.embedder.down = True
    assert ask_for_canary(world, "qwertzuiop")


def test_the_language_model_is_not_asked_for_it(a_world: Worlds) -> None:
    model = MemoryLearnsModel()
    world = a_world(model=model)
    world.put(CANARY_KEY, canary_page("qwertzuiop"))
    assert (world.ask_model(), model.asked) == ([], 0)


def test_the_canary_stops_waiting_before_the_function_ends(world: World) -> None:
    clock = Clock()
    seen = canary(world, clock, indexer_works=False).run()
    assert (seen.arrived, seen.found, seen.reason) == (False, False, "the page is not indexed")
    assert 60_000 < seen.milliseconds < 100_000
    assert world.bucket.current_version(f"site/{CANARY_KEY}") is None


def test_a_function_that_does_not_answer_is_a_reason(world: World) -> None:
    clock = Clock()
    bird = canary(world, clock)

    def away(_token: str) -> str | None:
        raise Unavailable("The function mcp did not answer", vendor="lambda")

    seen = replace(bird, ask=away).run()
    assert (seen.arrived, seen.found, seen.reason) == (True, False, "The function mcp did not answer")
