"""`sakuin redrive`."""

import json

import pytest
from sakuin.domain.work import Dead, Ended, WorkQueueName
from sakuin.ports.work import DeadLetter

from tests.cli.conftest import Keeper
from tests.entrypoints.events import event
from tests.in_memory.work import a_message

TABLE = "11111111-1111-1111-1111-111111111111"
IDS = {"project_id": TABLE, "table_id": TABLE}
UPLOADED = event("index_material.put")["Records"][0]["body"]


def lies(
    keeper: Keeper, name: str, queue: WorkQueueName = "material", body: str = UPLOADED, *, said: str | None = None
) -> None:
    """A message lies among the dead letters."""
    keeper.world.dead_letters.letters.append(DeadLetter(name, name, queue, body, 5, 1_000_000.0, said, "", name))


def why(keeper: Keeper, name: str, reason: str) -> None:
    """Its row says why."""
    keeper.world.work.end([Ended(a_message(name, tries=5), Dead(reason))])


def test_nothing_there_is_said(keeper: Keeper) -> None:
    assert keeper.sakuin("redrive").out == "No dead letters\n"
    assert keeper.sakuin("redrive", "--json").document == {"dead_letters": []}


def test_without_an_action_it_tells_what_why_since_when_and_how_often(keeper: Keeper) -> None:
    lies(keeper, "m1")
    why(keeper, "m1", "The embedding service refused the request with 401")
    (letter,) = keeper.sakuin("redrive", "--json").document["dead_letters"]
    assert letter["what"].startswith("junior/二次方程式の解き方_教材.html was uploaded (version ")
    assert (letter["queue"], letter["tries"], letter["since"]) == ("material", 5, "1970-01-12T13:46:40+00:00")
    assert letter["why"] == "The embedding service refused the request with 401"
    said = keeper.sakuin("redrive").out
    assert "The embedding service refused the request with 401 (tried 5 times, since 1970-01-12" in said
    assert "1 dead letter. Mend what is wrong, then send again: sakuin redrive --all, or --id MESSAGE" in said
    assert keeper.world.dead_letters.sent == []


@pytest.mark.parametrize(
    ("queue", "body", "what"),
    [
        (
            "material",
            json.dumps({"reapply": {"material": "junior/x", "reason": "asked"}}),
            "apply junior/x again: asked",
        ),
        (
            "tool",
            json.dumps({"detail-type": "ToolCreated", "detail": {**IDS, "tool_id": TABLE}}),
            "ToolCreated of tool",
        ),
        ("tool", json.dumps({"index": {**IDS, "skip": 4000}}), f"walk over Table {TABLE}, from string 4,000"),
        ("embed", json.dumps({"embed": {**IDS, "chunks": ["a", "b"]}}), f"embed 2 chunks of Table {TABLE}"),
        ("embed", "not\x1b[31m JSON", "not a message of this queue: not\\u001b[31m JSON"),
    ],
)
def test_each_kind_of_message_is_told_in_words(keeper: Keeper, queue: WorkQueueName, body: str, what: str) -> None:
    lies(keeper, "m1", queue, body)
    (letter,) = keeper.sakuin("redrive", queue, "--json").document["dead_letters"]
    assert letter["what"].startswith(what)
    assert letter["body"] == body


def test_what_the_bus_itself_gave_up_says_so(keeper: Keeper) -> None:
    lies(keeper, "m1", "tool", json.dumps({"detail-type": "TableUpdated", "detail": IDS}), said="Access denied")
    (letter,) = keeper.sakuin("redrive", "--json").document["dead_letters"]
    assert (letter["why"], letter["what"]) == ("Access denied", f"TableUpdated of Table {TABLE}")


def test_one_is_sent_again_by_how_its_id_begins(keeper: Keeper) -> None:
    lies(keeper, "aaaa-1")
    lies(keeper, "bbbb-2")
    document = keeper.sakuin("redrive", "--id", "bbbb", "--json").document
    assert [letter["id"] for letter in document["sent"]] == ["bbbb-2"]
    assert [letter.id for letter in keeper.world.dead_letters.letters] == ["aaaa-1"]
    assert keeper.world.dead_letters.hidden == {"bbbb-2"}


def test_all_of_one_queue_or_of_all_are_sent_again(keeper: Keeper) -> None:
    lies(keeper, "m1")
    lies(keeper, "m2", "embed", "poison")
    assert "1 dead letter sent again" in keeper.sakuin("redrive", "embed", "--all").out
    assert [letter.body for letter in keeper.world.dead_letters.sent] == ["poison"]
    assert "1 dead letter sent again" in keeper.sakuin("redrive", "--all").out
    assert keeper.world.dead_letters.letters == []


def test_an_id_that_is_nobody_s_sends_nothing(keeper: Keeper) -> None:
    lies(keeper, "m1")
    said = keeper.sakuin("redrive", "--id", "m1", "--id", "m7", "--json")
    assert (said.code, said.document) == (1, {"error": "There is no dead letter 'm7' now. `sakuin redrive` lists them"})
    assert (keeper.world.dead_letters.sent, keeper.world.dead_letters.hidden) == ([], set())


def test_without_the_api_the_letters_are_there_without_their_reasons(keeper: Keeper) -> None:
    lies(keeper, "m1")
    keeper.world.work.down = True
    (letter,) = keeper.sakuin("redrive", "--json").document["dead_letters"]
    assert letter["why"] is None
    assert "the log of its function says why" in keeper.sakuin("redrive").out


def test_one_and_all_exclude_each_other(keeper: Keeper) -> None:
    assert keeper.sakuin("redrive", "--id", "m1", "--all").code == 2
    assert keeper.sakuin("redrive", "pages").code == 2
