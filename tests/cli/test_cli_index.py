"""`sakuin index`, and measuring an index that does not answer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import boto3
import pytest
from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.sqs import SqsQueue
from sakuin.upkeep.index_versions import IndexVersions
from sakuin_local.supabase.database import Database

from tests.cli.conftest import Operator
from tests.cli.deployment import Deployment, deployed
from tests.worlds import SETTINGS

OTHER = replace(SETTINGS, model=replace(SETTINGS.model, passage_prefix="passage: "))


@pytest.fixture(scope="module")
def later(database: Database) -> Iterator[Deployment]:
    """The deployment with its later settings."""
    with deployed(database, EMBEDDING_PASSAGE_PREFIX=OTHER.model.passage_prefix) as running:
        yield running


@pytest.fixture
def indexes(operator: Operator, later: Deployment) -> Operator:
    """An operator whose deployment has a page, and other settings since then."""
    versions = IndexVersions(operator.deployment.client)
    versions.add(SETTINGS)
    assert operator.sakuin("push", operator.file("m.html")).code == 0
    versions.add(OTHER)
    return Operator(operator.folder, later)


def build(operator: Operator) -> None:
    """The page is read again, for every index."""
    queue = SqsQueue(boto3.client("sqs"), operator.deployment.functions.environ["MATERIAL_QUEUE_URL"])
    MaterialQueue(queue).reindex(["m"], reason="an index is built")
    operator.deployment.settle()


def labels(operator: Operator) -> Path:
    question = {"query": "二次方程式を解く公式", "gold": ["m#rule-formula"]}
    return operator.file("labels.jsonl", json.dumps(question).encode())


def test_each_index_is_shown_with_what_it_is_built_with_and_what_it_lacks(indexes: Operator) -> None:
    shown = indexes.sakuin("index", "--json")
    assert shown.code == 0
    first, second = shown.document["indexes"]
    assert (first["fingerprint"], first["live"], first["pages"]) == (
        SETTINGS.id,
        True,
        {"total": 1, "missing": 0, "named": []},
    )
    assert (second["live"], second["live_since"], second["pages"]["missing"]) == (False, None, 1)
    assert second["settings"]["model"]["passage_prefix"] == "passage: "
    assert second["pages"]["named"] == [{"name": "m", "reason": "is not built yet"}]
    lines = indexes.sakuin("index").out
    assert f"{SETTINGS.id}  live" in lines
    assert "… m  is not built yet" in lines


def test_it_is_shown_where_a_version_searches_pages(operator: Operator) -> None:
    versions = IndexVersions(operator.deployment.client)
    versions.add(SETTINGS)
    versions.add(replace(SETTINGS, store="turbopuffer"))
    pages = [line.strip() for line in operator.sakuin("index").out.splitlines() if "pages  " in line]
    assert pages == ["pages  0 of 0", "pages  0 of 0, searched in turbopuffer"]


def test_an_activation_is_refused_while_the_next_index_is_not_whole_and_goes_both_ways_when_it_is(
    indexes: Operator,
) -> None:
    refused = indexes.sakuin("index", "--activate", "next")
    assert (refused.code, "is incomplete" in refused.err) == (1, True)
    build(indexes)
    activated = indexes.sakuin("index", "--activate", "next", "--json")
    assert (activated.code, activated.document["fingerprint"], activated.document["live"]) == (0, OTHER.id, True)
    back = indexes.sakuin("index", "--activate", SETTINGS.id[:8], "--json")
    assert back.document["fingerprint"] == SETTINGS.id


def test_an_activation_of_an_index_that_is_not_whole_can_be_forced(indexes: Operator) -> None:
    activated = indexes.sakuin("index", "--activate", "next", "--force", "--json")
    assert (activated.code, activated.document["live"], activated.document["pages"]["missing"]) == (0, True, 1)


def test_the_live_index_is_not_dropped_and_an_unknown_one_neither(operator: Operator, indexes: Operator) -> None:
    for name in (SETTINGS.id, OTHER.id, "nothing"):
        assert indexes.sakuin("index", "--drop", name).code == 1
    # The settings of before do not ask for the other index.
    assert operator.sakuin("index", "--drop", OTHER.id, "--json").document == {"fingerprint": OTHER.id, "dropped": True}


def test_the_next_index_is_measured_and_compared_with_the_one_that_answers(indexes: Operator) -> None:
    build(indexes)
    live, measured = indexes.folder / "live.json", indexes.folder / "next.json"
    live.write_text(indexes.sakuin("eval", labels(indexes), "--json").out)
    asked = len(indexes.deployment.functions.openai.requests)
    measured.write_text(indexes.sakuin("eval", labels(indexes), "--index", "next", "--json").out)
    assert len(indexes.deployment.functions.openai.requests) > asked
    compared = indexes.sakuin("eval", "--compare", live, measured, "--json")
    assert (compared.code, compared.document["questions"]) == (0, 1)


def test_a_question_is_explained_in_an_index_by_its_name(indexes: Operator) -> None:
    explained = indexes.sakuin("explain", "二次方程式を解く公式", "--index", "next", "--json")
    assert (explained.code, explained.document["results"][0]["cosine"]) == (0, None)
    assert indexes.sakuin("explain", "公式", "--index", "nothing").code == 1
