"""Other settings build another index beside the one that answers; its keepers flip to it, and back."""

from dataclasses import dataclass, field, replace

import pytest
from sakuin.errors import Conflict, NotFound
from sakuin.retrieval.index_version import find_version
from sakuin.upkeep.build_indexes import BuildIndexVersions, BuildResult
from sakuin.upkeep.index_versions import IndexVersionAdmin

from tests.builders import a_page
from tests.world import SETTINGS, World, Worlds

OTHER = replace(SETTINGS, model=replace(SETTINGS.model, query_prefix="query: ", passage_prefix="passage: "))
FORMULA = {"rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。"}
SQUARE = {"rule-square": "平方完成: x の係数の半分の2乗を足して引きます。"}


@dataclass
class NoTables:
    """`TableQueues` that nobody asks anything of."""

    asked: list[str] = field(default_factory=list)

    def index(self, project_id: str, table_id: str, **_how: object) -> None:
        raise AssertionError

    def embed(self, project_id: str, table_id: str, batches: object) -> None:
        raise AssertionError


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A deployment with two pages, whose first index answers."""
    world = a_world()
    built(world)
    world.put("a.html", a_page(FORMULA))
    world.put("b.html", a_page(SQUARE))
    return world


def built(world: World, *, flips: bool = False) -> BuildResult:
    """One run of the schedule."""
    return BuildIndexVersions(world.indexes, world.settings, world.queue, lambda _name: NoTables(), flips)()


def best(world: World, query: str = "二次方程式を解く公式") -> tuple[str, float]:
    hit = world.search(query).results[0]
    return hit.id, hit.similarity


def keepers(world: World) -> IndexVersionAdmin:
    return IndexVersionAdmin(world.indexes, world.settings.__eq__)


def test_nothing_is_asked_for_while_the_settings_stay(world: World) -> None:
    assert built(world) == BuildResult(pages=0, tables=0, swept=0, flipped=None)


def test_searches_answer_as_before_until_the_flip_whatever_of_the_next_index_is_there(world: World) -> None:
    before = best(world)
    world.settings = OTHER
    assert built(world).pages == 2
    assert built(world).pages == 0
    for body in world.queue.take_messages():
        world.deliver(body)
        assert best(world) == before
    assert keepers(world).flip("next").settings == OTHER
    assert best(world)[0] == before[0]
    assert world.search.version == OTHER.knowledge


def test_an_edit_meanwhile_is_found_by_whom_the_old_index_answers_and_after_the_flip(world: World) -> None:
    world.settings = OTHER
    built(world)
    world.put("a.html", a_page({"rule-formula": "三平方の定理: 斜辺の2乗は他の2辺の2乗の和です。"}))
    assert best(world, "斜辺の2乗")[0] == "a#rule-formula"
    assert keepers(world).flip(OTHER.id).live
    assert best(world, "斜辺の2乗")[0] == "a#rule-formula"
    assert keepers(world).flip(SETTINGS.id).live
    assert best(world, "斜辺の2乗")[0] == "a#rule-formula"


def test_what_answers_does_not_wait_for_a_model_that_only_the_next_index_needs(world: World) -> None:
    world.settings = OTHER
    built(world)
    world.settle()
    world.embedder_of(OTHER.model).down = True
    world.put("a.html", a_page({"rule-formula": "三平方の定理: 斜辺の2乗は他の2辺の2乗の和です。"}))
    assert best(world, "斜辺の2乗")[0] == "a#rule-formula"
    with pytest.raises(Conflict, match="is incomplete"):
        keepers(world).flip("next")
    world.embedder_of(OTHER.model).down = False
    assert world.indexes.pages_to_build(OTHER.recipe, seconds=0, limit=9) == ["a"]


def test_an_index_that_never_answered_does_once_it_is_whole_where_that_is_wanted(world: World) -> None:
    world.settings = OTHER
    assert built(world, flips=True).flipped is None
    world.settle()
    assert built(world, flips=True).flipped == OTHER.id
    keepers(world).flip(SETTINGS.id)
    assert built(world, flips=True).flipped is None
    assert find_version(world.indexes.kept(), None).settings == SETTINGS


def test_the_deployed_settings_index_is_not_dropped_for_it_would_be_built_again(world: World) -> None:
    world.settings = OTHER
    built(world)
    with pytest.raises(Conflict, match="Deploy other settings first"):
        keepers(world).drop("next")
    world.settings = SETTINGS
    assert keepers(world).drop("next") == OTHER.id
    with pytest.raises(NotFound):
        keepers(world).flip("next")
