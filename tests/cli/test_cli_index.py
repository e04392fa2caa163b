"""`sakuin index`, and measuring an index that does not answer."""

import json
from dataclasses import replace

import pytest

from tests.cli.conftest import Keeper
from tests.in_memory.world import SETTINGS

OTHER = replace(SETTINGS, model=replace(SETTINGS.model, passage_prefix="passage: "))


@pytest.fixture
def indexes(keeper: Keeper) -> Keeper:
    """A keeper whose deployment has a page, and other settings since then."""
    keeper.world.indexes.keep(SETTINGS)
    keeper.sakuin("push", keeper.file("m.html"))
    keeper.world.settings = OTHER
    keeper.world.indexes.keep(OTHER)
    return keeper


def build(keeper: Keeper) -> None:
    keeper.world.library.reapply_outdated()
    keeper.world.settle()


def test_each_index_is_shown_with_what_it_is_built_with_and_what_it_lacks(indexes: Keeper) -> None:
    said = indexes.sakuin("index", "status", "--json")
    assert said.code == 0
    first, second = said.document["indexes"]
    assert (first["fingerprint"], first["live"], first["pages"]) == (
        SETTINGS.id,
        True,
        {"built": 1, "total": 1, "missing": []},
    )
    assert (second["live"], second["live_since"], second["whole"]) == (False, None, False)
    assert second["settings"]["model"]["passage_prefix"] == "passage: "
    assert second["pages"]["missing"] == [{"name": "m", "reason": "is not built yet"}]
    shown = indexes.sakuin("index", "status").out
    assert f"{SETTINGS.id}  answers" in shown
    assert "… m  is not built yet" in shown


def test_a_flip_is_refused_while_the_next_index_is_not_whole_and_goes_both_ways_when_it_is(indexes: Keeper) -> None:
    refused = indexes.sakuin("index", "flip")
    assert (refused.code, "not whole" in refused.err) == (1, True)
    build(indexes)
    flipped = indexes.sakuin("index", "flip", "--json")
    assert (flipped.code, flipped.document["fingerprint"], flipped.document["live"]) == (0, OTHER.id, True)
    back = indexes.sakuin("index", "flip", SETTINGS.id[:8], "--json")
    assert back.document["fingerprint"] == SETTINGS.id


def test_a_flip_to_what_is_not_whole_can_be_forced(indexes: Keeper) -> None:
    said = indexes.sakuin("index", "flip", "--force", "--json")
    assert (said.code, said.document["live"], said.document["whole"]) == (0, True, False)


def test_the_live_index_is_not_dropped_and_an_unknown_one_neither(indexes: Keeper) -> None:
    for name in (SETTINGS.id, "nothing"):
        said = indexes.sakuin("index", "drop", name)
        assert said.code == 1
    indexes.world.settings = SETTINGS
    assert indexes.sakuin("index", "drop", OTHER.id, "--json").document == {"fingerprint": OTHER.id, "dropped": True}


def test_the_next_index_is_measured_and_compared_with_the_one_that_answers(indexes: Keeper) -> None:
    build(indexes)
    labels = indexes.file(
        "labels.jsonl", json.dumps({"query": "二次方程式を解く公式", "gold": ["m#rule-formula"]}).encode()
    )
    saved = indexes.folder / "live.json"
    assert indexes.sakuin("eval", labels, "--save", saved).code == 0
    asked = len(indexes.world.embedders[OTHER.model].queries)
    said = indexes.sakuin("eval", labels, "--index", "next", "--compare", saved, "--json")
    assert said.code == 0
    assert len(indexes.world.embedders[OTHER.model].queries) > asked
    assert said.document["comparison"]["differences"]["hit@5"]["n"] == 1


def test_a_question_is_explained_in_an_index_by_its_name(indexes: Keeper) -> None:
    said = indexes.sakuin("explain", "二次方程式を解く公式", "--index", "next", "--json")
    assert (said.code, said.document["results"][0]["cosine"]) == (0, None)
    assert indexes.sakuin("explain", "公式", "--index", "nothing").code == 1
