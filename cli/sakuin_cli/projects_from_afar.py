"""Tables, Tools and endpoints of a deployment, as the commands work with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from sakuin.domain.project_records import UploadTarget
from sakuin.domain.table_document import parsed_table
from sakuin.errors import Invalid, Misconfigured, Unavailable

from sakuin_cli.ports import DeployedProjects, LocalFiles

# With room for its envelope this is what a request may carry (Lambda 6 MB); the rest travels through the bucket.
REQUEST_BYTES = 4_000_000
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0
_SLOWER = 1.5


@dataclass(frozen=True, slots=True)
class ProjectsFromAfar:
    """`project` is the one that is meant where none is named; `clock` gives seconds, `sleep` waits so many."""

    deployed: DeployedProjects
    files: LocalFiles
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    project: str

    def members(self, project: str | None) -> dict[str, Any]:
        """Who is a member: `project_id`, `members`."""
        named = self._project(project)
        return {"project_id": named, "members": list(self.deployed.members(named)["members"])}

    def remove_member(self, project: str | None, user_id: str) -> dict[str, Any]:
        """Makes a user no member."""
        self.deployed.remove_member(self._project(project), user_id)
        return {"user_id": user_id, "removed": True}

    def put_table(
        self, path: str, *, table_id: str | None, project: str | None, name: str | None, seconds: float
    ) -> dict[str, Any]:
        """A file becomes a new Table, or the next version of one: `table_id`, `version`. It waits for an import.

        A file that is no JSON is `Invalid` before anything is sent.
        """
        document = self.files.read(path)
        parsed_table(document)
        if len(document) > REQUEST_BYTES:
            table = self._uploaded(document, table_id, project, name or PurePath(path).stem, seconds)
        elif table_id is None:
            called = name or PurePath(path).stem
            table = self.deployed.create_table(self._project(project), name=called, document=document)
        else:
            table = self.deployed.replace_table(table_id, document=document)
        if table_id is not None and name is not None:
            self.deployed.rename_table(table_id, name)
        return {"table_id": table["id"], "version": table["version"]}

    def remove_table(self, table_id: str) -> dict[str, Any]:
        """Deletes a Table with its Tools."""
        self.deployed.delete_table(table_id)
        return {"table_id": table_id, "removed": True}

    def create_tool(
        self,
        *,
        table_id: str,
        project: str | None,
        json_path: str,
        name: str,
        description: str | None,
    ) -> dict[str, Any]:
        """A new Search Tool: `tool_id`, `search_index`."""
        made = self.deployed.create_tool(
            self._project(project), table_id=table_id, json_path=json_path, name=name, description=description
        )
        return {"tool_id": made["id"], "search_index": made["metadata"]["search_index"]}

    def await_tool(self, tool_id: str, *, seconds: float) -> dict[str, Any]:
        """The status once it is ready or an error, or when the time is over: `tool_id`, `search_index`."""
        status = self._waited(
            lambda: self.status(tool_id),
            lambda found: found["search_index"].get("state") in ("ready", "error"),
            seconds,
        )
        return {"tool_id": tool_id, "search_index": status["search_index"]}

    def status(self, tool_id: str) -> dict[str, Any]:
        """`tool_id`, `name`, `search_index`."""
        tool = self.deployed.tool(tool_id)
        return {"tool_id": tool["id"], "name": tool["name"], "search_index": tool["metadata"].get("search_index", {})}

    def remove_tool(self, tool_id: str) -> dict[str, Any]:
        """Deletes a Tool."""
        self.deployed.delete_tool(tool_id)
        return {"tool_id": tool_id, "removed": True}

    def reindex_tool(self, tool_id: str) -> dict[str, Any]:
        """Makes a Tool pending again: `tool_id`, `search_index`."""
        tool = self.deployed.reindex_tool(tool_id)
        return {"tool_id": tool["id"], "search_index": tool["metadata"].get("search_index", {})}

    def create_endpoint(self, *, name: str, project: str | None, tools: Sequence[str]) -> dict[str, Any]:
        """A new endpoint: `mcp_id`, `key`."""
        made = self.deployed.create_endpoint(self._project(project), name=name, tools=tools)
        return {"mcp_id": made["mcp"]["id"], "key": made["key"]}

    def bind(self, mcp_id: str, tools: Sequence[str]) -> dict[str, Any]:
        """Binds Tools one after the other: `mcp_id`, `status`, `tools`."""
        return _endpoint([self.deployed.bind(mcp_id, tool_id) for tool_id in tools][-1])

    def unbind(self, mcp_id: str, tools: Sequence[str]) -> dict[str, Any]:
        """Removes bindings: `mcp_id`, `status`, `tools`."""
        return _endpoint([self.deployed.unbind(mcp_id, tool_id) for tool_id in tools][-1])

    def switch(self, mcp_id: str, *, enabled: bool) -> dict[str, Any]:
        """Enables or disables an endpoint: `mcp_id`, `status`, `tools`."""
        return _endpoint(self.deployed.switch(mcp_id, "enabled" if enabled else "disabled"))

    def rotate(self, mcp_id: str) -> dict[str, Any]:
        """Another key: `mcp_id`, `key`."""
        made = self.deployed.rotate(mcp_id)
        return {"mcp_id": made["mcp"]["id"], "key": made["key"]}

    def _uploaded(
        self, document: bytes, table_id: str | None, project: str | None, name: str, seconds: float
    ) -> Mapping[str, Any]:
        size = len(document)
        if table_id is None:
            announced = self.deployed.announce_table(self._project(project), name=name, size=size)
        else:
            announced = self.deployed.announce_body(table_id, size=size)
        before, target = announced["table"], announced["upload"]
        self.deployed.upload(UploadTarget(target["url"], target["headers"]), document)
        table = self._waited(
            lambda: self.deployed.table(before["id"]), lambda found: not found["pending_upload"], seconds
        )
        if table["pending_upload"]:
            raise Unavailable(f"The table {before['id']} is uploaded, but was not imported within {seconds:g} seconds")
        if table["import_error"]:
            raise Invalid(f"The table {before['id']} was not imported: {table['import_error']}")
        return table

    def _waited(
        self, look: Callable[[], Mapping[str, Any]], done: Callable[[Mapping[str, Any]], bool], seconds: float
    ) -> Mapping[str, Any]:
        until, pause = self.clock() + seconds, _FIRST_PAUSE
        while not done(found := look()) and (left := until - self.clock()) > 0:
            self.sleep(min(pause, left))
            pause = min(pause * _SLOWER, _LONGEST_PAUSE)
        return found

    def _project(self, project: str | None) -> str:
        if named := project or self.project:
            return named
        raise Misconfigured("No project is named: give --project, or set SAKUIN_PROJECT to a project's id")


def _endpoint(view: Mapping[str, Any]) -> dict[str, Any]:
    return {"mcp_id": view["id"], "status": view["status"], "tools": view["tools"]}
