"""The library as operators and authors see it."""

import unicodedata

import pytest

from tests.builders import a_page
from tests.worlds import World, Worlds

PAGE = a_page({"rule-a": "解の公式: 係数を代入する。"})


def rules(world: World, **wanted: object) -> set[tuple[str, str, str, str | None]]:
    findings, _ = world.library.findings(**wanted)
    return {(item.severity, item.rule, item.material, item.anchor) for item in findings}


@pytest.mark.scenario("knowledge-index/a-missing-anchor-is-an-error")
@pytest.mark.scenario("knowledge-index/an-unindexed-id-is-a-warning")
def test_an_anchor_that_its_page_no_longer_has_is_an_error_and_an_unindexed_one_a_warning(world: World) -> None:
    world.put("a.html", PAGE)
    world.bucket.write("a.html", a_page({"rule-b": "別の公式: 文。"}))
    found = {(severity, anchor) for severity, _, _, anchor in rules(world)}
    assert found == {("error", "rule-a"), ("warning", "rule-b")}


def test_the_canary_that_was_removed_a_moment_ago_is_no_finding(a_world: Worlds) -> None:
    world = a_world(prefix="site/")
    world.put("site/_sakuin/canary.html", b"<!doctype html><html><body><p>Nothing.</p></body></html>")
    world.bucket.remove("site/_sakuin/canary.html")
    assert rules(world) == set()


def test_pages_that_are_gone_or_unreadable_and_waiting_keys_are_reported(world: World) -> None:
    world.put("a.html", b"%PDF-1.7")
    world.put("gone.html", PAGE)
    for key in ("が.html", "b/が.html"):
        world.put(key, PAGE)
        world.put(unicodedata.normalize("NFD", key), PAGE)
    world.bucket.remove("gone.html")
    in_folder = ("warning", "waiting-page", "b/が", None)
    assert rules(world, prefix="b/") == {in_folder}
    assert rules(world) == {
        *(("error", "unreadable-page", "a", None), ("error", "missing-page", "gone", None)),
        *(("warning", "waiting-page", "が", None), in_folder),
    }


def test_files_of_authors_that_cannot_be_read_are_errors(a_world: Worlds) -> None:
    world = a_world(prefix="site/")
    for key in ("site/learns.yml", "site/a/learns.yml", "site/a/synonyms.yml", "site/a/mylearns.yml"):
        world.bucket.write(key, b"x: [")
    world.put("site/b/learns.yml", b"x: {rule-a: [y]}")
    found = {
        ("error", "unreadable-learns", "site/a/learns.yml"),
        ("error", "unreadable-synonyms", "site/a/synonyms.yml"),
    }
    assert {finding[:3] for finding in rules(world, prefix="a/")} == found
    assert {finding[:3] for finding in rules(world)} == found | {("error", "unreadable-learns", "site/learns.yml")}


def test_findings_come_in_pages_that_leave_no_material_out(world: World) -> None:
    for name in "abcdefg":
        world.bucket.write(f"{name}.html", PAGE)
    world.bucket.take_messages()
    seen: list[str] = []
    after: str | None = None
    while True:
        findings, after = world.library.findings(after=after, limit=2)
        seen += [item.material for item in findings]
        if after is None:
            break
    assert seen == list("abcdefg")


def test_a_prefix_narrows_validation_below_the_bucket_s_own_prefix(a_world: Worlds) -> None:
    world = a_world(prefix="site/")
    for name in ("site/junior/a.html", "site/senior/b.html", "junior/c.html"):
        world.bucket.write(name, PAGE)
    assert {material for _, _, material, _ in rules(world, prefix="junior/")} == {"junior/a"}


def _boxes(*numbers: int, words: str = "文") -> bytes:
    return a_page({f"rule-{number}": f"公式{number}: {words}。" for number in numbers})


def test_a_page_that_lost_much_names_the_version_before_until_it_is_back(world: World) -> None:
    good, whole = world.put("a.html", _boxes(*range(9))), _boxes(*range(9))
    world.put("a.html", _boxes(1, 2))
    (finding,), _ = world.library.findings()
    assert (finding.severity, finding.rule) == ("warning", "collapsed")
    assert "7 of the 9 explanations of the page: #rule-0, #rule-3, #rule-4, #rule-5, #rule-6 …" in finding.message
    assert f"--copy-source '{world.bucket.name}/a.html?versionId={good}'" in finding.message
    assert {match.id for match in world.search.ranked_matches("公式3", limit=9).matches} == {"a#rule-1", "a#rule-2"}
    # A second broken build, and the same version again, do not hide it.
    world.put("a.html", _boxes(1, 2, words="同じ"))
    world.queue.reindex(["a"], reason="test")
    world.settle()
    assert f"versionId={good}" in world.library.findings()[0][0].message
    world.put("a.html", whole)
    assert rules(world) == set()


@pytest.mark.parametrize(
    ("kept", "is_finding"),
    [(range(5, 20), False), (range(4, 8), False), (range(5, 9), True)],
    ids=["25 %", "four", "five of nine"],
)
def test_a_page_that_lost_less_than_30_percent_or_five_is_no_finding(
    world: World, kept: range, is_finding: bool
) -> None:
    world.put("a.html", _boxes(*range(kept.stop)))
    world.put("a.html", _boxes(*kept))
    assert bool(rules(world)) is is_finding


def test_what_a_page_lost_is_no_finding_when_the_version_before_is_gone(world: World) -> None:
    world.put("a.html", _boxes(*range(9)))
    world.put("a.html", _boxes(1))
    world.sql.execute("""update public.material set collapse = collapse || '{"at": "2020-01-01T00:00:00+00:00"}'""")
    assert rules(world) == set()
    world.put("a.html", _boxes(1, words="同じ"))
    assert rules(world) == set()


def test_which_boxes_need_an_id_is_a_setting(a_world: Worlds) -> None:
    world = a_world(box_selectors=("aside.note",))
    world.put("a.html", b"<p id='ex-a'>x<div class='tip-box'>one</div><aside class='note'>two</aside>")
    findings, _ = world.library.findings()
    (box,) = (finding for finding in findings if finding.rule != "learns-none")
    assert box.rule == "box-without-id"
    assert "two" in box.message
