"""A message that fails is the only one that comes back."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.domain.work import About
from sakuin.entrypoints.sqs import Handler
from sakuin.entrypoints.sqs_materials import material_handler
from sakuin.errors import Invalid, Unavailable
from sakuin.services.follow_bucket import Change, Followed, Written

from tests.builders import a_page
from tests.entrypoints.events import Context, event
from tests.world import World, Worlds


@pytest.fixture
def world(a_world: Worlds) -> World:
    """An empty library, whose first uploads tests follow."""
    return a_world()


@pytest.fixture
def postponed() -> list[tuple[str, int]]:
    """The messages that were put off, and for how many seconds."""
    return []


@pytest.fixture
def handler(world: World, postponed: list[tuple[str, int]]) -> Handler:
    def postpone(receipt_handle: str, seconds: int) -> None:
        postponed.append((receipt_handle, seconds))

    logger, metrics = Logger(service="test"), Metrics(namespace="Sakuin", service="test")
    return material_handler(world.follow, postpone, logger, metrics, Tracer(disabled=True))


def batch(*bodies: str) -> dict[str, Any]:
    """An SQS event with these bodies, their ids counted from 0."""
    record = event("index_material.put")["Records"][0]
    return {"Records": [record | {"messageId": str(number), "body": text} for number, text in enumerate(bodies)]}


def uploaded(world: World, *names: str) -> list[str]:
    for name in names:
        world.bucket.write(f"{name}.html", a_page({"rule-a": f"名: {name}の文。"}))
    return world.bucket.take_messages()


def failed(answer: dict[str, Any]) -> list[str]:
    assert answer.keys() == {"batchItemFailures"}
    return [item["itemIdentifier"] for item in answer["batchItemFailures"]]


def test_a_batch_that_went_well_brings_nothing_back(handler: Handler, world: World) -> None:
    answer = handler(batch(*uploaded(world, "a", "b", "c")), Context())
    assert answer == {"batchItemFailures": []}
    assert set(world.index.rows) == {"a", "b", "c"}


@pytest.mark.parametrize("malformed", ["not JSON", "{}", json.dumps({"Records": [{"eventName": "x"}]})])
def test_a_malformed_message_fails_alone(handler: Handler, world: World, malformed: str) -> None:
    first, second = uploaded(world, "a", "b")
    assert failed(handler(batch(first, malformed, second), Context())) == ["1"]
    assert set(world.index.rows) == {"a", "b"}


def test_when_every_message_fails_every_message_comes_back(handler: Handler, world: World) -> None:
    world.embedder.down = True
    assert failed(handler(batch(*uploaded(world, "a", "b")), Context())) == ["0", "1"]
    assert world.index.chunks == {}


def together(*bodies: str) -> str:
    """One message with the records of several."""
    return json.dumps({"Records": [record for body in bodies for record in json.loads(body)["Records"]]})


def handler_of(follow: Callable[[Change], Followed], **others: Any) -> Handler:
    logger, metrics = Logger(service="test"), Metrics(namespace="Sakuin", service="test")
    return material_handler(follow, lambda *_: None, logger, metrics, Tracer(disabled=True), **others)


def test_the_changes_of_one_message_each_have_their_turn(world: World) -> None:
    away = {"a.html", "b.html"}

    def follow(change: Change) -> Followed:
        assert isinstance(change, Written)
        if change.source.key in away:
            raise Unavailable("S3 did not answer", vendor="s3")
        return world.follow(change)

    message = batch(together(*uploaded(world, "a", "b", "c")))
    assert failed(handler_of(follow)(message, Context())) == ["0"]
    assert set(world.index.rows) == {"c"}
    away.clear()
    assert failed(handler_of(follow)(message, Context())) == []
    assert set(world.index.rows) == {"a", "b", "c"}


def test_a_message_is_no_dead_letter_while_one_of_its_changes_waits(world: World) -> None:
    lost, away = Invalid("It is wrong"), Unavailable("The vendor is away", vendor="openai")
    fails = {"a.html": lost, "b.html": away, "c.html": KeyError("unexpected")}
    followed: list[str] = []

    def follow(change: Change) -> Followed:
        assert isinstance(change, Written)
        followed.append(change.source.key)
        raise fails[change.source.key]

    sent: list[str] = []
    made = handler_of(
        follow,
        gave_up=lambda *_: pytest.fail("it still waits"),
        send_again=lambda body, _work, _seconds: sent.append(body),
    )
    asked = batch(together(*uploaded(world, "a", "b", "c")))
    asked["Records"][0]["attributes"]["ApproximateReceiveCount"] = "5"
    assert failed(made(asked, Context())) == []
    assert (followed, sent) == (["a.html", "b.html", "c.html"], [asked["Records"][0]["body"]])


def test_a_page_that_was_applied_is_not_called_failed_for_its_neighbour_s_sake(world: World) -> None:
    (first,) = uploaded(world, "a")
    broken = json.dumps({"Records": [*json.loads(first)["Records"], {"eventName": "x"}]})
    told: list[About] = []
    made = handler_of(world.follow, gave_up=lambda about, _reason: told.append(about))
    asked = batch(broken)
    asked["Records"][0]["attributes"]["ApproximateReceiveCount"] = "5"
    assert failed(made(asked, Context())) == ["0"]
    assert (world.index.rows["a"].status, told) == ("ready", [About("a")])


def test_an_unreadable_page_is_no_failure_of_the_queue(handler: Handler, world: World) -> None:
    world.bucket.write("a.html", b"%PDF-1.7")
    assert failed(handler(batch(*world.bucket.take_messages()), Context())) == []
    assert world.index.rows["a"].status == "failed"


def test_the_next_batch_does_not_remember_the_last(handler: Handler, world: World) -> None:
    assert failed(handler(batch("not JSON"), Context())) == ["0"]
    assert failed(handler(batch(*uploaded(world, "a")), Context())) == []


@pytest.mark.parametrize("name", ["put", "delete", "test_event", "reapply"])
def test_each_recorded_event_is_followed(handler: Handler, name: str) -> None:
    assert handler(event(f"index_material.{name}"), Context()) == {"batchItemFailures": []}


def test_one_line_is_logged_for_each_change(handler: Handler, world: World, caplog: pytest.LogCaptureFixture) -> None:
    handler(batch(*uploaded(world, "a")), Context())
    (line,) = [vars(record) for record in caplog.records if record.msg == "change followed"]
    assert (line["material"], line["outcome"], line["chunks"], line["embedded"]) == ("a", "applied", 1, 1)


@pytest.mark.parametrize(("tries", "seconds"), [("1", 5), ("2", 30), ("3", 180), ("4", 720)])
def test_a_message_that_failed_comes_back_soon_at_first_and_later_later(
    handler: Handler, postponed: list[tuple[str, int]], tries: str, seconds: int
) -> None:
    failing = batch("not JSON")
    failing["Records"][0]["attributes"]["ApproximateReceiveCount"] = tries
    failing["Records"][0]["receiptHandle"] = "the handle"
    handler(failing, Context())
    assert postponed == [("the handle", seconds)]


def test_a_message_that_failed_for_the_last_time_is_a_dead_letter_at_once(
    handler: Handler, postponed: list[tuple[str, int]]
) -> None:
    failing = batch("not JSON")
    failing["Records"][0]["attributes"]["ApproximateReceiveCount"] = "5"
    assert failed(handler(failing, Context())) == ["0"]
    assert [seconds for _, seconds in postponed] == [0]


def test_a_queue_that_cannot_postpone_gets_the_message_back_all_the_same(world: World) -> None:
    def away(_receipt_handle: str, _seconds: int) -> None:
        raise Unavailable("SQS did not answer")

    logger, metrics = Logger(service="test"), Metrics(namespace="Sakuin", service="test")
    handler = material_handler(world.follow, away, logger, metrics, Tracer(disabled=True))
    assert failed(handler(batch("not JSON", *uploaded(world, "a")), Context())) == ["0"]
