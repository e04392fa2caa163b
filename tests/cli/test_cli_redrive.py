"""`sakuin redrive`."""

import json
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from sakuin.platform.retry import QueueName
from sakuin.upkeep.queues import contents
from sakuin_cli.terminal import minute

from tests.cli.conftest import Operator, Output
from tests.events import event, s3_message

TABLE = "11111111-1111-1111-1111-111111111111"
IDS = {"project_id": TABLE, "table_id": TABLE}
DOCUMENT = f"tables/{TABLE}/{TABLE}/1.json"
UPLOADED = event("index_material.put")["Records"][0]["body"]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """An operator, and the queues of his deployment."""

    operator: Operator
    sqs: Any

    def url(self, queue: QueueName, kind: str) -> str:
        return self.operator.deployment.functions.environ[f"{queue.upper()}_{kind}_URL"]

    def add(
        self, queue: QueueName = "material", body: str = UPLOADED, *, work: str = "", reason: str = "", sent: str = ""
    ) -> str:
        """Puts a message among the dead letters and returns its id. `work`: its correlation id, `sent`: when."""
        attributes = {"first_sent": sent, "correlation_id": work, "ERROR_MESSAGE": reason, "RETRY_ATTEMPTS": "5"}
        sent = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items() if value}
        url = self.url(queue, "DEAD_LETTERS")
        return str(self.sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=sent)["MessageId"])

    def sent_again(self, queue: QueueName) -> list[str]:
        """The bodies that came back to a queue, each once."""
        return [message["Body"] for message in self.messages(queue)]

    def messages(self, queue: QueueName) -> list[Any]:
        """The messages that came back to a queue, each once."""
        url = self.url(queue, "QUEUE")
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        return list(found.get("Messages", ()))

    def redrive(self, *arguments: object, **settings: str) -> Output:
        return self.operator.sakuin("redrive", *arguments, **settings)

    def listed(self) -> list[Any]:
        """What the command lists now."""
        letters: list[Any] = self.redrive("--json").document["dead_letters"]
        return letters


@pytest.fixture
def dead(operator: Operator) -> DeadLetters:
    return DeadLetters(operator, boto3.client("sqs"))


def test_an_empty_queue_is_reported(dead: DeadLetters) -> None:
    assert dead.redrive().out == "No dead letters\n"
    assert dead.redrive("--json").document == {"dead_letters": []}


def test_without_an_action_it_shows_what_why_since_when_and_how_often(dead: DeadLetters) -> None:
    dead.add(reason="The embedding service refused the request with 401", sent="1795000000.5")
    (letter,) = dead.listed()
    since = "2026-11-18T11:06:40+00:00"
    assert letter["what"].startswith("junior/二次方程式の解き方_教材.html was uploaded (version ")
    assert (letter["queue"], letter["tries"], letter["since"]) == ("material", 5, since)
    assert letter["why"] == "The embedding service refused the request with 401"
    shown = dead.redrive().out
    assert f"The embedding service refused the request with 401 (tried 5 times, since {minute(since)})" in shown
    advice = "Fix the cause, then send again: sakuin redrive --all, or --id MESSAGE; --discard deletes instead"
    assert f"1 dead letter. {advice}" in shown
    assert dead.sent_again("material") == []


@pytest.mark.parametrize(
    ("queue", "message", "what"),
    [
        ("material", {"reindex": {"material": "junior/x", "reason": "asked"}}, "index junior/x again: asked"),
        (
            "material",
            {"recheck": {"key": "junior/x.html", "reason": "it differs"}},
            "check junior/x.html against the bucket: it differs",
        ),
        ("material", {"Service": "Amazon S3", "Event": "s3:TestEvent"}, "nothing to do: {"),
        (
            "tool",
            {"detail-type": "ToolCreated", "detail": {**IDS, "tool_id": TABLE}},
            f"ToolCreated of tool {TABLE}, Table {TABLE}",
        ),
        ("tool", {"index": IDS}, f"scan Table {TABLE}"),
        ("tool", {"index": {**IDS, "skip": 4000, "index_version": "abc"}}, f"scan Table {TABLE}, from string 4,000"),
        ("tool", s3_message(DOCUMENT, bucket="tables"), f"import the uploaded document of Table {TABLE}"),
        ("embed", {"embed": {**IDS, "chunks": ["a", "b"]}}, f"embed 2 chunks of Table {TABLE}"),
        ("embed", {"embed": {**IDS, "chunks": ["a"]}}, f"embed 1 chunk of Table {TABLE}"),
    ],
)
def test_each_kind_of_message_is_shown_in_words(queue: QueueName, message: dict[str, Any], what: str) -> None:
    found = contents(queue, json.dumps(message))
    assert (found[0].startswith(what), found[1]) == (True, None), found


def test_a_message_that_nobody_can_read_is_shown_as_it_is_and_says_what_is_wrong(dead: DeadLetters) -> None:
    dead.add("embed", "not\x1b[31m JSON")
    dead.add("embed", json.dumps({"index": IDS}))
    why = {letter["what"]: letter["why"] for letter in dead.listed()}
    assert why == {
        "not a message of this queue: not\\u001b[31m JSON": "The message is not JSON",
        f"not a message of this queue: {json.dumps({'index': IDS})}": (
            "The message is not one that this queue accepts: embed: Field required"
        ),
    }


def test_a_letter_that_the_deployment_knows_nothing_of_says_so(dead: DeadLetters) -> None:
    dead.add()
    (letter,) = dead.listed()
    assert letter["why"] == "the worker ended without an answer; see the log of its function"
    assert f"    {letter['why']} (tried " in dead.redrive().out


def test_a_message_that_the_bus_could_not_deliver_shows_the_bus_s_reason(dead: DeadLetters) -> None:
    body = json.dumps({"detail-type": "TableUpdated", "detail": IDS})
    dead.add("tool", body, reason="Access denied")
    (letter,) = dead.listed()
    assert (letter["why"], letter["what"]) == ("Access denied", f"TableUpdated of Table {TABLE}")
    assert letter["body"] == body


def test_one_is_sent_again_by_how_its_id_begins(dead: DeadLetters) -> None:
    first, second = dead.add(body="poison 1"), dead.add(body="poison 2")
    document = dead.redrive("--id", second[:13], "--json").document
    assert [letter["id"] for letter in document["sent"]] == [second]
    assert dead.sent_again("material") == ["poison 2"]
    assert [letter["id"] for letter in dead.listed()] == [first]


def test_a_message_that_is_sent_again_goes_by_the_same_work(dead: DeadLetters) -> None:
    dead.add(work="work-1")
    dead.add("embed", "poison")
    assert dead.redrive("--all").code == 0
    (message,), (unnamed,) = dead.messages("material"), dead.messages("embed")
    # Without what its copies said: it begins again.
    named = {"correlation_id": {"DataType": "String", "StringValue": "work-1"}}
    assert (message["MessageAttributes"], unnamed.get("MessageAttributes")) == (named, None)


def test_all_of_one_queue_or_of_all_are_sent_again(dead: DeadLetters) -> None:
    dead.add()
    dead.add("embed", "poison")
    assert "1 dead letter sent again" in dead.redrive("embed", "--all").out
    assert dead.sent_again("embed") == ["poison"]
    assert "1 dead letter sent again" in dead.redrive("--all").out
    assert dead.sent_again("material") == [UPLOADED]
    assert dead.listed() == []


def test_letters_are_discarded_one_or_all(dead: DeadLetters) -> None:
    first, second = dead.add(body="poison 1"), dead.add(body="poison 2")
    dead.add("embed", "poison 3")
    (letter,) = dead.redrive("--id", first, "--discard", "--json").document["discarded"]
    assert (letter["id"], {letter["id"] for letter in dead.listed() if letter["queue"] == "material"}) == (
        first,
        {second},
    )
    assert "2 dead letters discarded" in dead.redrive("--all", "--discard").out
    assert (dead.listed(), dead.sent_again("material"), dead.sent_again("embed")) == ([], [], [])


def test_more_letters_than_a_request_changes_are_all_changed(dead: DeadLetters) -> None:
    for start in range(0, 110, 10):
        entries = [{"Id": str(number), "MessageBody": f"poison {start + number}"} for number in range(10)]
        dead.sqs.send_message_batch(QueueUrl=dead.url("tool", "DEAD_LETTERS"), Entries=entries)
    assert len(dead.redrive("--all", "--discard", "--json").document["discarded"]) == 110
    assert dead.listed() == []


def test_one_and_all_exclude_each_other(dead: DeadLetters) -> None:
    assert dead.redrive("--id", "m1", "--all").code == 2
    assert dead.redrive("--discard").code == 2
    assert dead.redrive("pages").code == 2
