"""The record of a page after its last failure."""

import pytest
from sakuin.knowledge.messages import BucketEvent, ObjectRemoved, ObjectWritten, RecheckKey, ReindexMaterial
from sakuin.knowledge.model import Source, padded

from tests.builders import a_page
from tests.worlds import World, Worlds

FORMULA = {"rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。"}


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with one page."""
    world = a_world()
    world.put("junior/x.html", a_page(FORMULA))
    return world


def next_version(key: str = "junior/x.html") -> Source:
    return Source("bucket", key, "version-2", padded("FF"))


def give_up(world: World, event: BucketEvent, reason: str = "It failed") -> None:
    world.events.give_up(event, reason)


def test_the_material_is_marked_failed_and_stays_searchable(world: World) -> None:
    give_up(world, ObjectWritten(next_version()), "The embedding service refused the request")
    row = world.state("junior/x")
    assert row.status == "failed"
    assert row.error == (
        "The embedding service refused the request. "
        "Its message is a dead letter: `sakuin redrive` shows it and sends it again."
    )
    assert row.indexed_version_id == "version-1"
    assert set(world.records.indexed_materials(["junior/x"])) == {"junior/x"}


@pytest.mark.parametrize(
    "event",
    [
        *(ObjectWritten(next_version()), ObjectRemoved(next_version(), marker=True)),
        # A file that is no page.
        ObjectWritten(next_version("learns.yml")),
    ],
)
def test_the_version_gets_a_failed_result(world: World, event: ObjectWritten | ObjectRemoved) -> None:
    give_up(world, event)
    (result,) = world.records.upload_results([(event.source.key, "version-2")])
    assert (result.outcome, str(result.reason)[:9]) == ("failed", "It failed")


def test_an_overtaken_version_and_a_reindex_without_one_change_nothing(world: World) -> None:
    give_up(world, ObjectWritten(Source("bucket", "junior/x.html", "version-0", padded("0"))))
    give_up(world, ReindexMaterial(material="junior/x", reason="a new model"))
    assert world.state("junior/x").status == "ready"


def recheck(key: str = "junior/x.html") -> RecheckKey:
    return RecheckKey(key=key, reason="reconcile")


def test_a_recheck_that_failed_is_recorded_for_the_version_that_the_bucket_holds(world: World) -> None:
    world.bucket.write("junior/x.html", a_page({"rule-a": "別の公式: 係数を比べる。"}))
    version = world.bucket.write("junior/y.html", a_page(FORMULA))
    world.bucket.forget_messages()
    for key in ("junior/x.html", "junior/y.html"):
        give_up(world, recheck(key))
    row = world.state("junior/x")
    assert (row.status, row.indexed_version_id, str(row.error)[:9]) == ("failed", "version-1", "It failed")
    assert (world.state("junior/y").status, world.state("junior/y").source.version_id) == ("failed", version)
    assert world.night() == []


def test_a_recheck_of_what_is_known_or_gone_changes_nothing(world: World) -> None:
    give_up(world, recheck())
    assert world.state("junior/x").status == "ready"
    world.bucket.remove("junior/x.html")
    give_up(world, recheck())
    give_up(world, recheck("learns.yml"))
    (results,) = world.rows("upload_result")
    assert world.state("junior/x").status == "ready"
    assert [row[:2] for row in results] == [("junior/x.html", "version-1")]
