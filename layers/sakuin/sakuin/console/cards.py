"""The results of a search as people read them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.console.forms import href
from sakuin.explain.ask_mcp import PlaygroundAnswer
from sakuin.language.unicode_text import visible, with_escapes
from sakuin.retrieval.tokens import estimated_tokens


@dataclass(frozen=True, slots=True)
class Card:
    """One result.

    `place` is the id of a chunk, or the json_pointer of a node, exactly; `href` opens it, None if it has no link.
    `facts` are short words about it. What is shown has no invisible characters.
    """

    title: str
    place: str
    href: str | None = None
    similarity: float | None = None
    learns: Sequence[str] = ()
    text: str = ""
    facts: Sequence[str] = ()

    @property
    def shown_place(self) -> str:
        """The place without invisible characters."""
        return visible(self.place)


def readable(answer: PlaygroundAnswer, query: str, chosen: str = "") -> dict[str, Any]:
    """Returns the answer of the library or of a Tool to a question, for people.

    `results` are cards. `index_state` is that of a Tool, empty for the library. `json` is indented; both forms show
    invisible characters as escapes. `label` is a line of labelled questions: its answer is the one that was chosen,
    else the first result, or none if the question is refused.
    """
    content = answer.structured or {}
    results, is_refused = [_card(each) for each in content.get("results", ())], bool(content.get("no_good_match"))
    gold = [chosen] if chosen else [] if is_refused else [each.place for each in results[:1]]
    label = json.dumps({"query": query, "gold": gold, "category": "playground"}, ensure_ascii=False)
    return {
        **{name: content.get(name) for name in ("understood_as", "degraded", "truncated")},
        "results": results,
        "is_refused": is_refused,
        "has_relative_links": "links" in content,
        "index_state": content.get("index", {}).get("state", ""),
        "json": with_escapes(json.dumps(content, ensure_ascii=False, indent=2)) if content else "",
        "text": with_escapes(answer.text),
        "tokens": estimated_tokens(answer.text),
        "label": with_escapes(label),
    }


def _card(result: Mapping[str, Any]) -> Card:
    return _of_node(result) if "json_path" in result else _of_page(result)


def _of_page(result: Mapping[str, Any]) -> Card:
    facts = (result.get(name) for name in ("type", "page_title", "section", "level", "language"))
    return Card(
        title=visible(result["title"]) or result["id"],
        place=result["id"],
        href=href(result["url"]),
        similarity=result.get("similarity"),
        learns=[visible(item) for item in result.get("learns", ())],
        text=visible(result.get("content") or result["excerpt"]),
        facts=[visible(fact) for fact in facts if fact],
    )


def _of_node(result: Mapping[str, Any]) -> Card:
    chunk = result.get("chunk") or result
    fields = (result.get("object") or {}).get("fields", {})
    facts = [f"{name}: {value}" for name, value in fields.items() if isinstance(value, str | int | float)]
    return Card(
        title=visible(result["json_path"]) or "/",
        place=chunk["json_pointer"],
        similarity=result.get("similarity"),
        text=visible(chunk.get("chunk_text") or result.get("excerpt") or ""),
        facts=[visible(fact) for fact in facts],
    )
