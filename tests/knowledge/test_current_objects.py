"""Reset sequencers and lost events: the index ends at the state of the bucket."""

import unicodedata

import pytest

from tests.builders import a_page
from tests.worlds import World, Worlds

KEY, MATERIAL = "junior/a.html", "junior/a"
NFC, NFD = "junior/が.html", unicodedata.normalize("NFD", "junior/が.html")


def page(words: str) -> bytes:
    return a_page({"rule-a": f"解の公式: {words}。"})


def text(world: World, material: str = MATERIAL) -> str:
    return "".join(chunk.content for chunk in world.chunks(material))


@pytest.fixture
def world(a_world: Worlds) -> World:
    return a_world()


def recheck(world: World, key: str) -> None:
    world.queue.recheck([key], reason="test")
    world.settle()


def killed(world: World) -> None:
    """Resets the sequencers after the page was written often."""
    for number in range(5):
        world.put(KEY, page(f"前の{number}"))
    world.bucket.begin_anew()


def test_an_upload_after_a_reset_of_the_sequencers_is_applied(world: World) -> None:
    killed(world)
    version = world.put(KEY, page("新しい"))
    assert "新しい" in text(world)
    assert world.receipt(KEY, version).outcome == "applied"
    assert "次" in (world.put(KEY, page("次")) and text(world))


def test_a_recheck_of_what_is_right_changes_nothing(world: World) -> None:
    world.put(KEY, page("一"))
    before = world.state(MATERIAL)
    recheck(world, KEY)
    recheck(world, "junior/never.html")
    assert (world.materials(), world.state(MATERIAL)) == ([MATERIAL], before)


def test_a_recheck_of_a_learns_file_asks_for_its_pages(world: World) -> None:
    world.put(KEY, page("一"))
    version = world.bucket.write("junior/learns.yml", "a:\n  rule-a: [公式で解く方法]\n".encode())
    world.bucket.forget_messages()
    recheck(world, "junior/learns.yml")
    assert world.followed_files() == {"junior/learns.yml": version}
    assert "公式で解く方法" in world.chunks(MATERIAL)[0].learns.items
