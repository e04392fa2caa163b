"""Which routes a member may call, and with what; every other one is for admins alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

ROLES = ("viewer", "editor", "owner")
# Open to everybody: it answers monitors.
OPEN = {"GET /healthz"}
# Open with the keys of MCP: test_searches.
TOOL_SEARCH = "/v1/mcps/{mcp_id}/tools/{tool_id}/search"
LIBRARY = {f"POST /v1/{name}" for name in ("search", "read", "find", "feedback")}
SEARCHES = {*LIBRARY, f"POST {TOOL_SEARCH}"}
Ids = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Route:
    """A route of members. `body` makes what is sent from the ids that the caller names, `role` is what it needs."""

    name: str
    body: Callable[[Ids], Any] = lambda _ids: None
    role: str = "editor"

    @property
    def method(self) -> str:
        return self.name.partition(" ")[0]

    def path(self, ids: Ids) -> str:
        return self.name.partition(" ")[2].format_map(ids)


def _tool(ids: Ids) -> dict[str, str]:
    return {"table_id": ids["table_id"], "json_path": "", "type": "search", "name": f"t_{uuid4().hex[:8]}"}


# In an order in which an owner can call them all, one after the other.
MEMBERS = [
    Route("POST /v1/projects", lambda _ids: {"name": "new"}, role="viewer"),
    Route("GET /v1/projects", role="viewer"),
    Route("POST /v1/projects/{project_id}/members", lambda _ids: {"user_id": str(uuid4())}, role="owner"),
    Route("GET /v1/projects/{project_id}/members", role="viewer"),
    Route("DELETE /v1/projects/{project_id}/members/{user_id}", role="owner"),
    Route("PUT /v1/projects/{project_id}/synonyms", lambda _ids: {"groups": [["解の公式", "かいのしき"]]}),
    Route("GET /v1/projects/{project_id}/synonyms", role="viewer"),
    Route("POST /v1/projects/{project_id}/tables", lambda _ids: {"name": "new", "data": {}}),
    Route("POST /v1/projects/{project_id}/tables/uploads", lambda _ids: {"name": "new", "size": 10}),
    Route("GET /v1/projects/{project_id}/tables", role="viewer"),
    Route("GET /v1/tables/{table_id}", role="viewer"),
    Route("GET /v1/tables/{table_id}/data", role="viewer"),
    Route("PUT /v1/tables/{table_id}", lambda _ids: {"data": {"public": {"a": "changed"}}}),
    Route("PATCH /v1/tables/{table_id}", lambda _ids: {"name": "renamed"}),
    Route("POST /v1/tables/{table_id}/uploads", lambda _ids: {"size": 10}),
    Route("POST /v1/projects/{project_id}/tools", _tool),
    Route("GET /v1/projects/{project_id}/tools", role="viewer"),
    Route("GET /v1/tools/{tool_id}", role="viewer"),
    Route("PATCH /v1/tools/{tool_id}", lambda _ids: {"description": "changed"}),
    Route("POST /v1/tools/{tool_id}/reindex"),
    Route("POST /v1/projects/{project_id}/mcps", lambda ids: {"name": "new", "tool_ids": [ids["tool_id"]]}),
    Route("GET /v1/projects/{project_id}/mcps", role="viewer"),
    Route("GET /v1/mcps/{mcp_id}", role="viewer"),
    Route("PATCH /v1/mcps/{mcp_id}", lambda _ids: {"name": "renamed"}),
    Route("POST /v1/mcps/{mcp_id}/rotate"),
    Route("DELETE /v1/mcps/{mcp_id}/tools/{tool_id}"),
    Route("PUT /v1/mcps/{mcp_id}/tools/{tool_id}"),
    Route("DELETE /v1/mcps/{mcp_id}"),
    Route("DELETE /v1/tools/{tool_id}"),
    Route("DELETE /v1/tables/{table_id}"),
    Route("DELETE /v1/projects/{project_id}", role="owner"),
]
# What is sent to the routes that members do not have.
BODIES: dict[str, Any] = {
    "POST /v1/files/results": {"versions": []},
    "POST /v1/anchors": [],
    "POST /v1/files/uploads": {"files": []},
    "PUT /v1/descriptions": {"folder": "math", "description": "What it has."},
    "POST /v1/keys": {"name": "one", "purpose": "search"},
    "POST /v1/dead-letters": {"action": "discard"},
    "POST /v1/reconcile": {"kind": "rows"},
    "POST /v1/erase": {"folder": "math"},
    "POST /v1/index/activate": {},
    "POST /v1/index/vectors": {"queries": ["公式"]},
    "POST /v1/explain": {"query": "公式"},
    **{name: {"query": "math/a で解の公式に係数を代入する"} for name in SEARCHES},
    "POST /v1/read": {"page": "math/a"},
    "POST /v1/find": {"text": "公式"},
    "POST /v1/feedback": {"query": "公式", "answered": False},
}
PUSHES = (("GET", "/v1/files/text"), ("DELETE", "/v1/files"))
OF_PUSHES = [
    *map(" ".join, PUSHES),
    "GET /v1/files",
    *(f"POST /v1/{path}" for path in ("files/results", "anchors", "files/uploads", "index/vectors")),
]
