"""The list of explanations with their `learns`, and what is marked in these."""

import pytest
from sakuin.knowledge.learns.listed import Explanations, ListedExplanation

from tests.builders import a_page
from tests.world import World

MATERIAL = "junior/二次方程式の解き方_教材"
ACTIONS = ("解の公式を使う方法", "判別式の計算", "係数を読みとる方法")


def anchors(found: object) -> list[str]:
    return [one.anchor for one in found]


def test_explanations_are_listed_by_id_and_those_of_a_page_in_its_order(world: World) -> None:
    world.put("a.html", a_page({"rule-one": "解の公式: 一。"}))
    listed = Explanations(world.client)
    first = listed.all(limit=2)
    assert [one.id for one in first] == ["a#rule-one", f"{MATERIAL}#ex-1"]
    rest = listed.all(after=first[-1].id, limit=9)
    assert anchors(rest) == ["method-tasukigake", "rule-quadratic-formula"]
    assert anchors(listed.all(prefix="junior/", limit=1)) == ["ex-1"]
    assert listed.all(prefix="senior/", limit=1) == []

    (top,) = listed.of_material(MATERIAL, limit=1)
    assert (top.anchor, top.source, top.given) == ("rule-quadratic-formula", "written", None)
    assert anchors(listed.of_material(MATERIAL, after=top.position, limit=9)) == ["method-tasukigake", "ex-1"]


@pytest.mark.parametrize(
    ("source", "learns", "given", "marks"),
    [
        ("author", ACTIONS, ACTIONS, ()),
        ("author", ACTIONS, ACTIONS[:2], ("learns-completed",)),
        ("author", (*ACTIONS[:2], "二次方程式"), (*ACTIONS[:2], "二次方程式"), ("learns-no-action",)),
        ("model", ACTIONS, None, ()),
        ("model", (*ACTIONS[:2], "二次方程式"), None, ("learns-no-action",)),
        ("written", ACTIONS, None, ("written",)),
        ("provisional", ACTIONS, None, ("provisional",)),
    ],
)
def test_missing_and_weak_learns_are_marked(
    source: str, learns: tuple[str, ...], given: tuple[str, ...] | None, marks: tuple[str, ...]
) -> None:
    one = ListedExplanation("a#rule-a", "a", "rule-a", 0, "解の公式", "rule", learns, source, given)
    assert one.marks == marks
