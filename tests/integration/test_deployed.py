"""The deployed template: keys and methods at the gateway, the console, uploads, documents of Tables, sample events."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from tests.builders import a_page
from tests.integration.conftest import REQUEST_SECONDS, Deployed, eventually
from tests.integration.sample_events import AUTHORIZED, SAMPLE_EVENTS, SampleEvent, sample_files
from tests.integration.test_function_sizes import FUNCTIONS
from tests.oauth.person import Person
from tests.oauth.sdk_agent import Agent

pytestmark = pytest.mark.integration


def asked(deployed: Deployed, method: str = "POST", path: str = "/mcp", body: Any = None, **headers: str) -> Any:
    """One request with the knowledge key, unless `headers` say otherwise (an empty one is left out)."""
    sent = {
        "Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
        **headers,
    }
    return httpx.request(
        method, deployed.url + path, json=body, headers={name: text for name, text in sent.items() if text}, timeout=60
    )


def test_a_search_over_rest_is_answered_and_every_refusal_has_its_request(deployed: Deployed) -> None:
    assert asked(deployed, path="/v1/search", body={"query": "解の公式"}).json()["results"]
    for method, path, status in (
        ("GET", "/v1/search", 405),
        ("POST", "/v1/search", 422),
        ("POST", "/v1/nothing", 404),
        ("GET", "/v1/status", 401),
    ):
        refused = asked(deployed, method, path, {} if method == "POST" else None)
        assert refused.status_code == status
        assert refused.json()["request_id"], refused.text


@pytest.mark.parametrize("path", ["/mcp", "/mcp/11111111-1111-1111-1111-111111111111", "/v1/status"])
@pytest.mark.parametrize("key", ["", "Bearer wrong", "the key of the other endpoint"])
def test_a_missing_or_wrong_key_is_401_with_a_challenge(deployed: Deployed, path: str, key: str) -> None:
    if key == "the key of the other endpoint":
        other = "SAKUIN_API_KEY" if path.startswith("/v1") else "SAKUIN_ADMIN_KEY"
        key = f"Bearer {deployed.environment[other]}"
    answer = asked(deployed, "GET" if path.startswith("/v1") else "POST", path, Authorization=key)
    assert answer.status_code == 401
    # API Gateway renames it, and the local gateway as well.
    assert answer.headers["x-amzn-remapped-www-authenticate"].startswith("Bearer")
    assert "www-authenticate" not in answer.headers


def test_where_to_sign_in_is_found_without_that_header(deployed: Deployed) -> None:
    url, issuer = deployed.environment["SAKUIN_URL"], f"{deployed.environment['SAKUIN_SUPABASE_URL']}/auth/v1"
    for path in ("", "/mcp/11111111-1111-1111-1111-111111111111"):
        metadata = asked(deployed, "GET", f"/.well-known/oauth-protected-resource{path}", Authorization="").json()
        assert (metadata["resource"], metadata["authorization_servers"]) == (f"{url}{path}", [issuer])


QUESTION = "二次方程式を公式で解きたい"


@pytest.fixture(scope="module")
def browser(deployed: Deployed) -> httpx.Client:
    """Somebody who has signed in by a link."""
    browser = httpx.Client(
        base_url=deployed.url, headers={"Sec-Fetch-Site": "same-origin"}, follow_redirects=True, timeout=REQUEST_SECONDS
    )
    code = deployed.api("POST", "/v1/console-links")["path"].partition("code=")[2]
    browser.post("/console/sign-in/link", data={"code": code}).raise_for_status()
    return browser


def test_the_playground_shows_what_an_agent_gets(deployed: Deployed, browser: httpx.Client) -> None:
    answer = browser.get("/console/playground", params={"q": QUESTION})
    assert answer.status_code == 200, answer.text
    shown = re.search(r'<pre id="answer-json"[^>]*>(.*?)</pre>', answer.text, re.S)
    assert shown is not None, answer.text
    headers = {"Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}"}
    searched = httpx.post(
        f"{deployed.url}/v1/search", headers=headers, json={"query": QUESTION}, timeout=REQUEST_SECONDS
    )
    assert json.loads(unescape(shown[1])) == searched.json()


@pytest.mark.anyio
async def test_an_agent_that_knows_the_address_alone_searches_after_the_user_has_allowed_it(deployed: Deployed) -> None:
    environment = deployed.environment
    person = Person(deployed.url, environment["SAKUIN_USER_EMAIL"], environment["SAKUIN_USER_PASSWORD"])
    agent = Agent(environment["SAKUIN_TOOLS_MCP_URL"], person)

    async with agent.connected() as client:
        answer = await client.call_tool("search_columns", {"query": "公式の覚え方"})
    # The Table may be indexed later.
    assert not answer.is_error, answer.content

    assert environment["SAKUIN_USER_EMAIL"] in person.http.get(f"{deployed.url}/console/agents").text
    assert len(agent.shown) == 1


def invoked(deployed: Deployed, sample: SampleEvent, event: dict[str, Any]) -> dict[str, Any]:
    """The function's own answer; what it raises fails the test."""
    name = deployed.outputs[f"{sample.function.removeprefix('Sakuin')}Function"]
    answer = deployed.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    payload: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return payload


def test_every_function_has_a_sample_event_and_every_event_is_given() -> None:
    assert {one.function for one in SAMPLE_EVENTS} == set(FUNCTIONS)
    assert {one.name for one in SAMPLE_EVENTS} == sample_files()


@pytest.mark.parametrize("sample", [*SAMPLE_EVENTS, *AUTHORIZED], ids=lambda one: one.name)
def test_a_sample_event_is_answered_also_with_a_key_that_opens(deployed: Deployed, sample: SampleEvent) -> None:
    sample.check(invoked(deployed, sample, sample.event(deployed, authorized=sample in AUTHORIZED)))


def request_of(deployed: Deployed, tool: str) -> str:
    """The id of the request that made a tool, as the database kept it with the tool's event."""
    key = deployed.environment["SAKUIN_SUPABASE_SERVICE_KEY"]
    rows = httpx.get(
        f"{deployed.environment['SAKUIN_SUPABASE_URL']}/rest/v1/outbox",
        params={"tool_id": f"eq.{tool}", "event": "eq.ToolCreated", "select": "request_id"},
        headers={"apikey": key, "Authorization": f"Bearer {key}"},
        timeout=60,
    ).json()
    assert len(rows) == 1
    return str(rows[0]["request_id"])


def said_for(deployed: Deployed, work_id: str) -> list[str]:
    """The log messages of one piece of work."""
    log = Path(deployed.environment["SAKUIN_DATA_FOLDER"]) / "logs" / "emulator.log"
    # A line that is being written has no end yet.
    whole, _, _ = log.read_text(encoding="utf-8", errors="replace").rpartition("\n")
    lines = [line for line in whole.split("\n") if work_id in line]
    read: list[dict[str, Any]] = [json.loads(line) for line in lines if line.startswith("{")]
    return [line["message"] for line in read if line.get("correlation_id") == work_id]


def test_what_a_request_causes_goes_by_the_request_s_id(deployed: Deployed) -> None:
    project = deployed.api("POST", "/v1/projects", json={"name": "correlation"})["id"]
    document = {"name": "t", "data": {"a": "二次方程式の解の公式を使う。" * 100}}
    table = deployed.api("POST", f"/v1/projects/{project}/tables", json=document)["id"]
    wanted = {"table_id": table, "json_path": "", "name": "correlated", "type": "search"}
    tool = deployed.api("POST", f"/v1/projects/{project}/tools", json=wanted)["id"]

    work_id = request_of(deployed, tool)
    assert work_id != "None"
    expected = {"table scanned", "chunks embedded"}
    eventually(f"{expected} of {work_id} in the log", lambda: expected <= set(said_for(deployed, work_id)))


GOLDEN = {"rule-golden-ratio": "黄金比: 線分を大小に分け、全体と大の比が大と小の比に等しいときの比である。"}

BRONZE = {"rule-bronze-ratio": "青銅比: 1 と (3+√13)/2 の比を青銅比という。"}

PLATINUM = {"rule-platinum-ratio": "白金比: 1 と √3 の比を白金比という。"}

SILVER = {"rule-silver-ratio": "白銀比: 1 と √2 の比を白銀比という。紙の縦と横の比に使われる。"}


def ids(deployed: Deployed, query: str, **arguments: object) -> list[str]:
    results = deployed.search(query, **arguments)["results"]
    return [unquote(result["url"]).removeprefix(f"{deployed.url}/").replace(".html#", "#") for result in results]


def test_an_uploaded_rule_is_found_by_its_name_and_by_its_meaning(deployed: Deployed) -> None:
    # Rules that stand on no other test's page: among twins another might be the first.
    assert deployed.put("試験/比_教材.html", a_page(PLATINUM | BRONZE, title="比の話")) == "applied"
    assert ids(deployed, "白金比とは")[0] == "試験/比_教材#rule-platinum-ratio"
    assert ids(deployed, "せいどうひ")[0] == "試験/比_教材#rule-bronze-ratio"


def test_a_deleted_page_is_gone_and_can_come_back(deployed: Deployed) -> None:
    key = "試験/戻る_教材.html"
    deployed.put(key, a_page(GOLDEN, title="戻る"))
    assert deployed.delete(key) == "applied"
    assert "試験/戻る_教材#rule-golden-ratio" not in ids(deployed, "黄金比", top_k=50)
    code, output = deployed.sakuin("search", "黄金比", "--material", "試験/戻る_教材", "--json")
    assert (code, "There is no material '試験/戻る_教材'" in output) == (1, True)
    assert deployed.put(key, a_page(GOLDEN, title="戻る")) == "applied"
    assert ids(deployed, "黄金比", material="試験/戻る_教材") == ["試験/戻る_教材#rule-golden-ratio"]


def test_removing_the_current_version_brings_the_one_before_back(deployed: Deployed) -> None:
    key = "試験/版_教材.html"
    deployed.put(key, a_page(GOLDEN, title="版"))
    s3 = deployed.client("s3")
    newest = s3.put_object(Bucket=deployed.bucket, Key=key, Body=a_page(SILVER, title="版"))["VersionId"]
    assert deployed.outcome(key, newest) == "applied"
    s3.delete_object(Bucket=deployed.bucket, Key=key, VersionId=newest)
    before = s3.head_object(Bucket=deployed.bucket, Key=key)["VersionId"]

    eventually(f"version {before}", lambda: deployed.state("試験/版_教材")["indexed_version_id"] == before)
    assert ids(deployed, "黄金比", material="試験/版_教材") == ["試験/版_教材#rule-golden-ratio"]


OLD = "二次方程式の解の公式について説明します。係数を代入して解を求めます。" * 8

NEW = "三平方の定理で直角三角形の辺の長さを求める話をします。" * 10

OTHER = "一次関数の傾きと切片の話です。" * 20


def document_file(folder: Path, document: object) -> str:
    file = folder / "table.json"
    file.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return str(file)


def texts(result: dict[str, Any]) -> list[str]:
    return [hit["chunk"]["chunk_text"] for hit in result["structuredContent"]["results"]]


def test_text_that_was_edited_away_is_never_seen_again(deployed: Deployed, tmp_path: Path) -> None:
    table = deployed.printed("table", "put", document_file(tmp_path, {"articles": [{"content": OLD}]}))["table_id"]
    tool = deployed.printed("tool", "new", "--table", table, "--json-path", "", "--name", "edited", "--wait")
    endpoint = deployed.printed("endpoint", "new", "--name", "e", "--tool", tool["tool_id"])
    deployed.printed("table", "put", document_file(tmp_path, {"articles": [{"content": NEW}]}), "--id", table)
    eventually(
        "the new text", lambda: any("三平方" in text for text in texts(deployed.call_tool(endpoint, "edited", "定理")))
    )
    assert not [text for text in texts(deployed.call_tool(endpoint, "edited", "解の公式", top_k=50)) if text in OLD]
    path = f"/v1/mcps/{endpoint['mcp_id']}/tools/{tool['tool_id']}/search"
    over_rest = api(deployed, endpoint["key"], "POST", path, json={"query": "定理", "vendor_ids": True})
    assert over_rest.json() == deployed.call_tool(endpoint, "edited", "定理")["structuredContent"]
    deployed.printed("table", "rm", table)
    assert deployed.tool_names(endpoint) == []


def test_a_table_beyond_the_limits_of_a_request_arrives_through_s3(deployed: Deployed, tmp_path: Path) -> None:
    pages = {f"p{number}": {"small": "小さな文字列です。" * 100} for number in range(2800)}
    document = {"articles": [{"content": OLD}], "pages": pages}
    file = document_file(tmp_path, document)
    assert Path(file).stat().st_size > 6_000_000
    table = deployed.printed("table", "put", file)
    assert table["version"] == 1
    asked = ("--table", table["table_id"], "--json-path", "/articles", "--name", "big", "--wait")
    tool = deployed.printed("tool", "new", *asked)
    assert tool["search_index"]["nodes_count"] == 1
    deployed.printed("table", "rm", table["table_id"])


def api(deployed: Deployed, bearer: str, method: str, path: str, **parts: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {bearer}"}
    return httpx.request(method, deployed.url + path, headers=headers, timeout=60, **parts)
