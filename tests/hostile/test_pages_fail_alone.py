"""A page that cannot be read affects no other page."""

import pytest
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.page_reader import read_page

from tests.builders import a_page
from tests.worlds import World, Worlds

GOOD = a_page({"rule-good": "良い: 文"})
BAD = [
    *(b"", b"\x00" * 100, b"%PDF-1.7", b"{}", b"\xff\xfe\x00", b"<meta charset=zip><p id=rule-a>x", b"just text"),
    *(b"<p>\xff</p>", b"<svg xmlns='x'/>", b"\x1f\x8b<p>", b"<p id=rule-x>" * 2001),
]


def anchors(world: World, material: str) -> list[str]:
    return [chunk.anchor for chunk in world.chunks(material)]


@pytest.mark.parametrize("bad", BAD, ids=lambda data: ascii(data[:20]))
def test_a_bad_page_is_refused_with_a_reason(bad: bytes) -> None:
    with pytest.raises(UnreadablePage, match=r"^[A-Z].+\.$"):
        read_page(bad)


def test_bad_pages_fail_alone_are_named_keep_their_last_good_version_and_recover(a_world: Worlds) -> None:
    world = a_world()
    names = [f"bad{number:02}" for number in range(len(BAD))]
    for name, bad in zip(names, BAD, strict=True):
        world.put(f"{name}.html", GOOD)
        world.put(f"{name}.html", bad)
    world.put("new.html", BAD[0])
    world.put("good.html", GOOD)
    for name in [*names, "new"]:
        assert (world.state(name).status, bool(world.state(name).error)) == ("failed", True)
    assert [anchors(world, name) for name in (*names, "good", "new")] == [["rule-good"]] * (len(BAD) + 1) + [[]]
    findings, _ = world.library.findings(prefix="", after=None, strict=False, limit=50)
    assert {found.material for found in findings if found.rule == "unreadable-page"} == {*names, "new"}
    for name in (names[0], "new"):
        world.put(f"{name}.html", GOOD)
        assert (world.state(name).status, world.state(name).error, anchors(world, name)) == (
            "ready",
            None,
            ["rule-good"],
        )


def test_an_explanation_that_is_hidden_or_misnamed_costs_its_page_nothing(a_world: Worlds) -> None:
    world = a_world()
    boxes = "<p id='rule-a b'>空白</p><p id='rule-' >無名</p><p id='rule-x' hidden>密</p><p id='rule-#'>#</p>"
    world.put("a.html", f"<!DOCTYPE html><body>{boxes}<p id='rule-good'>文</p>".encode())
    assert anchors(world, "a") == ["rule-good"]
