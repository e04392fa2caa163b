"""A running command and its clients. Imports are inside the functions, so that `sakuin --help` loads none of them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from sakuin.errors import Invalid

from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.agent import AgentClient
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record
    from sakuin_cli.settings import CommandSettings
    from sakuin_cli.site.library import LibraryFiles

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_URL = "https://abcd.execute-api.ap-northeast-1.amazonaws.com"
_KNOWLEDGE_TOOLS = ("search_knowledge", "get_chunk_by_id", "list_concepts", "list_materials", "read_page", "find_text")


@dataclass(frozen=True, slots=True)
class Request:
    """A request below `/v1` that changes something."""

    method: str
    path: tuple[str, ...]
    body: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        body = f" {json.dumps(self.body, ensure_ascii=False)}" if self.body else ""
        return f"{self.method} /v1/{'/'.join(self.path)}{body}"


@dataclass(frozen=True, slots=True)
class Command:
    """A command that changes nothing in a deployment. `data` is its option `--data`."""

    terminal: Terminal
    data: Path | None = None
    dry_run: bool = field(default=True, kw_only=True)

    @property
    def settings(self) -> "CommandSettings":
        """Reads the settings."""
        from sakuin_cli.settings import CommandSettings

        return CommandSettings.load(self.data)

    @property
    def client(self) -> "DeploymentClient":
        """Returns a client of the deployment; with `dry_run`, one that changes nothing."""
        return deployment_of(self.settings, may_change=not self.dry_run)

    def library(self) -> "LibraryFiles":
        """Returns the files of the library, of a key that pushes those of its folder."""
        from sakuin_cli.site.library import LibraryFiles

        return LibraryFiles.of(self.client)

    def agent(self, tool: str) -> "AgentClient":
        """Returns a client of the MCP endpoint of a tool."""
        return agent_of(self.settings, tool)

    def rows(self, kind: str, project: str | None) -> "tuple[str, list[Record]]":
        """Returns the id of a project and its tables, tools or mcps."""
        project_id = self.project_id(project)
        return project_id, self.client.call("GET", "projects", project_id, kind)[kind]

    def project_id(self, project: str | None) -> str:
        """Returns the id of a project, of which `project` is the id or the name; without, that of the settings."""
        named = self.settings.project_id(project)
        return named if _ID.fullmatch(named) else _named("projects", named, self.client.call("GET", "projects"))

    def id_of(self, kind: str, name: str, project: str | None) -> str:
        """Returns the id of one of a project's tables, tools or mcps: of the one with this name, or `name` itself.

        Raises `Invalid` if several or none have the name, and `NotFound` if a dry run would find none.
        """
        id = name if _ID.fullmatch(name) else _named(kind, name, {kind: self.rows(kind, project)[1]})
        if self.dry_run:
            self.client.call("GET", kind, id)
        return id


def _named(kind: str, name: str, listed: Mapping[str, Any]) -> str:
    ids = [str(row["id"]) for row in listed[kind] if row["name"] == name]
    if len(ids) != 1:
        raise Invalid(f"{len(ids)} {kind} are named {name!r}. Name one by its id")
    return ids[0]


@dataclass(frozen=True, slots=True)
class ChangingCommand(Command):
    """A command that changes something. With `dry_run` it says what, and changes nothing."""

    def send(self, method: str, *path: str, **body: Any) -> "Record":
        """Sends one request; its members are `body`."""
        return self.send_all(Request(method, path, body or None))[-1]

    def send_all(self, *requests: Request) -> "list[Record]":
        """Sends requests in their order and returns the answers; a dry run prints them and ends the command."""
        if self.dry_run:
            self.would(*map(str, requests))
        client = self.client
        return [
            client.call(one.method, *one.path, **({"json": dict(one.body)} if one.body else {})) for one in requests
        ]

    def would(self, *changes: str) -> NoReturn:
        """Prints what would change, and ends the command."""
        document = {"dry_run": True, "changes": list(changes)}
        self.terminal.answer(document, lambda: self.terminal.lines(*changes, "Nothing was changed"))
        raise typer.Exit

    def confirm(self, heading: str, lines: "list[str]", question: str, advice: str) -> None:
        """Asks as `Terminal.confirm` does, but in a dry run."""
        if not self.dry_run:
            self.terminal.confirm(heading, lines, question, advice)


def deployment_of(settings: "CommandSettings", *, may_change: bool = True) -> "DeploymentClient":
    """Returns a client of the deployment in the settings."""
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import session
    from sakuin_cli.settings import required

    url = required(settings.url, "SAKUIN_URL", _URL)
    key = required(settings.admin_key or settings.push_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
    # The last segment of an endpoint's URL is its id.
    tools_mcp_id = settings.tools_mcp_url.rstrip("/").rpartition("/")[2]
    return DeploymentClient(session(url, key), tools_mcp_id, may_change)


def agent_of(settings: "CommandSettings", tool: str) -> "AgentClient":
    """Returns a client of the MCP endpoint of a tool: `/mcp` for knowledge tools, otherwise that of Search Tools."""
    from sakuin_cli.agent import AgentClient
    from sakuin_cli.settings import required

    if tool in _KNOWLEDGE_TOOLS:
        key = required(settings.api_key, "SAKUIN_API_KEY", "sk_sakuin_…")
        return AgentClient(f"{required(settings.url, 'SAKUIN_URL', _URL)}/mcp", key)
    url = required(settings.tools_mcp_url, "SAKUIN_TOOLS_MCP_URL", "https://…/mcp/<mcp id>")
    return AgentClient(url, required(settings.tools_api_key, "SAKUIN_TOOLS_API_KEY", "sk_sakuin_…"))


def aws_client(settings: "CommandSettings", service: str) -> Any:
    """Returns boto3's client of a service in the account of the settings."""
    from sakuin.platform.aws import client

    endpoint_url = settings.aws_endpoint_url_s3 if service == "s3" else settings.aws_endpoint_url
    return client(service, endpoint_url=endpoint_url, **settings.aws_session)
