"""A message that fails five times is a dead letter that says why; after the repair it is sent again."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import psycopg
import pytest
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.builders import a_page
from tests.integration.conftest import REPOSITORY, Deployed, eventually

pytestmark = pytest.mark.integration

MATERIAL = "redrive/手紙"

KEY = f"{MATERIAL}.html"

CHUNK = f"{MATERIAL}#rule-undelivered"
# Of two versions that differ in their category alone nothing is embedded twice.
PAGE = """<!doctype html><html lang="ja"><head><title>配達されない手紙</title>
<meta name="category" content="{category}"></head><body><h1>配達されない手紙</h1>
<div class="rule-box" id="rule-undelivered"><h3>宛先不明の規則</h3>
<p>宛先のわからない郵便物は差出人に返送され、差出人もわからないときは局で保管する。</p></div>
</body></html>"""

FAILURES_BEFORE_THE_LAST = 4


@contextmanager
def refused_by_the_database(deployed: Deployed) -> Iterator[None]:
    """While the block runs, the database refuses each chunk of the second version."""
    with psycopg.connect(deployed.environment["SAKUIN_DATABASE_DSN"], autocommit=True) as connection:
        refuse = b"check (category is distinct from 'second') not valid"
        connection.execute(b"alter table knowledge_chunks add constraint redrive_test " + refuse)
        try:
            yield
        finally:
            connection.execute(b"alter table knowledge_chunks drop constraint redrive_test")


@contextmanager
def nobody_reads(deployed: Deployed, queue: str) -> Iterator[None]:
    """While the block runs, no function receives messages of a queue."""
    client = deployed.client("lambda")
    mappings = client.list_event_source_mappings()["EventSourceMappings"]
    (mapping,) = [one for one in mappings if one["EventSourceArn"].endswith(queue.rpartition("/")[2])]
    client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        yield
    finally:
        client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def failed_before(deployed: Deployed, queue: str, times: int) -> None:
    """Replaces the message about the page by a copy of one whose work has failed so often."""
    client = deployed.client("sqs")

    def replaced() -> bool:
        answer = client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=30, WaitTimeSeconds=1)
        for message in answer.get("Messages", ()):
            if "redrive" in message["Body"]:
                failures = {"failures": {"DataType": "String", "StringValue": str(times)}}
                client.send_message(QueueUrl=queue, MessageBody=message["Body"], MessageAttributes=failures)
                client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
                return True
        return False

    eventually("the message of the page", replaced)


def letters(deployed: Deployed) -> list[dict[str, Any]]:
    return [letter for letter in deployed.printed("redrive")["dead_letters"] if KEY in letter["what"]]


def status(deployed: Deployed) -> Any:
    return deployed.printed("status", "--material", MATERIAL)


def category(deployed: Deployed) -> str:
    return str(deployed.printed("read", CHUNK, "--details")["chunk"]["category"])


def test_a_dead_letter_says_why_and_is_sent_again_after_the_repair(deployed: Deployed) -> None:
    queue = deployed.outputs["MaterialQueueUrl"]
    assert deployed.put(KEY, PAGE.format(category="first")) == "applied"
    with refused_by_the_database(deployed):
        with nobody_reads(deployed, queue):
            second = PAGE.format(category="second").encode()
            version = deployed.client("s3").put_object(Bucket=deployed.bucket, Key=KEY, Body=second)["VersionId"]
            failed_before(deployed, queue, FAILURES_BEFORE_THE_LAST)
        (letter,) = eventually("a dead letter", lambda: letters(deployed))
        assert letter["what"].startswith(f"{KEY} was uploaded (version {version})")
        assert (letter["queue"], letter["why"]) == ("material", "The database refused the data (23514)")
        assert letter["tries"] >= 5
        material = status(deployed)
        assert (material["status"], material["waiting"]) == ("failed", None)
        assert "sakuin redrive" in material["error"]
        assert category(deployed) == "first"

    assert [one["id"] for one in deployed.printed("redrive", "material", "--id", letter["id"])["sent"]] == [
        letter["id"]
    ]
    eventually("the second version", lambda: category(deployed) == "second")
    assert (status(deployed)["status"], status(deployed)["error"], status(deployed)["waiting"]) == ("ready", None, None)
    assert letters(deployed) == []
    links = [unquote(one["url"]) for one in deployed.search("宛先不明の郵便物")["results"]]
    assert f"{deployed.url}/{KEY}#rule-undelivered" in links
    assert deployed.delete(KEY) == "applied"


GUIDE = (REPOSITORY / "docs/how-to/events.md").read_text("utf-8")


def document(name: str, **values: str) -> dict[str, Any]:
    """A document of the guide, with values in the places of the words in capitals."""
    (block,) = re.findall(rf"^`{name}`.*?\n```json\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for place, value in values.items():
        block = block.replace(place, value)
    content: dict[str, Any] = json.loads(block)
    return content


def test_an_uploaded_page_reaches_the_address_of_a_rule(deployed: Deployed) -> None:
    received: list[tuple[str, dict[str, Any]]] = []

    async def receive(request: Request) -> Response:
        received.append((request.headers.get("x-api-key", ""), await request.json()))
        return Response()

    events, sqs = deployed.client("events"), deployed.client("sqs")
    letters = sqs.create_queue(QueueName="sakuin-webhook-dead-letters")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    bus = {"EVENT_BUS_NAME": deployed.outputs["EventBusName"]}
    with served(Starlette(routes=[Route("/", receive, methods=["POST"])])) as port:
        connection = events.create_connection(**document("connection.json"))["ConnectionArn"]
        destination = document("destination.json", CONNECTION_ARN=connection)
        destination["InvocationEndpoint"] = f"http://127.0.0.1:{port}/"
        made = events.create_api_destination(**destination)["ApiDestinationArn"]
        events.put_rule(**document("rule.json", **bus))
        arns = {"DESTINATION_ARN": made, "ROLE_ARN": "arn:aws:iam::000000000000:role/call", "DEAD_LETTERS_ARN": arn}
        targets = document("targets.json", **bus, **arns)
        whole = {name: value for name, value in targets["Targets"][0].items() if name != "InputTransformer"}
        targets["Targets"].append({**whole, "Id": "whole"})
        assert events.put_targets(**targets)["FailedEntryCount"] == 0
        deployed.put("webhook/a.html", a_page({"rule-a": "公式: 係数を代入する。"}))
        eventually("both deliveries", lambda: len(received) > 1)
    assert {key for key, _ in received} == {"KEY"}
    bodies = [body for _, body in received]
    assert {"text": "MaterialIndexed: webhook/a"} in bodies
    (event,) = [body for body in bodies if "detail" in body]
    assert (event["source"], event["detail-type"]) == ("sakuin", "MaterialIndexed")
    detail = event["detail"]
    assert (detail["version"], detail["material"], detail["explanations"]) == (1, "webhook/a", 1)
