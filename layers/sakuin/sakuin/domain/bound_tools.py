"""Search Tools as an endpoint shows them, and what they find."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A Search Tool as an endpoint shows it. `index` is its `search_index`."""

    id: str
    project_id: str
    table_id: str
    json_path: str
    name: str
    description: str
    input_schema: Mapping[str, Any]
    index: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An enabled MCP endpoint with its enabled tools, and the hashes of the keys that open it."""

    id: str
    project_id: str
    key_hashes: tuple[str, ...]
    tools: tuple[BoundTool, ...]


@dataclass(frozen=True, slots=True)
class FullChunk:
    """A chunk as a search answers it: all of its fields."""

    id: str
    table_id: str
    json_pointer: str
    chunk_index: int
    total_chunks: int
    chunk_text: str
    char_start: int
    char_end: int
    content_hash: str
    turbopuffer_namespace: str
    turbopuffer_doc_id: str
