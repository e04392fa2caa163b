"""Both MCP endpoints as API Gateway reaches them, over a library of one page and a Search Tool that finds nothing."""

import json
from collections.abc import Mapping
from typing import Any

from sakuin.language.model import AnalyzedQuery
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.keys import hash_of_key
from sakuin.tables.model import BoundTool, Endpoint
from sakuin.tables.search import TableAnswer

from tests.events import ENDPOINT, ENDPOINT_KEY
from tests.mcp.wire import STATELESS, Answer, Ask, app_of

# All revisions before the stateless one take the same way; only this one has batches.
ERAS = ("2025-03-26", STATELESS)
TOOLS = f"/mcp/{ENDPOINT}"
PATHS = ("/mcp", TOOLS)
TOOL_OF = {"/mcp": "search_knowledge", TOOLS: "search"}
# What a caller may be told; anything from 500 on would be our failure, not his.
TOLD = {200, 202, 400, 401, 403, 404, 405, 406, 411, 413, 415, 422}


class NothingFound:
    """Searches of Tables that find nothing."""

    @property
    def records(self) -> Any:
        return self

    def is_bound(self, _mcp_id: str, _tool_id: str) -> bool:
        return True

    def table_search(self, version: str | None = None) -> Any:
        return self

    def __call__(self, _mcp_id: str, _tool: BoundTool, query: str, **_how: Any) -> TableAnswer:
        return TableAnswer(AnalyzedQuery(query, query, ()), {"state": "ready", "indexed_at": None}, ())


def handler_of(tools: KnowledgeTools) -> Ask:
    """The function `mcp`, with one endpoint of Search Tools."""
    bound = BoundTool("t", "p", "table", "", "search", "d", {})
    known, endpoint = hash_of_key(ENDPOINT_KEY), Endpoint(ENDPOINT, "p", (bound,))
    app = app_of(
        tools,
        SearchTools(NothingFound()),
        endpoint=lambda mcp_id, key_hash: ((known,), endpoint if (mcp_id, key_hash) == (ENDPOINT, known) else None),
    )
    return Ask(app)


def asked(
    handler: Ask, body: str | bytes, headers: Mapping[str, str | None] | None = None, *, path: str = "/mcp"
) -> Answer:
    """One POST with the key of the path; a header that is None is left out."""
    own = {"authorization": f"Bearer {ENDPOINT_KEY}"} if path == TOOLS else {}
    return handler(body, path=path, **{**own, **(headers or {})})


def message(method: object, params: object, era: str, *, id: object = 7) -> str:
    """A request of an era, with its envelope if it needs one."""
    if era == STATELESS and isinstance(params, dict):
        envelope = {"protocolVersion": STATELESS, "clientCapabilities": {}}
        params = {**params, "_meta": {f"io.modelcontextprotocol/{name}": value for name, value in envelope.items()}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def routed(method: str, era: str, name: str | None = None) -> dict[str, str | None]:
    """The headers that go with a request of an era."""
    if era != STATELESS:
        return {"mcp-protocol-version": era}
    return {"mcp-protocol-version": era, "mcp-method": method, "mcp-name": name}


def is_told(answer: Answer) -> bool:
    """Whether an answer is the caller's: no failure of the server and no internals."""
    inside = ("Traceback", 'File "/', "site-packages", "0x7")
    return answer.status in TOLD and not any(word in answer.body for word in inside)
