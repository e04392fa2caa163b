"""`sakuin redrive`."""

import json
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import pytest
from sakuin.knowledge.messages import read_event
from sakuin.platform.retry import QueueName
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject
from sakuin.upkeep.queues import contents
from sakuin_cli.client import DeploymentClient
from sakuin_cli.terminal import minute

from tests.cli.conftest import Operator, Output
from tests.events import event, s3_message

TABLE = "11111111-1111-1111-1111-111111111111"
IDS = {"project_id": TABLE, "table_id": TABLE}
DOCUMENT = f"tables/{TABLE}/{TABLE}/1.json"
UPLOADED = event("index_material.put")["Records"][0]["body"]
UPLOAD = next(filter(None, [read_event(json.loads(UPLOADED))])).subject


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """An operator, and the queues of his deployment."""

    operator: Operator
    sqs: Any

    def url(self, queue: QueueName, kind: str) -> str:
        return self.operator.deployment.functions.environ[f"{queue.upper()}_{kind}_URL"]

    def add(self, queue: QueueName = "material", body: str = UPLOADED, *, work: str = "", reason: str = "") -> str:
        """Puts a message among the dead letters and returns its id. `work` is the correlation id."""
        attributes = {"correlation_id": work, "ERROR_MESSAGE": reason, "RETRY_ATTEMPTS": "5"}
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


def failed(dead: DeadLetters, subject: WorkSubject, reason: str) -> str:
    """The deployment knows why; returns since when."""
    unfinished = UnfinishedWorkStore(dead.operator.deployment.client)
    for _ in range(4):
        unfinished.record_retry(subject, reason, vendor=None, seconds=5)
    unfinished.record_dead_letter(subject, reason)
    (row,) = unfinished.rows(subjects=[subject.id])
    return row.since


def test_an_empty_queue_is_reported(dead: DeadLetters) -> None:
    assert dead.redrive().out == "No dead letters\n"
    assert dead.redrive("--json").document == {"dead_letters": []}


def test_without_an_action_it_shows_what_why_since_when_and_how_often(dead: DeadLetters) -> None:
    dead.add()
    since = failed(dead, UPLOAD, "The embedding service refused the request with 401")
    (letter,) = dead.listed()
    assert letter["what"].startswith("junior/二次方程式の解き方_教材.html was uploaded (version ")
    assert (letter["queue"], letter["tries"], letter["since"]) == ("material", 5, since)
    assert letter["why"] == "The embedding service refused the request with 401"
    shown = dead.redrive().out
    assert f"The embedding service refused the request with 401 (tried 5 times, since {minute(since)})" in shown
    advice = "Fix the cause, then send again: sakuin redrive --all, or --id MESSAGE; --discard deletes instead"
    assert f"1 dead letter. {advice}" in shown
    assert dead.sent_again("material") == []


def test_looking_at_a_letter_is_no_try(dead: DeadLetters) -> None:
    dead.add()
    failed(dead, UPLOAD, "it failed")
    assert {letter["tries"] for _ in range(7) for letter in dead.listed()} == {5}


@pytest.mark.parametrize(
    ("queue", "message", "what", "subject"),
    [
        (
            "material",
            {"reindex": {"material": "junior/x", "reason": "asked"}},
            "index junior/x again: asked",
            WorkSubject("material", "junior/x"),
        ),
        (
            "material",
            {"recheck": {"key": "junior/x.html", "reason": "it differs"}},
            "check junior/x.html against the bucket: it differs",
            WorkSubject("file", "junior/x.html"),
        ),
        ("material", {"Service": "Amazon S3", "Event": "s3:TestEvent"}, "nothing to do: {", None),
        (
            "tool",
            {"detail-type": "ToolCreated", "detail": {**IDS, "tool_id": TABLE}},
            f"ToolCreated of tool {TABLE}, Table {TABLE}",
            WorkSubject("table", TABLE),
        ),
        ("tool", {"index": IDS}, f"scan Table {TABLE}", WorkSubject("table", TABLE)),
        (
            "tool",
            {"index": {**IDS, "skip": 4000, "index_version": "abc"}},
            f"scan Table {TABLE}, from string 4,000",
            WorkSubject("table", TABLE, "abc"),
        ),
        (
            "tool",
            s3_message(DOCUMENT, bucket="tables"),
            f"import the uploaded document of Table {TABLE}",
            WorkSubject("upload", DOCUMENT),
        ),
        (
            "embed",
            {"embed": {**IDS, "chunks": ["a", "b"]}},
            f"embed 2 chunks of Table {TABLE}",
            WorkSubject("table", TABLE),
        ),
        ("embed", {"embed": {**IDS, "chunks": ["a"]}}, f"embed 1 chunk of Table {TABLE}", WorkSubject("table", TABLE)),
    ],
)
def test_each_kind_of_message_is_shown_in_words_with_what_it_is_about(
    queue: QueueName, message: dict[str, Any], what: str, subject: WorkSubject | None
) -> None:
    found = contents(queue, json.dumps(message))
    about = found.subject and WorkSubject(found.subject.kind, found.subject.id, found.subject.fingerprint)
    assert (found.text.startswith(what), about, found.problem) == (True, subject, None), found


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
    # Of another index, and of another kind.
    failed(dead, WorkSubject("material", UPLOAD.id), "another reason")
    (letter,) = dead.listed()
    assert letter["why"] == "the worker ended without an answer; see the log of its function"
    assert f"    {letter['why']} (tried " in dead.redrive().out


def test_the_reason_of_a_table_is_that_of_its_index(dead: DeadLetters) -> None:
    dead.add("embed", json.dumps({"embed": {**IDS, "chunks": ["a"], "index_version": "next"}}))
    failed(dead, WorkSubject("table", TABLE, "next"), "the next index failed")
    UnfinishedWorkStore(dead.operator.deployment.client).record_dead_letter(
        WorkSubject("table", TABLE, "other"), "another index failed"
    )
    (letter,) = dead.listed()
    assert letter["why"] == "the next index failed"


def test_many_long_keys_are_asked_for_in_addresses_that_the_gateway_takes() -> None:
    addresses: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        addresses.append(str(request.url))
        row = {"subject": request.url.params.get_list("subject")[-1]}
        return httpx.Response(200, json={"counts": {}, "work": [row]})

    keys = [f"{'鍵' * 300}/{number}" for number in range(7)] + [f"k{number}" for number in range(120)]
    http = httpx.Client(base_url="http://sakuin", transport=httpx.MockTransport(answer))
    rows = DeploymentClient(http).work(keys)["work"]
    asked = [subject for address in addresses for subject in httpx.URL(address).params.get_list("subject")]
    assert asked == keys
    assert max(map(len, addresses)) < 8000
    assert max(address.count("subject=") for address in addresses) == 50
    assert len(rows) == len(addresses)


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
    # Its row is deleted when it is done.
    sent = {"copies": {"DataType": "String", "StringValue": "0"}}
    named = {"correlation_id": {"DataType": "String", "StringValue": "work-1"}}
    assert (message["MessageAttributes"], unnamed["MessageAttributes"]) == (named | sent, sent)


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
