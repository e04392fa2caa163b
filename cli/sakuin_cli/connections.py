"""Clients for the commands. Imports are inside the functions, so that `sakuin --help` loads none of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sakuin_cli.agent import AgentClient
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.settings import CommandSettings
    from sakuin_cli.site.library import LibraryFiles

_URL = "https://abcd.execute-api.ap-northeast-1.amazonaws.com"
_KNOWLEDGE_TOOLS = ("search_knowledge", "get_chunk_by_id", "list_concepts", "list_materials", "read_page", "find_text")


def settings_of(data: Path | None) -> "CommandSettings":
    """Reads the settings of the current command; `data` is its option `--data`."""
    from sakuin_cli.settings import CommandSettings

    return CommandSettings.load(data)


def deployment_of(settings: "CommandSettings") -> "DeploymentClient":
    """Returns a client of the deployment in the settings."""
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import session
    from sakuin_cli.settings import required

    url = required(settings.url, "SAKUIN_URL", _URL)
    key = required(settings.admin_key or settings.push_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
    # The last segment of an endpoint's URL is its id.
    return DeploymentClient(session(url, key), settings.tools_mcp_url.rstrip("/").rpartition("/")[2])


def deployment(data: Path | None) -> "DeploymentClient":
    """Returns a client of the deployment of the current command."""
    return deployment_of(settings_of(data))


def project_of(data: Path | None, named: str | None) -> "tuple[DeploymentClient, str]":
    """Returns a client and the id of the project, from `--project` or the settings."""
    settings = settings_of(data)
    return deployment_of(settings), settings.project_id(named)


def record_of(data: Path | None, project: str | None, kind: str, named: str) -> "tuple[DeploymentClient, str]":
    """Returns a client and the id of a record of the project, from its id or its name; `kind` as in `id_of`."""
    settings = settings_of(data)
    client = deployment_of(settings)
    return client, client.id_of(kind, named, lambda: settings.project_id(project))


def agent_of(settings: "CommandSettings", tool: str) -> "AgentClient":
    """Returns a client of the MCP endpoint of a tool: `/mcp` for knowledge tools, otherwise that of Search Tools."""
    from sakuin_cli.agent import AgentClient
    from sakuin_cli.settings import required

    if tool in _KNOWLEDGE_TOOLS:
        key = required(settings.api_key, "SAKUIN_API_KEY", "sk_sakuin_…")
        return AgentClient(f"{required(settings.url, 'SAKUIN_URL', _URL)}/mcp", key)
    url = required(settings.tools_mcp_url, "SAKUIN_TOOLS_MCP_URL", "https://…/mcp/<mcp id>")
    return AgentClient(url, required(settings.tools_api_key, "SAKUIN_TOOLS_API_KEY", "sk_sakuin_…"))


def library_of(settings: "CommandSettings") -> "LibraryFiles":
    """Returns the files of the library, of a key that pushes those of its folder."""
    from sakuin_cli.site.library import LibraryFiles

    return LibraryFiles.of(deployment_of(settings))


def aws_client(settings: "CommandSettings", service: str) -> Any:
    """Returns boto3's client of a service in the account of the settings."""
    from sakuin.platform.aws import client

    endpoint_url = settings.aws_endpoint_url_s3 if service == "s3" else settings.aws_endpoint_url
    return client(service, endpoint_url=endpoint_url, **settings.aws_session)
