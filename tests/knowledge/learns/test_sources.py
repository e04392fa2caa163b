"""Sources of `learns`, and pages that a changed file names."""

import pytest
from sakuin.knowledge.model import Learns

from tests.builders import a_page
from tests.doubles.learns_model import MemoryLearnsModel
from tests.worlds import World, Worlds

KEY = "junior/x.html"
PAGE = a_page({"rule-a": "解の公式: 係数を代入する。", "tip-b": "符号のコツ: 括弧をつける。"})
ITEMS = ("甲の方法", "乙の方法", "丙の方法")


def file(*items: str, material: str = "x", anchor: str = "rule-a") -> bytes:
    lines = "".join(f"    - {item}\n" for item in items)
    return f"{material}:\n  {anchor}:\n{lines}".encode()


def learns(world: World, anchor: str = "rule-a", material: str = "junior/x") -> Learns:
    return next(chunk.learns for chunk in world.chunks(material) if chunk.anchor == anchor)


@pytest.mark.parametrize("key", ["learns.yml", "junior/learns.yml"])
@pytest.mark.parametrize("name", ["x", "junior/x"])
def test_an_author_s_list_is_taken_from_the_page_s_folder_or_any_parent(world: World, key: str, name: str) -> None:
    world.put(key, file(*ITEMS, material=name))
    world.put(KEY, PAGE)
    assert learns(world) == Learns(ITEMS, "author", ITEMS)
    assert learns(world, "tip-b").source == "rules"


def test_the_nearest_file_wins_anchor_by_anchor(world: World) -> None:
    world.put("learns.yml", file("遠い方法", "遠い手順", "遠い計算") + b"  tip-b: [a, b, c]\n")
    world.put("junior/learns.yml", file(*ITEMS))
    world.put(KEY, PAGE)
    assert learns(world).items == ITEMS
    assert learns(world, "tip-b").source == "author"


@pytest.mark.parametrize(("given", "count"), [(1, 3), (4, 4), (7, 5)])
def test_the_stored_list_has_three_to_five_items_whatever_the_author_gave(world: World, given: int, count: int) -> None:
    items = tuple(f"方法{number}を使う手順" for number in range(given))
    world.put("learns.yml", file(*items))
    world.put(KEY, PAGE)
    found = learns(world)
    assert (len(found.items), found.given) == (count, items)
    assert found.items[: min(given, 5)] == items[:5]


def test_an_uploaded_file_reaches_the_pages_it_names_and_no_others(world: World) -> None:
    world.put(KEY, PAGE)
    world.put("junior/y.html", PAGE)
    version = world.put("learns.yml", file(*ITEMS))
    assert learns(world).items == ITEMS
    assert [one.material for one in world.queue.asked] == ["junior/x"]
    assert world.upload_result("learns.yml", version).outcome == "applied"


def test_a_broken_file_is_reported_and_leaves_the_pages_alone(world: World) -> None:
    world.put("learns.yml", file(*ITEMS))
    world.put(KEY, PAGE)
    asked, chunks = len(world.queue.asked), world.chunks()
    broken = world.put("learns.yml", b"x: [unclosed")
    result = world.upload_result("learns.yml", broken)
    assert (result.outcome, "line" in (result.reason or "")) == ("failed", True)
    assert (len(world.queue.asked), world.chunks()) == (asked, chunks)


def test_a_page_uploaded_beside_a_broken_file_gets_a_written_list(world: World) -> None:
    world.put("learns.yml", b"x: [unclosed")
    version = world.put(KEY, PAGE)
    assert world.upload_result(KEY, version).outcome == "applied"
    assert learns(world).source == "rules"


def test_skipped_entries_are_in_the_result_of_the_learns_file(world: World) -> None:
    version = world.put("learns.yml", file(*ITEMS) + b"  no anchor: [a]\n")
    assert "no anchor" in (world.upload_result("learns.yml", version).reason or "")


def test_a_model_writes_what_no_author_gave_and_is_asked_once_for_the_same_text(a_world: Worlds) -> None:
    model = MemoryLearnsModel({"rule-a": ("一の方法", "二の方法", "三の方法"), "tip-b": ITEMS})
    world = a_world(model=model)
    world.put("learns.yml", file(*ITEMS))
    world.put(KEY, PAGE)
    world.ask_model()
    world.put("junior/copy.html", a_page({"tip-b": "符号のコツ: 括弧をつける。"}))
    assert (learns(world).source, learns(world, "tip-b")) == ("author", Learns(ITEMS, "model"))
    assert learns(world, "tip-b", "junior/copy") == Learns(ITEMS, "model")
    assert model.groups == [("tip-b",)]


def test_what_a_model_left_out_is_written(a_world: Worlds) -> None:
    world = a_world(model=MemoryLearnsModel({"rule-a": ("一の方法",)}))
    world.put(KEY, PAGE)
    world.ask_model()
    assert (learns(world).source, len(learns(world).items)) == ("model", 3)
    assert learns(world, "tip-b").source == "rules"
    assert world.ask_model() == []
