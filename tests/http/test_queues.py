"""`/v1/queues` and `/v1/dead-letters`: what is in flight, and what was given up."""

import json

import pytest
from sakuin.http.app import rest_api
from sakuin.http.unfinished_work import queue_router
from starlette.testclient import TestClient

from tests.doubles.sqs import ModelledSqs
from tests.events import AUTHORIZATION, ring
from tests.worlds import World, Worlds

REINDEX = json.dumps({"reindex": {"material": "a"}})


@pytest.fixture
def world(a_world: Worlds) -> World:
    return a_world()


@pytest.fixture
def sqs(world: World) -> ModelledSqs:
    """The queues of the world; those of dead letters are named `dead-…`."""
    sqs: ModelledSqs = world.sqs
    return sqs


@pytest.fixture
def api(world: World) -> TestClient:
    routers = [queue_router(world.queue_states)]
    return TestClient(rest_api(world.library, ring, "1.2.3", admin_routers=routers), headers=AUTHORIZATION)


def test_dead_letters_are_listed_sent_again_and_discarded(api: TestClient, sqs: ModelledSqs) -> None:
    for body in (REINDEX, "forged"):
        sqs.send_message(QueueUrl="dead-material", MessageBody=body)
    listed = api.get("/v1/dead-letters", params={"queue": "material"}).json()["dead_letters"]
    assert [(letter["id"], letter["what"], letter["why"]) for letter in listed] == [
        ("m1", "index a again: asked", "the worker ended without an answer; see the log of its function"),
        ("m2", "not a message of this queue: forged", "The message is not JSON"),
    ]
    unknown = api.post("/v1/dead-letters", json={"action": "discard", "ids": ["m1", "m7"]})
    assert (unknown.status_code, len(sqs.messages)) == (404, 2)
    discarded = api.post("/v1/dead-letters", json={"action": "discard", "ids": ["m2"]}).json()["dead_letters"]
    assert [letter["id"] for letter in discarded] == ["m2"]
    sent = api.post("/v1/dead-letters", json={"action": "send_again"}).json()["dead_letters"]
    assert [letter["id"] for letter in sent] == ["m1"]
    assert [(message.queue, message.body) for message in sqs.messages] == [("material", REINDEX)]


def test_a_long_message_is_shown_in_part_and_a_wrong_action_is_422(api: TestClient, sqs: ModelledSqs) -> None:
    sqs.send_message(QueueUrl="dead-tool", MessageBody="x" * 50_000)
    (letter,) = api.get("/v1/dead-letters").json()["dead_letters"]
    assert len(letter["body"]) == 10_000
    assert api.post("/v1/dead-letters", json={"action": "lose"}).status_code == 422
