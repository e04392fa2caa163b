"""Requests and answers of both eras, as API Gateway sends them."""

import gzip
import json

import pytest
from sakuin import __version__
from sakuin.knowledge.learns.instructions import INSTRUCTIONS
from sakuin.mcp.admission import LONGEST_BODY

from tests.mcp.wire import ERAS, STATELESS, TOOLS, Answer, Ask, call, message, named

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_listed_in_the_same_order_each_time(ask: Ask, era: str) -> None:
    answers = [ask(message("tools/list", era), **named("tools/list", era)) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert len({answer.body for answer in answers}) == 1
    result = answers[0].json["result"]
    assert [tool["name"] for tool in result["tools"]] == TOOLS
    if era == STATELESS:
        assert (result["cacheScope"], result["ttlMs"] > 0) == ("private", True)


def test_the_stateless_revision_is_discovered_with_its_instructions_and_how_long_they_hold(ask: Ask) -> None:
    result = ask(message("server/discover", STATELESS), **named("server/discover", STATELESS)).json["result"]
    assert STATELESS in result["supportedVersions"]
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    assert result["ttlMs"] > 0
    assert {"tools", "prompts"} <= set(result["capabilities"])
    assert not {"resources", "logging", "completions"} & set(result["capabilities"])
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == __version__
    assert "learns" in result["instructions"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_revision_with_a_handshake_is_answered_in_its_own_without_a_session(ask: Ask, version: str) -> None:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = ask(message("initialize", **client))
    assert answer.headers["content-type"].startswith("application/json")
    assert "mcp-session-id" not in answer.headers
    result = answer.json["result"]
    assert (result["protocolVersion"], result["serverInfo"]["version"]) == (version, __version__)
    assert "learns" in result["instructions"]


@pytest.mark.parametrize(("era", "status"), [(ERAS[0], 200), (STATELESS, 400)])
def test_an_unknown_tool_is_an_error_of_the_protocol(ask: Ask, era: str, status: int) -> None:
    answer = call(ask, era, "drop_table", {})
    assert (answer.status, answer.code) == (status, INVALID_PARAMS)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        *((body, PARSE_ERROR) for body in ("", "nul", "[" * 100_000, b"\x00", gzip.compress(b"{}", mtime=0))),
        ('{"a":', PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":' + "9" * 5000 + ',"method":"ping"}', PARSE_ERROR),
        ("null", INVALID_REQUEST),
        ("5", INVALID_REQUEST),
        ('"text"', INVALID_REQUEST),
        ("[]", INVALID_REQUEST),
        ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST),
        ("{}", INVALID_REQUEST),
        ('{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1,"method":5}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', INVALID_REQUEST),
    ],
)
def test_what_is_no_request_is_400_with_the_code_of_json_rpc(ask: Ask, era: str, body: str | bytes, code: int) -> None:
    answer = ask(body, **named("ping", era))
    # The SDK has another code for it in the revisions with a handshake.
    expected = INVALID_PARAMS if (era, code) == (ERAS[0], INVALID_REQUEST) else code
    assert (answer.status, answer.code) == (400, expected)


@pytest.mark.parametrize("id", ["null", "true", "1.5"])
@pytest.mark.parametrize("era", ERAS)
def test_a_message_with_a_wrong_id_calls_nothing(ask: Ask, era: str, id: str) -> None:
    body = message("tools/list", era).replace('"id": 7', f'"id": {id}')
    answer = ask(body, **named("tools/list", era))
    # The SDK reads it as a notification in the revisions with a handshake.
    assert (answer.status, "result" in answer.body) == (202 if era == ERAS[0] else 400, False)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_arguments_of_any_depth_are_a_refusal_and_no_failure_of_ours(ask: Ask, era: str, depth: int) -> None:
    nested = json.dumps({"a": 0}).replace("0", "[" * depth + "]" * depth)
    body = message("tools/call", era, name="list_concepts", arguments={"x": 0}).replace('{"x": 0}', nested)
    answer = ask(body, **named("tools/call", era, "list_concepts"))
    assert answer.status in (200, 400)
    assert "error" in answer.json or answer.json["result"]["isError"]
    assert "-32603" not in answer.body


@pytest.mark.parametrize("era", ERAS)
def test_a_body_over_the_limit_is_413_whatever_it_holds(ask: Ask, era: str) -> None:
    body = message("tools/list", era, padding="x" * LONGEST_BODY)
    assert ask(body, **named("tools/list", era)).status == 413
    assert ask(b"\0" * (LONGEST_BODY + 1), **named("tools/list", era)).status == 413


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_is_utf_8_and_says_its_length(ask: Ask, era: str) -> None:
    answer = call(ask, era, "search_knowledge", {"query": "解の公式"})
    assert ("解の公式" in answer.body, "\\u" in answer.body) == (True, False)
    assert answer.headers["content-length"] == str(len(answer.body.encode()))
    assert ("resultType" in answer.json["result"]) == (era == STATELESS)


@pytest.mark.parametrize("era", ERAS)
def test_names_of_headers_in_capitals_and_a_body_in_base64_are_read(ask: Ask, era: str) -> None:
    headers = {name.upper(): value for name, value in named("tools/list", era).items()}
    result = ask(message("tools/list", era).encode(), **headers).json["result"]
    assert (len(result["tools"]), result.get("resultType")) == (len(TOOLS), "complete" if era == STATELESS else None)


@pytest.mark.parametrize("version", [None, "2025-03-26", STATELESS])
def test_a_batch_is_refused_whole(ask: Ask, version: str | None) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_concepts", "arguments": {}}}
    answer = ask(json.dumps([call, call]), mcp_protocol_version=version)
    assert (answer.status, "result" in answer.body) == (400, False)


@pytest.mark.parametrize(("header", "status"), [({"content_type": "text/plain"}, 400), ({"accept": "text/html"}, 406)])
def test_wrong_headers_are_refused(ask: Ask, header: dict[str, str | None], status: int) -> None:
    assert ask(message("ping"), **header).status == status


def test_a_notification_is_202_without_a_body(ask: Ask) -> None:
    answer = ask('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    assert (answer.status, answer.body) == (202, "")


@pytest.mark.parametrize("era", ERAS)
def test_the_prompt_to_write_learns_has_the_instructions_and_the_sections_of_one_page(ask: Ask, era: str) -> None:
    listed = ask(message("prompts/list", era), **named("prompts/list", era)).json["result"]["prompts"]
    assert [prompt["name"] for prompt in listed] == ["write_learns"]

    def get(page: str, name: str = "write_learns") -> Answer:
        body = message("prompts/get", era, name=name, arguments={"page": page})
        return ask(body, **named("prompts/get", era, name))

    (shown,) = get("junior/二次方程式の解き方_教材").json["result"]["messages"]
    text = shown["content"]["text"]
    assert text.startswith(INSTRUCTIONS)
    assert all(line in text for line in ("#rule-quadratic-formula\n", "title: 解の公式", "--check`", "sakuin push"))
    assert [get("no-page").code, get("x", "write_poems").code] == [INVALID_PARAMS] * 2
