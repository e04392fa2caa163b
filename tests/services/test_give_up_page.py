"""What failed for the last time is said where people look, and takes nothing away."""

import pytest
from sakuin.domain.material import material_of_key
from sakuin.domain.material_version import Source, padded
from sakuin.domain.work import About
from sakuin.services.give_up_page import GiveUpPage

from tests.builders import a_page
from tests.in_memory.world import World

FORMULA = {"rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。"}


@pytest.fixture
def world() -> World:
    """One page, whose next version nobody can index."""
    world = World()
    world.put("junior/x.html", a_page(FORMULA))
    return world


def next_version(key: str = "junior/x.html") -> Source:
    return Source("bucket", key, "version-2", padded("FF"))


def test_the_material_says_so_and_stays_searchable(world: World) -> None:
    GiveUpPage(world.index, "", world.bucket)(
        About("junior/x", next_version()), "The embedding service refused the request"
    )
    row = world.index.rows["junior/x"]
    assert row.status == "failed"
    assert row.error == (
        "The embedding service refused the request. "
        "Its message is a dead letter: `sakuin redrive` shows it and sends it again."
    )
    assert row.indexed_version_id == "version-1"
    assert set(world.records.indexed(["junior/x"])) == {"junior/x"}


def test_whoever_waits_for_the_version_hears_it(world: World) -> None:
    source = next_version()
    GiveUpPage(world.index, "", world.bucket)(About("junior/x", source), "It failed")
    (receipt,) = world.records.receipts([(source.key, "version-2")])
    assert (receipt.outcome, str(receipt.reason)[:9]) == ("failed", "It failed")


def test_a_file_that_is_no_page_has_its_receipt(world: World) -> None:
    GiveUpPage(world.index, "", world.bucket)(About("learns.yml", next_version("learns.yml")), "It failed")
    (receipt,) = world.records.receipts([("learns.yml", "version-2")])
    assert receipt.outcome == "failed"


def test_what_a_newer_version_has_overtaken_changes_nothing(world: World) -> None:
    old = Source("bucket", "junior/x.html", "version-0", padded("0"))
    GiveUpPage(world.index, "", world.bucket)(About("junior/x", old), "It failed")
    assert world.index.rows["junior/x"].status == "ready"


def test_what_no_upload_caused_is_told_by_its_row_alone(world: World) -> None:
    GiveUpPage(world.index, "", world.bucket)(About("junior/x"), "It failed")
    assert world.index.rows["junior/x"].status == "ready"


def looked_at(key: str = "junior/x.html") -> About:
    return About(material_of_key(key) or key, Source("", key, None, ""))


def test_a_look_that_failed_is_said_of_the_version_that_the_bucket_holds(world: World) -> None:
    world.bucket.write("junior/x.html", a_page({"rule-a": "別の公式: 係数を比べる。"}))
    version = world.bucket.write("junior/y.html", a_page(FORMULA))
    world.bucket.forget_messages()
    give_up = GiveUpPage(world.index, "", world.bucket)
    for key in ("junior/x.html", "junior/y.html"):
        give_up(looked_at(key), "It failed")
    row = world.index.rows["junior/x"]
    assert (row.status, row.indexed_version_id, str(row.error)[:9]) == ("failed", "version-1", "It failed")
    assert (world.index.rows["junior/y"].status, world.index.rows["junior/y"].source.version_id) == ("failed", version)
    assert world.reconcile(whole=True).differences == []


def test_a_look_at_what_is_known_or_gone_changes_nothing(world: World) -> None:
    give_up = GiveUpPage(world.index, "", world.bucket)
    give_up(looked_at(), "It failed")
    assert world.index.rows["junior/x"].status == "ready"
    world.bucket.remove("junior/x.html")
    give_up(looked_at(), "It failed")
    give_up(looked_at("learns.yml"), "It failed")
    assert (world.index.rows["junior/x"].status, world.index.receipts.keys()) == (
        "ready",
        {("junior/x.html", "version-1")},
    )
