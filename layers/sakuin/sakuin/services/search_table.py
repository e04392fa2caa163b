"""A question to a Search Tool becomes the chunks that answer it, by meaning and by words."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.domain.bound_tools import BoundTool, FullChunk
from sakuin.domain.fusion import fused
from sakuin.domain.json_pointer import pointer_hash, relative
from sakuin.domain.language.analysis import terms
from sakuin.domain.search_index_names import namespace
from sakuin.ports import ChunkStore, Embedder
from sakuin.table_ports import ToolSearch

_SHALLOWEST = 50


@dataclass(frozen=True, slots=True)
class TableHit:
    """One result. `json_path` is the node's place as seen from the tool."""

    score: float
    json_path: str
    chunk: FullChunk


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The best hits, and how far the tool's index is."""

    query: str
    index: Mapping[str, Any]
    results: tuple[TableHit, ...]

    def as_json(self) -> dict[str, Any]:
        """The answer as agents read it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Searches one tool's scope; what is not current, in scope and reachable now is never shown."""

    records: ToolSearch
    store: ChunkStore
    embedder: Embedder
    suffix: str = ""

    def __call__(self, mcp_id: str, tool: BoundTool, query: str, *, top_k: int) -> TableAnswer:
        """The best `top_k`; none where nothing is indexed yet."""
        legs = self.store.search(
            namespace(tool.project_id, tool.table_id, self.suffix),
            vector=self.embedder.query(query),
            terms=tuple(terms(query)),
            text=query,
            scope=pointer_hash(tool.json_path),
            # Deeper than asked for: what is sixth in both legs may win.
            depth=max(4 * top_k, _SHALLOWEST),
        )
        ranking = fused([[found.doc_id for found in leg] for leg in legs])
        current = self.records.current(mcp_id, tool.id, [id for id, _ in ranking])
        hits = [
            TableHit(round(score, 6), relative(current[id].json_pointer, tool.json_path), current[id])
            for id, score in ranking
            if id in current
        ]
        index = {"state": tool.index.get("state", "pending"), "indexed_at": tool.index.get("indexed_at")}
        return TableAnswer(query, index, tuple(hits[:top_k]))
