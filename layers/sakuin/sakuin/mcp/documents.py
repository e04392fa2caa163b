"""Documents of a public library, for those who look for one: without a key, and off where nothing is public."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import ValidationError

from sakuin import __version__
from sakuin.arguments import MAX_TOKENS, PageArguments, sentence
from sakuin.errors import NotFound
from sakuin.knowledge.excerpt import excerpt
from sakuin.knowledge.model import EVERYTHING
from sakuin.mcp.answers import visible_answer
from sakuin.mcp.knowledge.reading import read_page
from sakuin.mcp.knowledge.schemas import said_of
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.skill import skill_of

FOLDER = "/public/"
ENDPOINT = f"{FOLDER}mcp"
# The place that the extension of server cards reserves, below the endpoint.
CARD = f"{ENDPOINT}/server-card"
# Where clients that know a domain look (docs/discovery.md of that extension, "Well-Known URI"); its form is that of
# specification/ai-catalog.md of github.com/Agent-Card/ai-catalog.
CATALOG = "/.well-known/ai-catalog.json"
_CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_CARD_TYPE = "application/mcp-server-card+json"
_REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# Both schemas allow 100 characters; an excerpt has up to four more than its length.
_LONGEST_DESCRIPTION = 96
_DESCRIPTION = "Answers questions from this library, with links to the exact element."
# Pages in one list, and answers of `read_page` in one document.
_LISTED, _PARTS = 1000, 40

_PAGE = re.compile(rf"{FOLDER}pages/(.+)\.md", re.DOTALL)
_NAMES = (CATALOG, CARD, f"{FOLDER}server.json", f"{FOLDER}llms.txt", f"{FOLDER}SKILL.md")

Document = tuple[str, bytes]


def is_document(path: str) -> bool:
    """Returns whether a path is that of a document, whether or not there is such a page."""
    return path in _NAMES or _PAGE.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Documents:
    """Makes the documents of the library anew for each request."""

    tools: KnowledgeTools

    def __call__(self, path: str, parameters: dict[str, Any], address: str, take: Callable[[], None]) -> Document:
        """Returns the media type and the text at a path of the deployment at `address`; `NotFound` for another page.

        `take` counts a further call of a tool; it raises `OverLimit`.
        """
        if (page := _PAGE.fullmatch(path)) is not None:
            try:
                return _text("markdown", self._page(page[1], parameters.get("cursor"), address, take))
            except ValidationError as error:
                raise sentence(error) from error
        name = path.removeprefix(FOLDER)
        if path == CARD:
            return _CARD_TYPE, _json(self._server(_CARD_SCHEMA, address))
        if path == CATALOG:
            entry = {"identifier": f"urn:air:{_host(address)}:mcp:sakuin", "type": _CARD_TYPE, "url": address + CARD}
            return "application/ai-catalog+json", _json({"specVersion": "1.0", "entries": [entry]})
        if name == "server.json":
            return "application/json", _json(self._server(_REGISTRY_SCHEMA, address))
        if name == "llms.txt":
            return _text("plain", self._overview(address, str(parameters.get("after", ""))))
        return _text("markdown", skill_of(self.tools).text)

    def _server(self, schema: str, address: str) -> dict[str, Any]:
        return {
            "$schema": schema,
            "name": f"{'.'.join(reversed(_host(address).split('.')))}/sakuin",
            "title": "Sakuin",
            "description": excerpt(skill_of(self.tools).owner or _DESCRIPTION, length=_LONGEST_DESCRIPTION),
            "version": __version__,
            "remotes": [{"type": "streamable-http", "url": address + ENDPOINT}],
        }

    def _overview(self, address: str, after: str) -> str:
        """Returns `llms.txt`: what the library is, how to ask it, its pages by the names of their files."""
        materials, has_more = self.tools.read.materials(EVERYTHING, after or None, limit=_LISTED)
        pages = [f"- [{_label(each.material)}]({_page_url(address, each.material)})" for each in materials]
        if has_more:
            following = f"{address}{FOLDER}llms.txt?after={quote(materials[-1].material, safe='')}"
            pages.append(f"- [More pages]({following})")
        places = self.tools.known_places()
        lines = ["# Library", "", *(line for own in places[:1] for line in (f"> {said_of(own)}", ""))]
        lines += [
            "Ask it instead of reading all of it:",
            "",
            f"- [MCP]({address}{ENDPOINT}): POST, without a key",
            f"- [How to ask]({address}{FOLDER}SKILL.md)",
            "",
        ]
        described = [f"- {_label(each.folder)}: {each.description}" for each in places[1:]]
        lines += ["## Folders", "", *described, ""] if described else []
        return "\n".join([*lines, "## Pages", "", *pages]) + "\n"

    def _page(self, material: str, cursor: str | None, address: str, take: Callable[[], None]) -> str:
        """Returns a page as `read_page` reads it, and where it goes on if it is long."""
        text = ""
        for part in range(_PARTS):
            if part:
                take()
            arguments = PageArguments.model_validate({"page": material, "max_tokens": MAX_TOKENS, "cursor": cursor})
            answer = visible_answer(read_page(self.tools.read, arguments))
            if answer["material"] != material:
                raise NotFound("There is no such page. llms.txt lists the pages")
            text += answer["text"] if part else f"<{answer['url']}>\n\n{answer['text']}"
            cursor = answer["next_cursor"]
            if cursor is None:
                return text + "\n"
        return f"{text}\n\n[The page goes on]({_page_url(address, material)}?cursor={quote(cursor or '')})\n"


def _host(address: str) -> str:
    return urlsplit(address).hostname or "localhost"


def _page_url(address: str, material: str) -> str:
    return f"{address}{FOLDER}pages/{quote(material)}.md"


def _label(name: str) -> str:
    """Returns the name of a file as the text of a link in Markdown."""
    return name.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _text(kind: str, text: str) -> Document:
    return f"text/{kind}; charset=utf-8", text.encode("utf-8", "backslashreplace")


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=2).encode()
