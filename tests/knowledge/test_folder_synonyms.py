"""A folder's `synonyms.yml` applies to the pages of that folder and of the folders below, and to no others."""

import unicodedata

import pytest
from sakuin.knowledge.model import EVERYTHING, Filters, Match
from sakuin.language.model import LexiconLookup
from sakuin.language.questions.query_analysis import MOST_FOLDERS, folder_synonyms

from tests.builders import a_page
from tests.worlds import World, Worlds

QUESTION = "旅券の見せ方"
FOLDERS = ("", "math/", "math/junior/", "mathematics/")
BOXES = {
    "rule-pass": "通行手形: 関所を通る人が持っていた書き付け。",
    "rule-inn": "宿場町: 街道に沿って栄えた町並み。",
    "ex-pass": "飛脚の例: 飛脚は手紙を運んだ。",
}


@pytest.fixture
def world(a_world: Worlds) -> World:
    """The same page in each folder."""
    world = a_world()
    for folder in FOLDERS:
        world.put(f"{folder}page.html", a_page(BOXES))
    return world


def matches(world: World, query: str = QUESTION, filters: Filters = EVERYTHING) -> dict[str, Match]:
    """Returns all matches by id."""
    return {match.id: match for match in world.search.ranked_matches(query, limit=50, filters=filters).matches}


def found_by_words(world: World, query: str = QUESTION, filters: Filters = EVERYTHING) -> list[str]:
    """Returns the folders whose page has the rule of passes among the matches by words."""
    some = matches(world, query, filters)
    return [
        folder
        for folder in FOLDERS
        if (one := some.get(f"{folder}page#rule-pass")) and "手形" in one.ranked.words.matched
    ]


def scores(some: dict[str, Match]) -> dict[str, tuple[object, ...]]:
    """All but the similarity, which depends on how far the best result is ahead."""
    return {id: (one.ranked.evidence, one.ranked.words.share, one.ranked.words.matched) for id, one in some.items()}


def test_a_folder_s_list_changes_no_page_of_another_folder(world: World) -> None:
    before = matches(world)
    assert found_by_words(world) == []
    world.put("math/synonyms.yml", "- [通行手形, 旅券]\n".encode())
    assert found_by_words(world) == ["math/", "math/junior/"]
    after = matches(world)
    others = [id for id in before if not id.startswith("math/")]
    assert {id: scores(after)[id] for id in others} == {id: scores(before)[id] for id in others}
    best = max(after.values(), key=lambda match: match.ranked.similarity)
    assert best.id == "math/junior/page#rule-pass"


def test_its_pages_get_what_a_list_for_all_pages_would_give_them(world: World) -> None:
    world.put("math/synonyms.yml", "- [通行手形, 旅券]\n".encode())
    of_folder = scores(matches(world))
    world.bucket.remove("math/synonyms.yml")
    world.put("synonyms.yml", "- [通行手形, 旅券]\n".encode())
    of_all = scores(matches(world))
    inside = [id for id in of_all if id.startswith("math/")]
    assert {id: of_folder[id] for id in inside} == {id: of_all[id] for id in inside}
    assert found_by_words(world) == list(FOLDERS)


def test_a_page_has_the_lists_of_all_folders_above_it(world: World) -> None:
    world.put("synonyms.yml", "- [宿場町, 休む所]\n".encode())
    world.put("math/synonyms.yml", "- [通行手形, 旅券]\n".encode())
    world.put("math/junior/synonyms.yml", "- [飛脚, 旅券, 郵便]\n".encode())
    understood = world.search.ranked_matches(f"{QUESTION}と休む所", limit=5).understood
    assert [(step.found, step.read_as, step.folder) for step in understood.steps if step.rule == "synonyms"] == [
        ("休む所", "宿場町", ""),
        ("旅券", "通行手形", "math/"),
        ("旅券", "飛脚", "math/junior/"),
        ("旅券", "郵便", "math/junior/"),
    ]
    matched = {id: one.ranked.words.matched for id, one in matches(world, f"{QUESTION}と休む所").items()}
    assert "飛脚" in matched["math/junior/page#ex-pass"]
    assert "飛脚" not in matched["math/page#ex-pass"]
    assert "手形" in matched["math/junior/page#rule-pass"]
    assert all("宿場" in matched[f"{folder}page#rule-inn"] for folder in FOLDERS)


def test_a_filter_by_folder_takes_the_lists_above_and_below_it(world: World) -> None:
    world.put("math/synonyms.yml", "- [通行手形, 旅券]\n".encode())
    assert found_by_words(world, filters=Filters(folder="math")) == ["math/", "math/junior/"]
    assert found_by_words(world, filters=Filters(folder="math/junior")) == ["math/junior/"]
    words = LexiconLookup(frozenset(), {})
    for folder, lists in {"math/junior": {"math/"}, "mathematics": set[str]()}.items():
        assert world.lexicon.look_up("通行手形", words, Filters(folder=folder)).synonyms.keys() == lists


def test_a_filter_by_page_takes_the_lists_of_its_folders(world: World) -> None:
    world.put("math/synonyms.yml", "- [通行手形, 旅券]\n".encode())
    assert found_by_words(world, filters=Filters(material="math/junior/page")) == ["math/junior/"]
    assert found_by_words(world, filters=Filters(material="page")) == []
    assert found_by_words(world, filters=Filters(type="rule")) == ["math/", "math/junior/"]
    words = LexiconLookup(frozenset(), {})
    for material, lists in {"math/junior/page": {"math/"}, "mathematics/page": set[str]()}.items():
        assert world.lexicon.look_up("通行手形", words, Filters(material=material)).synonyms.keys() == lists


def test_a_folder_has_one_name_in_both_normal_forms(a_world: Worlds) -> None:
    world = a_world()
    world.put("がっこう/page.html", a_page(BOXES))
    world.put(unicodedata.normalize("NFD", "がっこう/synonyms.yml"), "- [通行手形, 旅券]\n".encode())
    assert "手形" in matches(world)["がっこう/page#rule-pass"].ranked.words.matched


def test_of_many_folders_those_nearest_to_the_top_count() -> None:
    deep = {f"a/{number}/": [("旅券", "深い")] for number in range(MOST_FOLDERS)}
    groups = {"": [("旅券", "上")], **deep, "z/": [("旅券", "浅い")], "y/": [("切符", "無い")]}
    found = folder_synonyms(QUESTION, groups)
    assert list(found) == ["", "z/", *list(deep)[: MOST_FOLDERS - 1]]
    assert dict(found["z/"]) == {"旅券": ("上", "浅い")}
