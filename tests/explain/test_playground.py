"""The playground of the console: an agent's answer, its explanation, and what a call of the function may cost."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from sakuin.errors import Misconfigured, NotFound, OverLimit, SakuinError, Unavailable
from sakuin.explain.ask_mcp import AskMcp, PlaygroundAnswer, PlaygroundQuestion
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.aws import LambdaFunction

from tests.doubles.playground import FUNCTION, Invoked, playground
from tests.worlds import TableWorld, World, long

TASUKIGAKE = "junior/二次方程式の解き方_教材#method-tasukigake"
STRANGER = "00000000-0000-4000-8000-0000000000b2"
DOCUMENT = {
    "articles": [{"content": long("一次関数の傾き")}, {"content": long("確率の求め方")}],
    "notes": {"a": "短い"},
}


def asked_of_pages(world: World, **question: Any) -> PlaygroundAnswer:
    arguments = {"query": "二次方程式を公式で解きたい"} | question.pop("arguments", {})
    return playground(world)(PlaygroundQuestion(arguments, **question))


def test_the_answer_is_the_one_that_an_agent_gets_with_its_size_and_time(world: World) -> None:
    given = KnowledgeTools(world, world.read).call("search_knowledge", {"query": "二次方程式を公式で解きたい"})
    said = asked_of_pages(world)
    assert given is not None
    assert (said.structured, said.text) == (given.structured_content, given.content[0].text)
    assert (said.is_error, said.problem) == (False, None)
    both = len(json.dumps(said.structured, ensure_ascii=False, separators=(",", ":")).encode()) + len(
        said.text.encode()
    )
    assert both < said.size < 1.5 * both
    assert said.milliseconds > 0


@pytest.mark.parametrize(
    ("expected", "language", "why"),
    [
        (TASUKIGAKE, "en", "It is in place 2"),
        ("/school_asset/junior/二次方程式の解き方_教材.html#method-tasukigake", "ja", "順位は 2 位です"),
        ("junior/二次方程式の解き方_教材#gone", "ja", "この ID では何も索引されていません"),
        ("たすき掛け", "ja", "これは説明の ID ではありません"),
        ("たすき掛け", "en", "This is no id of an explanation"),
    ],
)
def test_an_expected_chunk_is_explained_in_one_language(world: World, expected: str, language: Any, why: str) -> None:
    said = asked_of_pages(world, expected=expected, language=language)
    assert said.explanation is not None
    assert said.explanation["expected"]["why"].startswith(why)


def test_a_wrong_argument_is_the_answer_that_an_agent_gets(world: World) -> None:
    said = asked_of_pages(world, arguments={"top_k": 500})
    assert (said.is_error, said.structured, said.explanation) == (True, None, None)
    assert said.text == said.problem == "'top_k' must be a whole number from 1 to 50"


def test_a_tool_answers_as_at_its_endpoint(tables: TableWorld) -> None:
    table = tables.table(DOCUMENT)
    tool = tables.tool(table, "/articles")
    endpoint = tables.endpoint(tool)
    tables.settle()
    given = tables.answer(endpoint, "傾き")
    question = PlaygroundQuestion({"query": "傾き"}, endpoint, tool, expected="/1/content")
    said = playground(None, tables)(question)
    assert said.structured == given
    assert said.explanation is not None
    assert said.explanation["expected"]["id"] == "/articles/1/content"


def test_a_tool_that_no_endpoint_has_is_not_found(tables: TableWorld) -> None:
    tool = tables.tool(tables.table(DOCUMENT), "")
    other = tables.endpoint()
    for mcp_id in (other, None, "not-an-id"):
        with pytest.raises(NotFound, match="bind and enable it"):
            playground(None, tables)(PlaygroundQuestion({"query": "x"}, mcp_id, tool))


def test_a_question_counts_with_those_of_its_project_or_user(tables: TableWorld) -> None:
    _, tool, endpoint = tables.documented(DOCUMENT)
    taken: list[tuple[str, int]] = []

    def allow(principal: str, searches: int) -> None:
        taken.append((principal, searches))
        raise OverLimit("The limit is reached", retry_after=5)

    with pytest.raises(OverLimit, match="The limit is reached"):
        playground(None, tables, allow)(PlaygroundQuestion({"query": "x"}, endpoint, tool))
    assert taken == [(tables.project, 1)]
    for user in (STRANGER, None):
        with pytest.raises(OverLimit):
            playground(None, None, allow)(PlaygroundQuestion({"query": "x"}, user_id=user))
    assert taken[1:] == [(STRANGER, 1), ("console", 1)]


def aws_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "secret"}}, "Invoke")


@pytest.mark.parametrize(
    ("failure", "kind", "sentence"),
    [
        (ReadTimeoutError(endpoint_url="x"), Unavailable, "did not answer in time. Try again"),
        (ConnectTimeoutError(endpoint_url="x"), Unavailable, "did not answer"),
        (aws_error("TooManyRequestsException"), Unavailable, "too many calls at once"),
        (aws_error("AccessDeniedException"), Misconfigured, "Deploy the template again"),
        (aws_error("ServiceException"), Unavailable, r"did not answer \(ServiceException\)"),
    ],
)
def test_a_call_that_fails_says_what_to_do(failure: Exception, kind: type[SakuinError], sentence: str) -> None:
    with pytest.raises(kind, match=f"sakuin-SakuinMcp:live .*{sentence}") as raised:
        AskMcp(LambdaFunction(Invoked(failure), FUNCTION)).playground(PlaygroundQuestion({"query": "x"}))
    assert "secret" not in str(raised.value)
    assert "123456789012" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "failed", "sentence"),
    [
        ({"errorMessage": "Task timed out after 29.00 seconds"}, True, "did not finish in time"),
        ({"errorMessage": "KeyError: secret"}, True, "failed; its log says why"),
        ({"statusCode": 500, "body": "{}"}, False, "The search failed; the log of the function mcp says why"),
    ],
)
def test_a_function_that_fails_says_where_the_reason_is(answer: Any, failed: bool, sentence: str) -> None:
    function = LambdaFunction(Invoked(lambda _event: answer, failed), FUNCTION)
    with pytest.raises(Unavailable, match=sentence):
        AskMcp(function).playground(PlaygroundQuestion({"query": "x"}))
