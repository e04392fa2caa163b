"""The sample events of events/, each with the function it is for and what that function answers."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, unquote

from tests.integration.conftest import REPOSITORY, Deployed
from tests.mcp.wire import TOOLS

EVENTS = REPOSITORY / "events"
# A page and a Table that nobody else's test speaks of.
_PAGE = "junior/二次方程式の解き方_教材"
_OTHER_PAGE = "samples/二次方程式の解き方_教材"
_KEY = "sk_sakuin_the-key-in-this-file-opens-nothing"

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SampleEvent:
    """One event: `function` is its resource's name, `check` tests the answer of the function."""

    name: str
    function: str
    check: Callable[[Answer], None]

    def event(self, deployed: Deployed, *, authorized: bool = False) -> dict[str, Any]:
        """The event as it is sent; with `authorized` it bears the deployment's own key."""
        text = (EVENTS / f"{self.name}.json").read_text(encoding="utf-8")
        text = text.replace(quote_plus(_PAGE, safe="/"), quote_plus(_OTHER_PAGE, safe="/")).replace(_PAGE, _OTHER_PAGE)
        if authorized:
            kind = "SAKUIN_ADMIN_KEY" if self.name.startswith("api.") else "SAKUIN_API_KEY"
            text = text.replace(_KEY, deployed.environment[kind])
        read: dict[str, Any] = json.loads(text)
        return read


def nothing_comes_back(answer: Answer) -> None:
    assert answer == {"batchItemFailures": []}


def is_well(answer: Answer) -> None:
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["status"] == "ok"


def wants_a_key(answer: Answer) -> None:
    assert answer["statusCode"] == 401
    assert answer["headers"]["www-authenticate"].startswith("Bearer")


def status_is_shown(answer: Answer) -> None:
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["chunks"] > 0


def the_tools_are_listed(answer: Answer) -> None:
    tools = json.loads(answer["body"])["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS


def the_formula_is_found(answer: Answer) -> None:
    results = json.loads(answer["body"])["result"]["structuredContent"]["results"]
    assert len(results) == 3
    assert _PAGE in unquote(results[0]["url"])


def was_maintained(answer: Answer) -> None:
    assert {"events", "announcements", "restarted", "deletions", "reconcile_keys"} <= answer.keys()


def the_canary_arrived(answer: Answer) -> None:
    assert answer["arrived"] is True
    assert 0 < answer["milliseconds"] < 60_000


SAMPLE_EVENTS = (
    SampleEvent("api.healthz", "SakuinApi", is_well),
    SampleEvent("api.status", "SakuinApi", wants_a_key),
    SampleEvent("embed_chunks.batch", "SakuinEmbedChunks", nothing_comes_back),
    SampleEvent("index_material.delete", "SakuinIndexMaterial", nothing_comes_back),
    SampleEvent("index_material.recheck", "SakuinIndexMaterial", nothing_comes_back),
    SampleEvent("index_material.put", "SakuinIndexMaterial", nothing_comes_back),
    SampleEvent("index_material.reindex", "SakuinIndexMaterial", nothing_comes_back),
    SampleEvent("index_material.test_event", "SakuinIndexMaterial", nothing_comes_back),
    SampleEvent("index_tool.body", "SakuinIndexTool", nothing_comes_back),
    SampleEvent("index_tool.event", "SakuinIndexTool", nothing_comes_back),
    SampleEvent("maintain.canary", "SakuinMaintain", the_canary_arrived),
    SampleEvent("maintain.schedule", "SakuinMaintain", was_maintained),
    SampleEvent("mcp.list_tools", "SakuinMcp", wants_a_key),
    SampleEvent("mcp.search", "SakuinMcp", wants_a_key),
)
# The same, once more with a key that opens.
AUTHORIZED = (
    SampleEvent("api.status", "SakuinApi", status_is_shown),
    SampleEvent("mcp.list_tools", "SakuinMcp", the_tools_are_listed),
    SampleEvent("mcp.search", "SakuinMcp", the_formula_is_found),
)


def sample_files() -> set[str]:
    return {Path(path).stem for path in EVENTS.glob("*.json")}
