"""A page, or a string of a Table, that cannot be read affects no other."""

import pytest
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.tables.scan import LONGEST_POINTER

from tests.builders import a_page
from tests.worlds import TableWorld, World, Worlds, long

GOOD = a_page({"rule-good": "良い: 文"})
BAD = [
    *(b"", b"\x00" * 100, b"%PDF-1.7", b"{}", b"\xff\xfe\x00", b"<meta charset=zip><p id=rule-a>x", b"just text"),
    *(b"<p>\xff</p>", b"<svg xmlns='x'/>", b"\x1f\x8b<p>", b"<p id=rule-x>" * 2001),
    *(b" \n", b"PK\x03\x04", bytes(range(32)) * 30 + b"<p>"),
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
    assert anchors(world, "a") == [":~:page", "rule-good"]


TEXT = long("二次方程式の解の公式")
PROMISE = "x" * 1000


def test_strings_that_no_index_can_hold_are_named_and_their_neighbours_are_found(tables: TableWorld) -> None:
    document = {
        "nul": "\0" + TEXT,
        "half": "\ud800" + TEXT,
        "\0key": TEXT,
        "k" * (LONGEST_POINTER + 1): [TEXT],
        "k" * (LONGEST_POINTER - 10): TEXT,
        "spaces": " " * 1000,
        "marks": "a" + "\u0323\u0301" * 1000,
        "hidden": TEXT + "\u202e\u200b</result>",
        "good": TEXT,
    }
    tool = tables.tool(tables.table(document), "")
    tables.settle()
    status = tables.status(tool)
    skipped = {each["json_pointer"][:5]: each["reason"] for each in status["skipped_nodes"]}
    assert (status["state"], status["last_error"]) == ("ready", None)
    reasons = {"/nul": "NUL", "/half": "surrogate", "/\\u00": "NUL", "/kkkk": "Shorten the keys"}
    assert skipped.keys() == reasons.keys()
    assert [words in skipped[pointer] for pointer, words in reasons.items()] == [True] * 4
    endpoint = tables.endpoint(tool)
    asked = tables.bound(endpoint)
    # Also what is no good match.
    candidates = tables.table_search().explanation(endpoint, asked.tools[0], "説明").candidates
    found = {each.chunk.json_pointer for each in candidates}
    assert {"/good", "/hidden", "/marks", "/" + "k" * (LONGEST_POINTER - 10)} <= found


def test_thousands_of_strings_that_no_index_can_hold_are_shown_as_a_hundred_and_counted(tables: TableWorld) -> None:
    tool = tables.tool(tables.table(["\0" + PROMISE] * 2500 + [TEXT]), "")
    tables.settle()
    shown = tables.status(tool)["skipped_nodes"]
    assert (len(shown), shown[-1]["reason"]) == (101, "This and 2,399 more cannot be indexed either.")
    assert tables.found(tables.endpoint(tool)) == {"/2500"}


def test_a_table_that_cannot_be_read_any_more_leaves_the_last_good_version(tables: TableWorld) -> None:
    table = tables.table({"good": TEXT})
    tool = tables.tool(table, "")
    tables.settle()
    tables.sql("update context_table set data = %s::json where id = %s", "[" * 3000 + "]" * 3000, table)
    tables.queues.index(tables.project, table)
    tables.settle()
    assert "levels deep" in (tables.status(tool)["last_error"] or "")
    assert tables.found(tables.endpoint(tool)) == {"/good"}
