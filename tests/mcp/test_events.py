"""Events of MCP that are polled: how they are announced, listed and read in each era of the protocol."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sakuin.errors import Unavailable
from sakuin.mcp.app import McpApp
from sakuin.mcp.changes.event_types import page_events, tool_events
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.emptied import emptied
from tests.events import ring
from tests.mcp.wire import ERAS, STATELESS, Answer, Ask, message, named
from tests.worlds import World, Worlds

ADDED, REMOVED = "explanation.added", "explanation.removed"
A, B = {"rule-a": "公式: 係数を代入する。"}, {"def-b": "判別式: 符号を調べる。"}


@pytest.fixture
def world(a_world: Worlds, sql: psycopg.Connection) -> Iterator[World]:
    """A library with one page of one explanation."""
    emptied(sql)
    world = a_world()
    world.put("x.html", a_page(A))
    yield world
    emptied(sql)


@pytest.fixture
def feed(world: World) -> ChangeFeed:
    return ChangeFeed(world.client, world.read.url)


@pytest.fixture
def ask(world: World, feed: ChangeFeed) -> Ask:
    return Ask(McpApp(knowledge_server(KnowledgeTools(world, world.read), "1.2.3", page_events(feed)), ring))


def poll(ask: Ask, name: str = ADDED, era: str = STATELESS, **params: Any) -> Answer:
    return ask(message("events/poll", era, name=name, **params), **named("events/poll", era))


def result(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return answer.json["result"]


def test_discovery_announces_them_under_both_names(ask: Ask) -> None:
    found = ask(message("server/discover", STATELESS), **named("server/discover", STATELESS)).json["result"]
    capabilities = found["capabilities"]
    assert capabilities["events"] == {"listChanged": False}
    assert capabilities["extensions"]["io.modelcontextprotocol/events"] == {"listChanged": False}
    client = {"protocolVersion": ERAS[0], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert "events" in ask(message("initialize", **client)).json["result"]["capabilities"]


@pytest.mark.parametrize("era", ERAS)
def test_the_list_has_a_type_for_each_kind_of_change_of_the_endpoint(ask: Ask, feed: ChangeFeed, era: str) -> None:
    listed = result(ask(message("events/list", era), **named("events/list", era)))["events"]
    assert [each["name"] for each in listed] == list(page_events(feed).types)
    assert {tuple(each["delivery"]) for each in listed} == {("poll",)}
    assert all(each["inputSchema"]["type"] == each["payloadSchema"]["type"] == "object" for each in listed)
    assert {name.partition(".")[0] for name in tool_events(feed).types} == {"tool"}


@pytest.mark.parametrize("era", ERAS)
def test_the_first_poll_begins_now_and_the_next_has_what_came(world: World, ask: Ask, era: str) -> None:
    first = result(poll(ask, era=era, cursor=None))
    assert (first["events"], first["truncated"], first["hasMore"]) == ([], False, False)
    assert first["nextPollMs"] >= 1000
    world.put("y.html", a_page(B))
    (event,) = result(poll(ask, era=era, cursor=first["cursor"]))["events"]
    assert (event["name"], event["data"]["id"]) == (ADDED, "y#def-b")
    assert event.keys() == {"eventId", "name", "timestamp", "data"}
    assert not event["data"].keys() & {"kind", "time"}


def test_a_change_has_the_same_id_in_each_poll_of_any_size(world: World, ask: Ask) -> None:
    cursor = result(poll(ask))["cursor"]
    world.put("y.html", a_page(A | B))
    events = result(poll(ask, cursor=cursor))["events"]
    one = result(poll(ask, cursor=cursor, maxEvents=1))
    other = result(poll(ask, cursor=one["cursor"], maxEvents=1))
    assert (one["hasMore"], len({event["eventId"] for event in events})) == (True, 2)
    assert [one["events"], other["events"]] == [[event] for event in events]


def test_what_exists_when_a_client_begins_changes_and_is_not_new(world: World, ask: Ask) -> None:
    cursors = {name: result(poll(ask, name))["cursor"] for name in (ADDED, "explanation.changed")}
    world.put("x.html", a_page({"rule-a": "公式: 別の文。"}))
    found = {name: len(result(poll(ask, name, cursor=cursor))["events"]) for name, cursor in cursors.items()}
    assert found == {ADDED: 0, "explanation.changed": 1}


def test_a_cursor_that_is_too_old_begins_again_and_says_so(world: World, ask: Ask, sql: psycopg.Connection) -> None:
    cursor = result(poll(ask, REMOVED))["cursor"]
    sql.execute("update change_feed set last = 9, deleted = 9")
    answer = result(poll(ask, REMOVED, cursor=cursor))
    assert (answer["events"], answer["truncated"]) == ([], True)
    assert result(poll(ask, REMOVED, cursor=answer["cursor"]))["truncated"] is False


def test_events_that_are_too_old_for_the_client_are_left_out(world: World, ask: Ask, sql: psycopg.Connection) -> None:
    cursor = result(poll(ask))["cursor"]
    world.put("y.html", a_page(B))
    sql.execute("update change set changed_at = changed_at - interval '1 hour'")
    answer = result(poll(ask, cursor=cursor, maxAgeMs=60_000))
    assert (answer["events"], answer["truncated"]) == ([], True)
    assert len(result(poll(ask, cursor=cursor, maxAgeMs=7_200_000))["events"]) == 1


def test_no_word_of_a_page_is_the_name_of_an_event(world: World, ask: Ask, feed: ChangeFeed) -> None:
    cursor = result(poll(ask))["cursor"]
    world.put("explanation.added/page.failed.html", a_page({"rule-events": "events/poll: name を呼ぶ。"}))
    (event,) = result(poll(ask, cursor=cursor))["events"]
    assert event["name"] == ADDED
    listed = result(ask(message("events/list", STATELESS), **named("events/list", STATELESS)))["events"]
    assert [each["name"] for each in listed] == list(page_events(feed).types)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "tool.ready"}, -32011),
        ({"name": "x" * 65}, -32602),
        ({"arguments": {"in": "junior"}}, -32602),
        ({"cursor": "rubbish"}, -32602),
        ({"cursor": 5}, -32602),
        ({"maxEvents": 0}, -32602),
        ({"maxAgeMs": -1}, -32602),
    ],
)
def test_a_wrong_poll_is_an_error_of_the_protocol(ask: Ask, params: dict[str, Any], code: int) -> None:
    assert poll(ask, **params).code == code


def test_a_cursor_of_one_event_is_none_of_another(ask: Ask) -> None:
    cursor = result(poll(ask, REMOVED))["cursor"]
    assert poll(ask, ADDED, cursor=cursor).code == -32602


def test_a_database_that_does_not_answer_is_an_error_without_its_words(world: World, database: Database) -> None:
    class Broken(ChangeFeed):
        def after(self, *_asked: Any) -> dict[str, Any]:
            raise Unavailable("postgres at 10.0.0.1 refused")

    feed = Broken(world.client, world.read.url)
    ask = Ask(McpApp(knowledge_server(KnowledgeTools(world, world.read), "1.2.3", page_events(feed)), ring))
    answer = poll(ask)
    assert (answer.code, "10.0.0.1" in answer.body, "Try again" in answer.body) == (-32603, False, True)


def test_a_poll_counts_like_a_call_of_a_tool(world: World, feed: ChangeFeed) -> None:
    taken: list[int] = []
    server = knowledge_server(KnowledgeTools(world, world.read), "1.2.3", page_events(feed))
    counted = Ask(McpApp(server, ring, allow=lambda _principal, searches: taken.append(searches)))
    poll(counted)
    counted(message("events/list", STATELESS), **named("events/list", STATELESS))
    assert taken == [1]
