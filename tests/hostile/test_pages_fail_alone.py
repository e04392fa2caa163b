"""A page that cannot be read affects no other page."""

import pytest

from tests.builders import a_page
from tests.world import World, Worlds

GOOD = a_page({"rule-good": "良い: 文"})
BAD = [
    *(b"", b"\x00" * 100, b"%PDF-1.7", b"{}", b"\xff\xfe\x00", b"<meta charset=zip><p id=rule-a>x", b"just text"),
    *(b"<p>\xff</p>", b"<svg xmlns='x'/>", b"\x1f\x8b<p>", b"<p id=rule-x>" * 2001),
    b"<div id=rule-a>" + b"<b>" * 200_001,
]


def anchors(world: World, material: str) -> list[str]:
    return [chunk.anchor for chunk in world.chunks(material)]


@pytest.mark.parametrize("bad", BAD, ids=lambda data: ascii(data[:20]))
def test_a_bad_page_fails_alone_keeps_its_last_good_version_and_recovers(a_world: Worlds, bad: bytes) -> None:
    world = a_world()
    world.put("a.html", GOOD)
    world.put("b.html", GOOD)
    world.put("a.html", bad)
    world.put("c.html", GOOD)
    assert (world.state("a").status, bool(world.state("a").error)) == ("failed", True)
    assert [anchors(world, material) for material in "abc"] == [["rule-good"]] * 3
    world.put("d.html", bad)
    world.put("d.html", GOOD)
    assert (world.state("d").status, world.state("d").error, anchors(world, "d")) == ("ready", None, ["rule-good"])


def test_an_explanation_that_is_hidden_or_misnamed_costs_its_page_nothing(a_world: Worlds) -> None:
    world = a_world()
    boxes = "<p id='rule-a b'>空白</p><p id='rule-' >無名</p><p id='rule-x' hidden>密</p><p id='rule-#'>#</p>"
    world.put("a.html", f"<!DOCTYPE html><body>{boxes}<p id='rule-good'>文</p>".encode())
    assert anchors(world, "a") == ["rule-good"]


def test_validation_names_every_bad_page_and_checks_the_others(a_world: Worlds) -> None:
    world = a_world()
    for number, bad in enumerate(BAD):
        world.put(f"bad{number:02}.html", GOOD)
        world.put(f"bad{number:02}.html", bad)
    world.put("good.html", GOOD)
    findings, _ = world.library.findings(prefix="", after=None, strict=False, limit=50)
    unreadable = {finding.material for finding in findings if finding.rule == "unreadable-page"}
    assert unreadable == {f"bad{number:02}" for number in range(len(BAD))}
