"""What agents say of answers: who may, what is counted, and what is kept of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sakuin.mcp.app import PUBLIC_PATH
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.upkeep.gaps import gaps_of
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions, feedback_recorder

from tests.mcp.tool_answers import answer, call, said
from tests.mcp.wire import ERAS, TOOLS, Answer, Ask, app_of, message, named
from tests.worlds import World

FORMULA = "junior/二次方程式の解き方_教材#rule-quadratic-formula"
QUESTION = {"query": "how do I sk_sakuin_secret solve it?"}


@pytest.fixture(params=[True, False], ids=["with questions", "without"])
def tools(world: World, request: pytest.FixtureRequest, sql: psycopg.Connection) -> Iterator[KnowledgeTools]:
    recorded = feedback_recorder(
        Feedback(world.client), lambda text: text.replace("secret", "…"), with_questions=request.param
    )
    yield KnowledgeTools(world, world.read, record_feedback=recorded, has_feedback_tool=True)
    sql.execute("delete from feedback")


def counts(world: World) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        (one.explanation or "", one.query or ""): (one.answered, one.unanswered)
        for one in Feedback(world.client).counts(100)
    }


def test_it_is_counted_by_explanation_and_question(
    world: World, tools: KnowledgeTools, request: pytest.FixtureRequest
) -> None:
    url = answer(call(tools, "get_chunk_by_id", id=FORMULA))["chunk"]["url"]
    for id in (FORMULA, url):
        counted = answer(call(tools, "give_feedback", **QUESTION, id=id, answered=True))
        assert (counted["id"], counted["answered"]) == (FORMULA, True)
    call(tools, "give_feedback", **QUESTION, id=FORMULA, answered=False)
    assert answer(call(tools, "give_feedback", **QUESTION, answered=False))["id"] is None
    kept = "how do I sk_sakuin_… solve it?" if "without" not in request.node.name.partition("[")[2] else ""
    assert counts(world) == {(FORMULA, kept): (2, 1), ("", kept): (0, 1)}
    (gap,) = gaps_of(RefusedQuestions(world.client).most_frequent(None, 10)) if kept else [None]
    assert gap is None or (gap.asked, gap.weak, gap.unanswered) == (2, 0, 2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"id": "nothing#rule-a", "answered": True}, "There is no chunk"),
        ({"answered": True}, "Send the 'id' of the result that answered"),
        ({"id": FORMULA}, "'answered' is required"),
        ({"id": FORMULA, "answered": "yes"}, "'answered'"),
        ({"id": FORMULA, "answered": True, "query": " "}, "'query' must not be blank"),
    ],
)
def test_what_cannot_be_counted_is_refused(
    world: World, tools: KnowledgeTools, arguments: dict[str, Any], told: str
) -> None:
    result = call(tools, "give_feedback", **{**QUESTION, **arguments})
    assert (result.is_error, told in said(result)) == (True, True)
    assert counts(world) == {}


@pytest.mark.parametrize("era", ERAS)
def test_the_tool_is_listed_where_it_is_wanted_and_for_callers_with_a_key(tools: KnowledgeTools, era: str) -> None:
    def asked(offered: KnowledgeTools, path: str) -> tuple[list[str], Answer]:
        allow = lambda _principal, _searches: None  # noqa: E731
        ask = Ask(app_of(offered, allow_public=allow))
        listed = ask(message("tools/list", era), path=path, **named("tools/list", era))
        arguments = {**QUESTION, "answered": False}
        body = message("tools/call", era, name="give_feedback", arguments=arguments)
        called = ask(body, path=path, **named("tools/call", era, "give_feedback"))
        return [tool["name"] for tool in listed.json["result"]["tools"]], called

    hints = tools.listed()[-1].annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.destructive_hint) == (False, False)
    names, called = asked(tools, "/mcp")
    assert (names, called.json["result"]["structuredContent"]["answered"]) == ([*TOOLS, "give_feedback"], False)
    for offered, path in ((replace(tools, has_feedback_tool=False), "/mcp"), (tools, PUBLIC_PATH)):
        names, called = asked(offered, path)
        assert (names, "Unknown tool" in called.body) == (TOOLS, True)


def test_over_rest_it_is_counted_whether_the_tool_is_listed_or_not(world: World, tools: KnowledgeTools) -> None:
    offered = replace(tools, has_feedback_tool=False)
    ask = Ask(app_of(offered))
    body = json.dumps({**QUESTION, "id": FORMULA, "answered": True})
    assert ask(body, path="/v1/feedback").json["id"] == FORMULA
    assert sum(answered for answered, _ in counts(world).values()) == 1
    assert ask(body, path="/v1/feedback", authorization="Bearer wrong").status == 401
    assert ask(body, "GET", path="/v1/feedback").status == 405
