"""Building the index of changed settings beside the live one, and activating it."""

from dataclasses import replace

import pytest
from sakuin.errors import Conflict, NotFound, Unavailable
from sakuin.upkeep.index_versions import BuildResult, IndexVersionAdmin
from sakuin.wiring import maintain

from tests.builders import a_page
from tests.convergence.passing import AN_HOUR, time_passes
from tests.worlds import SETTINGS, World, Worlds

OTHER = replace(SETTINGS, model=replace(SETTINGS.model, query_prefix="query: ", passage_prefix="passage: "))
FORMULA = {"rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。"}
SQUARE = {"rule-square": "平方完成: x の係数の半分の2乗を足して引きます。"}


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A deployment with two pages and one live index version."""
    world = a_world()
    built(world)
    world.put("a.html", a_page(FORMULA))
    world.put("b.html", a_page(SQUARE))
    return world


def built(world: World) -> BuildResult:
    """Runs the schedule once."""
    return maintain.building(world.clients)()


def best(world: World, query: str = "二次方程式を解く公式") -> tuple[str, float]:
    hit = world.search(query).results[0]
    return hit.id, hit.similarity


def admin(world: World) -> IndexVersionAdmin:
    return IndexVersionAdmin(world.indexes, world.settings)


def test_unchanged_settings_build_nothing(world: World) -> None:
    assert built(world) == BuildResult(pages=0, swept=0)


def test_searches_answer_as_before_until_activation(world: World) -> None:
    before = best(world)
    world.settings = OTHER
    assert built(world).pages == 2
    assert built(world).pages == 0
    while messages := world.queue.take_messages():
        for body in messages:
            world.deliver(body)
            assert best(world) == before
    assert admin(world).activate("next").settings == OTHER
    assert best(world)[0] == before[0]
    assert world.search.pages(None).version == OTHER.pages


def test_the_live_index_does_not_wait_for_the_model_of_the_next(world: World) -> None:
    world.settings = OTHER
    built(world)
    world.settle()
    world.embedder_of(OTHER.model).down = True
    with pytest.raises(Unavailable):
        # The message for the next one fails, after the page was indexed.
        world.put("a.html", a_page({"rule-formula": "三平方の定理: 斜辺の2乗は他の2辺の2乗の和です。"}))
    assert best(world, "斜辺の2乗")[0] == "a#rule-formula"
    with pytest.raises(Conflict, match="is incomplete"):
        admin(world).activate("next")
    world.embedder_of(OTHER.model).down = False
    # Its message is lost; until that is certain the page is not asked for again.
    assert world.indexes.pages_to_build(OTHER.text_template, seconds=0, limit=9) == []
    time_passes(world.sql, AN_HOUR)
    assert world.indexes.pages_to_build(OTHER.text_template, seconds=0, limit=9) == ["a"]


def test_the_index_of_the_deployed_settings_is_not_dropped(world: World) -> None:
    world.settings = OTHER
    built(world)
    with pytest.raises(Conflict, match="Deploy others first"):
        admin(world).delete("next")
    world.settings = SETTINGS
    assert admin(world).delete("next") == OTHER.id
    with pytest.raises(NotFound):
        admin(world).activate("next")
