"""A deployment's projects, over its REST API with an admin key."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from sakuin.domain.project_records import Switch, UploadTarget
from sakuin.errors import Unavailable

from sakuin_cli.client import answered

_JSON = {"Content-Type": "application/json"}
_UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=5.0, write=600.0)
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class RestProjects:
    """A `DeployedProjects`. `client` is httpx's, with the deployment's address and key (`rest_client.connected`)."""

    client: httpx.Client = field(repr=False)

    def create_project(self, name: str) -> Mapping[str, Any]:
        return self._asked("POST", "/v1/projects", {"name": name})

    def members(self, project_id: str) -> Mapping[str, Any]:
        return self._asked("GET", f"/v1/projects/{_id(project_id)}/members")

    def remove_member(self, project_id: str, user_id: str) -> None:
        self._asked("DELETE", f"/v1/projects/{_id(project_id)}/members/{_id(user_id)}")

    def create_table(self, project_id: str, *, name: str, document: bytes) -> Mapping[str, Any]:
        return self._sent("POST", f"/v1/projects/{_id(project_id)}/tables", {"name": name}, document)

    def replace_table(self, table_id: str, *, document: bytes) -> Mapping[str, Any]:
        return self._sent("PUT", f"/v1/tables/{_id(table_id)}", {}, document)

    def rename_table(self, table_id: str, name: str) -> Mapping[str, Any]:
        return self._asked("PATCH", f"/v1/tables/{_id(table_id)}", {"name": name})

    def table(self, table_id: str) -> Mapping[str, Any]:
        return self._asked("GET", f"/v1/tables/{_id(table_id)}")

    def announce_table(self, project_id: str, *, name: str, size: int) -> Mapping[str, Any]:
        return self._asked("POST", f"/v1/projects/{_id(project_id)}/tables/uploads", {"name": name, "size": size})

    def announce_body(self, table_id: str, *, size: int) -> Mapping[str, Any]:
        return self._asked("POST", f"/v1/tables/{_id(table_id)}/uploads", {"size": size})

    def upload(self, target: UploadTarget, body: bytes) -> None:
        # Not with the client: the bucket must not see its key.
        try:
            answer = httpx.put(target.url, content=body, headers=dict(target.headers), timeout=_UPLOAD_TIMEOUT)
        except httpx.HTTPError as error:
            raise Unavailable("The bucket did not take the upload. Try again in a moment") from error
        if not answer.is_success:
            raise Unavailable(f"The bucket refused the upload ({answer.status_code}). Try again")

    def delete_table(self, table_id: str) -> None:
        self._asked("DELETE", f"/v1/tables/{_id(table_id)}")

    def create_tool(
        self, project_id: str, *, table_id: str, json_path: str, name: str, description: str | None
    ) -> Mapping[str, Any]:
        asked = {"table_id": table_id, "json_path": json_path, "name": name, "description": description}
        return self._asked("POST", f"/v1/projects/{_id(project_id)}/tools", {"type": "search", **asked})

    def tool(self, tool_id: str) -> Mapping[str, Any]:
        return self._asked("GET", f"/v1/tools/{_id(tool_id)}")

    def reindex_tool(self, tool_id: str) -> Mapping[str, Any]:
        return self._asked("POST", f"/v1/tools/{_id(tool_id)}/reindex")

    def delete_tool(self, tool_id: str) -> None:
        self._asked("DELETE", f"/v1/tools/{_id(tool_id)}")

    def create_endpoint(self, project_id: str, *, name: str, tools: Sequence[str]) -> Mapping[str, Any]:
        return self._asked("POST", f"/v1/projects/{_id(project_id)}/mcps", {"name": name, "tool_ids": list(tools)})

    def bind(self, mcp_id: str, tool_id: str) -> Mapping[str, Any]:
        return self._asked("PUT", f"/v1/mcps/{_id(mcp_id)}/tools/{_id(tool_id)}")

    def unbind(self, mcp_id: str, tool_id: str) -> Mapping[str, Any]:
        return self._asked("DELETE", f"/v1/mcps/{_id(mcp_id)}/tools/{_id(tool_id)}")

    def switch(self, mcp_id: str, status: Switch) -> Mapping[str, Any]:
        return self._asked("PATCH", f"/v1/mcps/{_id(mcp_id)}", {"status": status})

    def rotate(self, mcp_id: str) -> Mapping[str, Any]:
        return self._asked("POST", f"/v1/mcps/{_id(mcp_id)}/rotate")

    def _asked(self, method: str, path: str, body: object = None) -> Mapping[str, Any]:
        return _view(answered(self.client, self.client.build_request(method, path, json=body)))

    def _sent(self, method: str, path: str, members: Mapping[str, str], document: bytes) -> Mapping[str, Any]:
        # The document travels as it is: decoded and encoded it might be another one.
        head = json.dumps(members).removesuffix("}") + ("," if members else "") + '"data":'
        content = head.encode() + document.removeprefix(_BOM) + b"}"
        return _view(answered(self.client, self.client.build_request(method, path, content=content, headers=_JSON)))


def _view(answer: Any) -> Mapping[str, Any]:
    view: Mapping[str, Any] = answer or {}
    return view


def _id(id: str) -> str:
    """As one step of a path, whatever a person typed."""
    return quote(id, safe="")
