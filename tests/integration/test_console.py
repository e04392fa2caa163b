"""The console of the deployed template: its pages, and the user of `sakuin up` who signs in and allows an agent."""

import json
import re
from html import unescape

import httpx
import pytest

from tests.integration.conftest import REQUEST_SECONDS, Deployed
from tests.oauth.person import Person
from tests.oauth.sdk_agent import Agent

pytestmark = pytest.mark.integration

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
