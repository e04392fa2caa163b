"""Events of the bucket, and the index after them."""

import unicodedata

from sakuin.knowledge.messages import ReindexMaterial

from tests.builders import a_page
from tests.worlds import World, Worlds

KEY = "junior/二次方程式の解き方_教材.html"
MATERIAL = "junior/二次方程式の解き方_教材"
ONE = a_page({"rule-a": "解の公式: 一の版。"})
TWO = a_page({"rule-a": "解の公式: 二の版。"})


def text(world: World, material: str = MATERIAL) -> str:
    """Returns what is searchable of a material."""
    return "".join(chunk.content for chunk in world.chunks(material))


def test_what_is_no_page_is_ignored(world: World) -> None:
    for key in ("css/site.css", "junior/", ".html", "a.HTML", "junior/.html"):
        world.bucket.write(key, b"body {}")
    assert all(done.reason for done in world.settle())
    assert world.materials() == []


def test_keys_outside_the_prefix_are_ignored_and_inside_it_is_cut_off(a_world: Worlds) -> None:
    world = a_world(prefix="site/")
    world.put("site/a.html", ONE)
    world.put("other/b.html", ONE)
    assert world.materials() == ["a"]


def test_a_version_that_is_gone_was_superseded(world: World) -> None:
    version = world.bucket.write(KEY, ONE)
    (message,) = world.bucket.take_messages()
    world.bucket.remove_version(KEY, version)
    assert world.deliver(message).reason
    assert world.upload_result(KEY, version).outcome == "superseded"


def test_removing_a_noncurrent_version_is_no_deletion(world: World) -> None:
    old = world.put(KEY, ONE)
    world.put(KEY, TWO)
    world.bucket.remove_version(KEY, old)
    (done,) = world.settle()
    assert done.reason
    assert "二の版" in text(world)


def test_removing_an_unreadable_current_version_makes_the_page_ready_again(world: World) -> None:
    world.put(KEY, ONE)
    bad = world.put(KEY, b"%PDF-1.7")
    world.bucket.remove_version(KEY, bad)
    world.settle()
    state = world.index.state(MATERIAL)
    assert state is not None
    assert (state.status, state.error) == ("ready", None)
    assert "一の版" in text(world)


def test_a_waiting_key_that_lost_its_newest_version_comes_with_the_one_before(world: World) -> None:
    nfc, nfd = "がぎ.html", unicodedata.normalize("NFD", "がぎ.html")
    world.put(nfc, ONE)
    world.put(nfd, TWO)
    newest = world.put(nfd, ONE)
    world.bucket.remove_version(nfd, newest)
    world.settle()
    world.bucket.remove(nfc)
    world.settle()
    assert "二の版" in text(world, "がぎ")


def test_a_page_that_was_asked_for_again_is_applied_from_its_indexed_version(world: World) -> None:
    world.put(KEY, ONE)
    generation = world.state(MATERIAL).generation
    done = world.process(ReindexMaterial(material=MATERIAL, reason="new model"))
    assert done.applied is not None
    assert done.applied.outcome == "applied"
    assert world.state(MATERIAL).generation == generation + 1


def test_asking_again_after_a_newer_upload_does_not_bring_back_the_old(world: World) -> None:
    world.put(KEY, ONE)
    world.bucket.write(KEY, TWO)
    (newer,) = world.bucket.take_messages()
    world.process(ReindexMaterial(material=MATERIAL, reason="new model"))
    world.deliver(newer)
    world.process(ReindexMaterial(material=MATERIAL, reason="new model"))
    assert "二の版" in text(world)


def test_asking_again_for_what_is_gone_or_unknown_is_ignored(world: World) -> None:
    world.put(KEY, ONE)
    world.bucket.remove(KEY)
    world.settle()
    assert world.process(ReindexMaterial(material=MATERIAL, reason="new model")).reason
    assert world.process(ReindexMaterial(material="never/heard", reason="new model")).reason
    assert world.chunks() == []


def test_asking_again_keeps_a_failed_page_failed_and_its_good_version_searchable(world: World) -> None:
    world.put(KEY, ONE)
    world.put(KEY, b"%PDF-1.7")
    world.process(ReindexMaterial(material=MATERIAL, reason="new model"))
    assert world.state(MATERIAL).status == "failed"
    assert "一の版" in text(world)


# ---------------------------------------------------------------- reset sequencers and lost events


def recheck(world: World, key: str) -> None:
    world.queue.recheck([key], reason="test")
    world.settle()


def test_an_upload_after_a_reset_of_the_sequencers_is_applied(world: World) -> None:
    for _ in range(5):
        world.put(KEY, ONE)
    world.bucket.begin_anew()
    version = world.put(KEY, TWO)
    assert "二の版" in text(world)
    assert world.upload_result(KEY, version).outcome == "applied"
    assert "一の版" in (world.put(KEY, ONE) and text(world))


def test_a_recheck_of_what_is_right_changes_nothing(world: World) -> None:
    world.put(KEY, ONE)
    before = world.state(MATERIAL)
    recheck(world, KEY)
    recheck(world, "junior/never.html")
    assert world.records.materials(with_new=True) == ([before], None)


def test_a_recheck_of_a_learns_file_asks_for_its_pages(world: World) -> None:
    world.put(KEY, ONE)
    learns = "二次方程式の解き方_教材: {rule-a: [公式で解く方法]}"
    version = world.bucket.write("junior/learns.yml", learns.encode())
    world.bucket.forget_messages()
    recheck(world, "junior/learns.yml")
    assert world.followed_files() == {"junior/learns.yml": version}
    assert "公式で解く方法" in world.chunks(MATERIAL)[0].learns.items
