"""The event of explanations of the function `mcp`, and the refused questions that it keeps."""

import json
import os
import threading
from dataclasses import replace
from typing import Any

from sakuin.platform.keys import hash_of_key
from sakuin.platform.secrets import search_secret
from sakuin.platform.supabase.client import connected
from sakuin.upkeep.refused_questions import RefusedQuestions
from sakuin.wiring import maintain, mcp
from sakuin.wiring.clients import Clients

from tests.events import Context
from tests.isolation.stack import Stack
from tests.worlds import long

KEY_IN_QUESTION = "sk-abcdefghijklmnopqrstuvwxyz"


def direct(stack: Stack, query: str = "公式") -> dict[str, Any]:
    event = {"asked": {"query": query}, "payer": "console", "language": "en", "with_answer": True}
    answer = stack.mcp({"explanation": event}, Context())
    assert answer["statusCode"] == 200
    said: dict[str, Any] = json.loads(answer["body"])
    return said


def test_the_event_answers_without_a_key(stack: Stack) -> None:
    assert direct(stack)["answer"]["structured"]["no_good_match"] is True


def test_a_request_of_the_gateway_with_this_member_is_a_request(stack: Stack) -> None:
    """No gateway sends one; a caller who could would still need a key."""
    context = {"http": {"method": "POST", "path": "/mcp", "sourceIp": "127.0.0.1"}, "stage": "$default"}
    event = {"version": "2.0", "rawPath": "/mcp", "rawQueryString": "", "headers": {}, "requestContext": context}
    answer = stack.mcp({**event, "explanation": {"asked": {"query": "公式"}}}, Context())
    assert answer["statusCode"] == 401


def test_a_refused_question_is_counted_without_secrets_and_without_who_asked(stack: Stack) -> None:
    stack.sql.execute("delete from refused_question")
    question = f"  what is\n the capital of\u200b France? {KEY_IN_QUESTION} {'x' * 400}"
    for _ in range(2):
        stack.rpc(None, "tools/call", stack.knowledge_key, name="search_knowledge", arguments={"query": question})
    direct(stack, question)
    (kept,) = RefusedQuestions(connected(stack.database.rest_url, stack.database.service_key)).most_frequent(
        None, limit=10
    )
    assert (kept.tool_id, kept.asked, kept.first_day) == (None, 2, kept.last_day)
    assert kept.question.startswith("what is the capital of France? [hidden] xxx")
    assert len(kept.question) == 300
    (columns,) = stack.sql.execute(
        "select array_agg(column_name::text order by ordinal_position) from information_schema.columns "
        "where table_name = 'refused_question'"
    ).fetchall()
    assert columns == (["day", "tool_id", "question", "asked", "weak"],)


def test_what_a_worker_counted_is_written_with_its_next_event_without_who_asked(stack: Stack) -> None:
    stack.sql.execute("delete from daily_count")
    environ = os.environ | {"SECRET_NAME": search_secret(stack.secret)}
    worker = replace(stack, mcp=mcp.handler(Clients.of(environ, "Search")))
    question = {"name": "search_knowledge", "arguments": {"query": "the capital of France"}}
    for _ in range(2):
        worker.rpc(None, "tools/call", stack.knowledge_key, **question)
    for thread in threading.enumerate():
        if thread.name == "daily counts":
            thread.join()
    rows = stack.sql.execute("select project_id, key, split_part(name, ':', 1), total from daily_count").fetchall()
    key = hash_of_key(stack.knowledge_key)[:12]
    assert set(rows) == {(None, key, "asked", 1), (None, key, "refused", 1), (None, "", "ms", 1)}
    (columns,) = stack.sql.execute(
        "select array_agg(column_name::text order by ordinal_position) from information_schema.columns "
        "where table_name = 'daily_count'"
    ).fetchall()
    assert columns == (["day", "project_id", "key", "name", "shard", "total"],)


def test_maintenance_deletes_old_questions_and_all_of_them_once_none_are_wanted(stack: Stack) -> None:
    stack.sql.execute("delete from refused_question")
    stack.sql.execute(
        "insert into refused_question (day, question) "
        "select (now() at time zone 'utc')::date - ago, 'a' from unnest(array[0, 29, 30]) ago"
    )
    for wanted, left in (("true", 2), ("false", 0)):
        maintain.handler(Clients.of(os.environ | {"RECORD_REFUSED_QUESTIONS": wanted}, "Maintain"))({}, Context())
        assert stack.sql.execute("select count(*) from refused_question").fetchone() == (left,)


def test_a_tool_s_questions_are_its_own_and_go_with_it(stack: Stack) -> None:
    project = stack.ask("POST", "/v1/projects", {"name": "p"}, bearer=stack.admin_key).json["id"]
    body = {"name": "t", "data": {"a": long("一次関数の傾き")}}
    table = stack.ask("POST", f"/v1/projects/{project}/tables", body, bearer=stack.admin_key).json["id"]
    made = {"table_id": table, "json_path": "", "name": "search", "type": "search"}
    tool = stack.ask("POST", f"/v1/projects/{project}/tools", made, bearer=stack.admin_key).json["id"]
    asked = {"name": "e", "tool_ids": [tool]}
    endpoint = stack.ask("POST", f"/v1/projects/{project}/mcps", asked, bearer=stack.admin_key).json
    stack.indexed(project, table)
    question = {"query": "地震と津波"}
    said = stack.rpc(endpoint["mcp"]["id"], "tools/call", endpoint["key"], name="search", arguments=question)
    assert said.json["result"]["structuredContent"]["no_good_match"] is True
    refused = RefusedQuestions(connected(stack.database.rest_url, stack.database.service_key))
    assert [(each.tool_id, each.question) for each in refused.most_frequent([tool], limit=10)] == [(tool, "地震と津波")]
    assert refused.most_frequent([], limit=10) == []
    stack.ask("DELETE", f"/v1/tools/{tool}", bearer=stack.admin_key)
    assert refused.most_frequent([tool], limit=10) == []
