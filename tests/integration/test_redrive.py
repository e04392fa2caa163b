"""A message that fails five times is a dead letter that says why; after the repair it is sent again."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import httpx
import psycopg
import pytest

from tests.integration.conftest import REQUEST_SECONDS, Deployed, eventually

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
TRIES_BEFORE_THE_LAST = 4


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


def tried(deployed: Deployed, queue: str, times: int) -> None:
    """Receives the message about the page so often and releases it."""
    client, seen = deployed.client("sqs"), 0

    def once() -> bool:
        nonlocal seen
        answer = client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=0, WaitTimeSeconds=1)
        seen += sum("redrive" in message["Body"] for message in answer.get("Messages", ()))
        return seen >= times

    eventually(f"{times} tries", once)


def letters(deployed: Deployed) -> list[dict[str, Any]]:
    return [letter for letter in deployed.printed("redrive")["dead_letters"] if KEY in letter["what"]]


def shown_in_console(deployed: Deployed) -> str:
    """The console's page of the dead letters about pages, after signing in with a link."""
    link = deployed.api("POST", "/v1/console-links")["path"]
    headers = {"Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=deployed.url, headers=headers, timeout=REQUEST_SECONDS, follow_redirects=True) as http:
        http.post("/console/sign-in/link", data={"code": link.rpartition("code=")[2]}).raise_for_status()
        return unescape(http.get("/console/work", params={"queue": "material"}).raise_for_status().text)


def status(deployed: Deployed) -> Any:
    return deployed.printed("status", "--material", MATERIAL)


def category(deployed: Deployed) -> str:
    return str(deployed.printed("chunk", CHUNK)["chunk"]["category"])


def test_a_dead_letter_says_why_and_is_sent_again_after_the_repair(deployed: Deployed) -> None:
    queue = deployed.outputs["MaterialQueueUrl"]
    assert deployed.put(KEY, PAGE.format(category="first")) == "applied"
    with refused_by_the_database(deployed):
        with nobody_reads(deployed, queue):
            second = PAGE.format(category="second").encode()
            version = deployed.client("s3").put_object(Bucket=deployed.bucket, Key=KEY, Body=second)["VersionId"]
            tried(deployed, queue, TRIES_BEFORE_THE_LAST)
        (letter,) = eventually("a dead letter", lambda: letters(deployed))
        assert letter["what"].startswith(f"{KEY} was uploaded (version {version})")
        assert (letter["queue"], letter["why"]) == ("material", "The database refused the data (23514)")
        assert letter["tries"] >= 5
        page = shown_in_console(deployed)
        assert letter["what"] in page
        assert letter["why"] in page
        material = status(deployed)
        assert (material["status"], [row["state"] for row in material["work"]]) == ("failed", ["failed"])
        assert "sakuin redrive" in material["error"]
        assert category(deployed) == "first"

    assert [one["id"] for one in deployed.printed("redrive", "material", "--id", letter["id"])["sent"]] == [
        letter["id"]
    ]
    eventually("the second version", lambda: category(deployed) == "second")
    eventually("no work", lambda: status(deployed)["work"] == [])
    assert (status(deployed)["status"], status(deployed)["error"]) == ("ready", None)
    assert letters(deployed) == []
    assert MATERIAL in {one["material"] for one in deployed.search("宛先不明の郵便物")["results"]}
    assert deployed.delete(KEY) == "applied"
