"""Chunks, sources and pages for tests."""

from collections.abc import Mapping
from typing import Any

from sakuin.knowledge.model import KnowledgeChunk, Learns, Source, padded
from sakuin.knowledge.page import type_of_anchor
from sakuin.language.indexing import index_words
from sakuin.retrieval.vectors import text_hash

LEARNS = Learns(("公式に代入する方法", "係数を読みとる手順", "判別式の計算"), "rules")


def a_chunk(material: str, anchor: str, content: str = "", *, title: str = "", **fields: Any) -> KnowledgeChunk:
    """Returns a chunk whose vector is that of its title and content, as `text_of` joins them."""
    kind = type_of_anchor(anchor)
    assert kind is not None, anchor
    made: dict[str, Any] = {
        "id": f"{material}#{anchor}",
        "material": material,
        "anchor": anchor,
        "title": title or anchor,
        "content": content,
        "learns": LEARNS,
        "type": kind,
        "category": None,
        "level": None,
        "page_title": material,
        "section": None,
        "language": None,
        "prerequisites": (),
        "position": 0,
        "content_hash": text_hash(content),
        "illustrates": (),
        "fields": None,
        "words": index_words(title=title or anchor, learns=(), body=content),
    }
    made["text_hashes"] = (text_hash(text_of(title or anchor, content)),)
    return KnowledgeChunk(**made | fields)


def text_of(title: str, content: str) -> str:
    """Returns the text of such a chunk that is embedded."""
    return f"{title}\n{content}"


def a_source(key: str, sequencer: int, *, version: str | None = None) -> Source:
    """Returns a version of `key`; later ones have the higher `sequencer`."""
    return Source("materials", key, version or f"{key}@{sequencer}", padded(f"{sequencer:06X}"))


def a_page(boxes: Mapping[str, str], *, title: str = "二次方程式の解き方", head: str = "") -> bytes:
    """Returns an HTML page with one box for each anchor; a text `name: words` has its title before the colon."""
    body = "\n".join(_box(anchor, *text.partition(": ")[::2]) for anchor, text in boxes.items())
    return (
        f"<!DOCTYPE html><html lang='ja'><head><meta charset='utf-8'><title>{title}</title>{head}</head>"
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    ).encode()


def _box(anchor: str, title: str, words: str) -> str:
    return f"<section id='{anchor}'><h3>{title}</h3><p>{words or title}</p></section>"
