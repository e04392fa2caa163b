"""`sakuin redrive`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import boto3
import pytest
from sakuin.adapters.supabase_work import SupabaseWork
from sakuin.domain.work import Dead, Ended, WorkQueueName
from sakuin_cli.dead_letters import in_words

from tests.cli.aws_endpoint import aws_endpoint
from tests.cli.conftest import Operator, Output
from tests.entrypoints.events import event

TABLE = "11111111-1111-1111-1111-111111111111"
IDS = {"project_id": TABLE, "table_id": TABLE}
UPLOADED = event("index_material.put")["Records"][0]["body"]
NAMES: Mapping[WorkQueueName, str] = {"material": "Material", "tool": "Tool", "embed": "Embed"}


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """An operator, and the queues of a stack of his own by the names of its outputs."""

    operator: Operator
    aws: str
    urls: dict[str, str]

    @property
    def sqs(self) -> Any:
        return boto3.client("sqs")

    def add(
        self, queue: WorkQueueName = "material", body: str = UPLOADED, *, work_id: str = "", bus_reason: str = ""
    ) -> str:
        """Puts a message among the dead letters and returns its id."""
        attributes = {"work_id": work_id, "ERROR_MESSAGE": bus_reason}
        sent = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items() if value}
        url = self.urls[f"{NAMES[queue]}DeadLettersUrl"]
        return str(self.sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=sent)["MessageId"])

    def sent_again(self, queue: WorkQueueName) -> list[str]:
        """The bodies that came back to a queue, each once."""
        url = self.urls[f"{NAMES[queue]}QueueUrl"]
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [message["Body"] for message in found.get("Messages", ())]

    def redrive(self, *arguments: object, **settings: str) -> Output:
        return self.operator.sakuin(
            "redrive", *arguments, **{"SAKUIN_STACK": "sakuin", "AWS_ENDPOINT_URL": self.aws, **settings}
        )

    def listed(self) -> list[Any]:
        """What the command lists now."""
        letters: list[Any] = self.redrive("--json").document["dead_letters"]
        return letters


@pytest.fixture
def dead(operator: Operator) -> Iterator[DeadLetters]:
    sqs, names = (
        boto3.client("sqs"),
        [f"{name}{kind}" for name in NAMES.values() for kind in ("QueueUrl", "DeadLettersUrl")],
    )
    urls = {name: sqs.create_queue(QueueName=f"{name}-{uuid4()}")["QueueUrl"] for name in names}
    with aws_endpoint({"sakuin": urls, "older": {}}) as aws:
        yield DeadLetters(operator, aws, urls)


def failed(dead: DeadLetters, work_id: str, reason: str) -> None:
    """The deployment knows why."""
    rows = SupabaseWork(dead.operator.deployment.client)
    rows.end([Ended(a_message(work_id, tries=5), Dead(reason))])


def test_an_empty_queue_is_reported(dead: DeadLetters) -> None:
    assert dead.redrive().out == "No dead letters\n"
    assert dead.redrive("--json").document == {"dead_letters": []}


def test_without_an_action_it_shows_what_why_since_when_and_how_often(dead: DeadLetters) -> None:
    dead.add(work_id="m1")
    failed(dead, "m1", "The embedding service refused the request with 401")
    (letter,) = dead.listed()
    assert letter["what"].startswith("junior/二次方程式の解き方_教材.html was uploaded (version ")
    (row,) = SupabaseWork(dead.operator.deployment.client).rows(ids=["m1"])
    assert (letter["queue"], letter["tries"], letter["since"]) == ("material", 5, row.since)
    assert letter["why"] == "The embedding service refused the request with 401"
    shown = dead.redrive().out
    assert f"The embedding service refused the request with 401 (tried 5 times, since {row.since})" in shown
    assert "1 dead letter. Fix the cause, then send again: sakuin redrive --all, or --id MESSAGE" in shown
    assert dead.sent_again("material") == []


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
def test_each_kind_of_message_is_shown_in_words(queue: WorkQueueName, body: str, what: str) -> None:
    assert in_words(queue, body).startswith(what)


def test_a_message_that_the_bus_could_not_deliver_shows_the_bus_s_reason(dead: DeadLetters) -> None:
    body = json.dumps({"detail-type": "TableUpdated", "detail": IDS})
    dead.add("tool", body, bus_reason="Access denied")
    (letter,) = dead.listed()
    assert (letter["why"], letter["what"]) == ("Access denied", f"TableUpdated of Table {TABLE}")
    assert letter["body"] == body


def test_one_is_sent_again_by_how_its_id_begins(dead: DeadLetters) -> None:
    first, second = dead.add(body="poison 1"), dead.add(body="poison 2")
    document = dead.redrive("--id", second[:13], "--json").document
    assert [letter["id"] for letter in document["sent"]] == [second]
    assert dead.sent_again("material") == ["poison 2"]
    assert [letter["id"] for letter in dead.listed()] == [first]


def test_all_of_one_queue_or_of_all_are_sent_again(dead: DeadLetters) -> None:
    dead.add()
    dead.add("embed", "poison")
    assert "1 dead letter sent again" in dead.redrive("embed", "--all").out
    assert dead.sent_again("embed") == ["poison"]
    assert "1 dead letter sent again" in dead.redrive("--all").out
    assert dead.sent_again("material") == [UPLOADED]
    assert dead.listed() == []


def test_an_id_that_is_nobody_s_sends_nothing(dead: DeadLetters) -> None:
    first = dead.add()
    output = dead.redrive("--id", first, "--id", "m7", "--json")
    assert (output.code, output.document) == (
        1,
        {"error": "There is no dead letter 'm7' now. `sakuin redrive` lists them"},
    )
    assert dead.sent_again("material") == []
    assert [letter["id"] for letter in dead.listed()] == [first]


def test_without_the_api_the_letters_are_there_without_their_reasons(dead: DeadLetters) -> None:
    dead.add()
    away = {"SAKUIN_URL": "http://127.0.0.1:1"}
    (letter,) = dead.redrive("--json", **away).document["dead_letters"]
    assert letter["why"] is None
    assert "the log of its function says why" in dead.redrive(**away).out


def test_a_stack_that_is_not_there_and_one_of_another_version_are_a_sentence(dead: DeadLetters) -> None:
    assert "There is no stack 'nobody' in this account" in dead.redrive(SAKUIN_STACK="nobody").err
    assert "The stack has no output 'MaterialQueueUrl'" in dead.redrive(SAKUIN_STACK="older").err


def test_one_and_all_exclude_each_other(dead: DeadLetters) -> None:
    assert dead.redrive("--id", "m1", "--all").code == 2
    assert dead.redrive("pages").code == 2
