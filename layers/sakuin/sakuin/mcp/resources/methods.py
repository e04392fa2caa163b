"""The methods of MCP for resources and for the skill, on a server of the SDK."""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
from mcp import MCPError
from mcp.server import Server
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
)
from pydantic import Field

from sakuin.mcp.resources.pages import Resources
from sakuin.mcp.resources.skill import URI, skill_of

_SKILLS = "io.modelcontextprotocol/skills"
_TTL_MS = 60_000


class SkillParams(RequestParams):
    """The parameters of `skills/get`."""

    uri: str = Field(max_length=2000)


def add_resources(server: Server[Any], resources_of: Callable[[Any], Resources]) -> None:
    """Has a server offer the resources of the caller of a request, and the skill."""

    async def list_resources(context: Any, params: PaginatedRequestParams) -> ListResourcesResult:
        return await anyio.to_thread.run_sync(resources_of(context).listed, params.cursor)

    async def list_templates(context: Any, _params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        return resources_of(context).templates()

    async def read_resource(context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await anyio.to_thread.run_sync(resources_of(context).read, str(params.uri))

    async def skill(context: Any) -> dict[str, Any]:
        skill = await anyio.to_thread.run_sync(skill_of, resources_of(context).tools)
        return skill.entry()

    async def list_skills(context: Any, _params: PaginatedRequestParams) -> dict[str, Any]:
        return _cached(skills=[await skill(context)])

    async def get_skill(context: Any, params: SkillParams) -> dict[str, Any]:
        if params.uri != URI:
            raise MCPError(INVALID_PARAMS, f"There is no skill of this address. There is {URI}")
        return _cached(skill=await skill(context))

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)
    server.add_request_handler("skills/list", PaginatedRequestParams, list_skills)
    server.add_request_handler("skills/get", SkillParams, get_skill)
    server.extensions[_SKILLS] = {}


def _cached(**result: Any) -> dict[str, Any]:
    return {"resultType": "complete", **result, "ttlMs": _TTL_MS, "cacheScope": "private"}
