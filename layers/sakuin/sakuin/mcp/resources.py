"""The pages of the library as MCP resources, read as `read_page` reads them, and the methods for them and the skill."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

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
    Resource,
    ResourceTemplate,
    TextResourceContents,
)
from pydantic import Field, ValidationError

from sakuin.arguments import MAX_TOKENS, MaterialArguments, PageArguments
from sakuin.errors import Invalid, NotFound, SakuinError
from sakuin.mcp.answers import NOTE, counted, cursor_of, position_of, visible_answer
from sakuin.mcp.knowledge.reading import read_page
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.messages import protocol_error
from sakuin.mcp.skill import URI, skill_of

PAGES = "sakuin://pages/"
MARKDOWN = "text/markdown"
_SKILLS = "io.modelcontextprotocol/skills"
_TTL_MS = 60_000
_MOST_PARAMETERS = 4
_TEMPLATE = ResourceTemplate(
    name="page",
    uri_template=f"{PAGES}{{+material}}{{?section,cursor}}",
    mime_type=MARKDOWN,
    description=f"A page of this library, as list_materials names it; `section` is a heading. {NOTE}",
)


def listed(tools: KnowledgeTools, cursor: str | None) -> ListResourcesResult:
    """Returns the skill, and the pages that the tools read, by name. A page has no other name than that of its file."""
    with _protocol_errors(tools):
        filters = tools.read.within(MaterialArguments(cursor=cursor).filters)
        question = ("resources/list", filters.folder)
        after = None if cursor is None else position_of(cursor, *question)
        materials, has_more = tools.read.materials(filters, after)
    pages = [Resource(uri=uri_of(each.material), name=each.material, mime_type=MARKDOWN) for each in materials]
    first = [skill_of(tools).resource] if cursor is None else []
    following = cursor_of(materials[-1].material, *question) if has_more else None
    return ListResourcesResult(resources=[*first, *pages], next_cursor=following, ttl_ms=_TTL_MS, cache_scope="private")


def read(tools: KnowledgeTools, uri: str) -> ReadResourceResult:
    """Returns a page, or as much of it as an answer has; then its last line names the address of the rest."""
    if uri == URI:
        contents = TextResourceContents(uri=uri, mime_type=MARKDOWN, text=skill_of(tools).text)
        return ReadResourceResult(contents=[contents], ttl_ms=_TTL_MS, cache_scope="private")
    with _protocol_errors(tools, {"uri": uri}):
        arguments = _arguments(uri)
        answer = visible_answer(read_page(tools.read, PageArguments.model_validate(arguments)))
    section = {"section": arguments["section"]} if "section" in arguments else {}
    cursor = answer["next_cursor"]
    following = uri_of(arguments["page"], section | {"cursor": cursor}) if cursor else ""
    text = answer["text"] + (f"\n\n(The page goes on: {following})" if following else "")
    meta: dict[str, Any] = {"sakuin/note": NOTE, "sakuin/url": answer["url"]}
    meta |= {"sakuin/next": following} if following else {}
    contents = TextResourceContents.model_validate({"uri": uri, "mimeType": MARKDOWN, "text": text, "_meta": meta})
    return ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")


@contextmanager
def _protocol_errors(tools: KnowledgeTools, data: Any = None) -> Iterator[None]:
    """Counts the call that the block makes. Its failure is an error of MCP."""
    try:
        with counted(tools.meter):
            yield
    except (SakuinError, ValidationError) as error:
        raise protocol_error(error, data) from error


def uri_of(material: str, part: Mapping[str, str] | None = None) -> str:
    """Returns the address of a page, with the parameters of a part of it."""
    query = urlencode(part or {})
    return f"{PAGES}{quote(material, safe='/')}{f'?{query}' if query else ''}"


def _arguments(uri: str) -> dict[str, Any]:
    """Returns the arguments of `read_page` for an address. Raises `NotFound` if it is none of a page."""
    path, _, query = uri.partition("?")
    if not path.startswith(PAGES):
        raise NotFound(f"There is no resource {uri[:200]!r}. resources/list lists them")
    try:
        parameters = parse_qs(
            query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=_MOST_PARAMETERS
        )
        page = unquote(path.removeprefix(PAGES), errors="strict")
    except ValueError as error:
        raise Invalid("The address cannot be read: percent-encode it as resources/list does") from error
    if unknown := parameters.keys() - {"section", "cursor"}:
        raise Invalid(f"{min(unknown)[:64]!r} is no parameter of a page. There are section and cursor")
    return {name: values[0] for name, values in parameters.items()} | {"page": page, "max_tokens": MAX_TOKENS}


class SkillParams(RequestParams):
    """The parameters of `skills/get`."""

    uri: str = Field(max_length=2000)


def add_resources(server: Server[Any], tools_of: Callable[[Any], KnowledgeTools]) -> None:
    """Has a server offer the pages that the tools of a request's caller read, as resources, and the skill."""

    async def list_resources(context: Any, params: PaginatedRequestParams) -> ListResourcesResult:
        return await anyio.to_thread.run_sync(listed, tools_of(context), params.cursor)

    async def list_templates(_context: Any, _params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[_TEMPLATE], ttl_ms=_TTL_MS, cache_scope="private")

    async def read_resource(context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await anyio.to_thread.run_sync(read, tools_of(context), str(params.uri))

    async def skill(context: Any) -> dict[str, Any]:
        skill = await anyio.to_thread.run_sync(skill_of, tools_of(context))
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
