"""Upkeep over REST: what is in flight, what was given up, and where index and bucket differ."""

import json
from dataclasses import replace

import pytest
from sakuin.http.app import rest_api
from starlette.testclient import TestClient

from tests.builders import a_page
from tests.events import AUTHORIZATION
from tests.worlds import World, Worlds

REINDEX = json.dumps({"reindex": {"material": "a"}})


PAGE = a_page({"rule-a": "解の公式: 一。"})
MISSING = {
    "rule": "differs",
    "where": "a.html",
    "message": "The index has another version than the bucket, or none.",
    "repair": "the key is checked again",
}


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library whose one upload has no event."""
    world = a_world()
    world.bucket.write("a.html", PAGE)
    world.bucket.forget_messages()
    return world


@pytest.fixture
def api(world: World) -> TestClient:
    services = replace(world.services, reconcile=lambda: world.reconcile)
    return TestClient(rest_api(services), headers=AUTHORIZATION)


def test_dead_letters_are_listed_sent_again_and_discarded(api: TestClient, world: World) -> None:
    for body in (REINDEX, "forged"):
        world.sqs.send_message(QueueUrl="dead-material", MessageBody=body)
    listed = api.get("/v1/dead-letters", params={"queue": "material"}).json()["dead_letters"]
    assert [(letter["id"], letter["what"], letter["why"]) for letter in listed] == [
        ("m1", "index a again: asked", "the worker ended without an answer; see the log of its function"),
        ("m2", "not a message of this queue: forged", "The message is not JSON"),
    ]
    unknown = api.post("/v1/dead-letters", json={"action": "discard", "ids": ["m1", "m7"]})
    assert (unknown.status_code, len(world.sqs.messages)) == (404, 2)
    discarded = api.post("/v1/dead-letters", json={"action": "discard", "ids": ["m2"]}).json()["dead_letters"]
    assert [letter["id"] for letter in discarded] == ["m2"]
    sent = api.post("/v1/dead-letters", json={"action": "send_again"}).json()["dead_letters"]
    assert [letter["id"] for letter in sent] == ["m1"]
    assert [(message.queue, message.body) for message in world.sqs.messages] == [("material", REINDEX)]


def test_a_long_message_is_shown_in_part(api: TestClient, world: World) -> None:
    world.sqs.send_message(QueueUrl="dead-tool", MessageBody="x" * 50_000)
    (letter,) = api.get("/v1/dead-letters").json()["dead_letters"]
    assert len(letter["body"]) == 10_000


def test_a_comparison_changes_nothing_by_default(api: TestClient, world: World) -> None:
    assert api.post("/v1/reconcile", json={"kind": "keys"}).json() == {"differences": [MISSING], "next": None}
    assert world.queue.rechecks == []


def test_a_comparison_comes_in_pages(api: TestClient, world: World) -> None:
    for number in range(1200):
        world.bucket.write(f"b/{number:04}.html", PAGE)
    world.bucket.forget_messages()
    first = api.post("/v1/reconcile", json={"kind": "keys"}).json()
    second = api.post("/v1/reconcile", json={"kind": "keys", "after": first["next"]}).json()
    assert (len(first["differences"]), len(second["differences"]), second["next"]) == (1000, 201, None)
