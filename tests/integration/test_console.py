"""The console of the deployed template, through the gateway: its function invokes the one that searches."""

import json
import re
from html import unescape

import httpx
import pytest

from tests.integration.conftest import REQUEST_SECONDS, Deployed

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
