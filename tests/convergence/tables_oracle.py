"""What must be searchable of Tables, said by the documents alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sakuin.retrieval.index_version import TableCut
from sakuin.tables.chunking import chunks
from sakuin.tables.json_pointer import shown
from sakuin.tables.nodes import doc_id
from sakuin.tables.objects import titles_around
from sakuin.tables.scan import LargeString, content_hash

from tests.convergence.tables_world import CUT, THRESHOLD


@dataclass(frozen=True, slots=True)
class Piece:
    """One chunk as it must be found."""

    doc_id: str
    json_pointer: str
    chunk_index: int
    text: str
    title: str = ""


@dataclass
class ToolFact:
    """A Tool as people made it."""

    table: str
    json_path: str
    enabled: bool = True


@dataclass
class TablesOracle:
    """The Tables and Tools as they are, and every text that a place ever had.

    `lost`: the store has lost rows, so that until all is settled less may be found than there is.
    """

    documents: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, ToolFact] = field(default_factory=dict)
    ever: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    lost: bool = False
    # Uploaded documents by key, and the newest of a Table if nothing was written since.
    uploads: dict[str, Any] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)

    def wrote(self, table: str, document: Any) -> None:
        self.documents[table] = document
        self.newest.pop(table, None)
        self._had(table, document)

    def uploaded(self, table: str, key: str, document: Any) -> None:
        """A document is in the bucket; it is the Table's when its event was processed."""
        self.uploads[key] = document
        self.newest[table] = key
        self._had(table, document)

    def _had(self, table: str, document: Any) -> None:
        for pointer, text in strings(document):
            self.ever.setdefault((table, pointer), set()).add(text)

    def forgot(self, table: str) -> None:
        """A Table is gone, and its Tools with it."""
        del self.documents[table]
        self.tools = {id: tool for id, tool in self.tools.items() if tool.table != table}

    def scopes(self, table: str) -> list[str]:
        """The places that enabled Tools ask for."""
        return [tool.json_path for tool in self.tools.values() if tool.table == table and tool.enabled]

    def of_table(self, table: str, cut: TableCut = CUT) -> dict[str, Piece]:
        """Everything that must be stored of a Table, by doc id, in the index version that cuts so."""
        scopes = self.scopes(table)
        found = [
            LargeString(pointer, text)
            for pointer, text in strings(self.documents[table])
            if any(below(pointer, scope) for scope in scopes) and is_indexed(text)
        ]
        titles = titles_around(self.documents[table], found, scopes)
        return {
            piece.doc_id: replace(piece, title=title)
            for string, title in zip(found, titles, strict=True)
            for piece in pieces(table, string.json_pointer, string.text, cut)
        }

    def of_tool(self, tool: str) -> dict[str, Piece]:
        """Everything that a Tool must find."""
        fact = self.tools[tool]
        return {
            id: piece for id, piece in self.of_table(fact.table).items() if below(piece.json_pointer, fact.json_path)
        }

    def status(self, tool: str) -> Mapping[str, Any]:
        """What its status must say in the end."""
        found = self.of_tool(tool).values()
        fact = self.tools[tool]
        is_missing = fact.json_path not in places(self.documents[fact.table])
        return {
            "state": "error" if is_missing else "ready" if found else "empty",
            "nodes_count": len({piece.json_pointer for piece in found}),
            "chunks_count": len(found),
            "indexed_chunks_count": len(found),
            "last_error": missing_place(fact.json_path) if is_missing else None,
            "last_error_code": "json.no_node" if is_missing else None,
            "attempt": 0,
            "skipped_nodes": self.skipped(tool),
        }

    def skipped(self, tool: str) -> set[str]:
        """The places of its scope that cannot be indexed."""
        fact = self.tools[tool]
        document, scopes = self.documents[fact.table], self.scopes(fact.table)
        bad = {pointer for pointer, text in strings(document) if is_large(text) and not is_indexed(text)}
        # A place inside another Tool's is looked for with that one.
        outermost = {one for one in scopes if not any(one != other and below(one, other) for other in scopes)}
        bad |= outermost - places(document)
        return {pointer for pointer in bad if below(pointer, fact.json_path)}


def missing_place(pointer: str) -> str:
    """The reason why a Tool cannot be indexed whose place the document does not have."""
    return f"The document has no node at {shown(pointer)}. Compare the pointer with the Table."


def strings(node: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a document with its RFC 6901 pointer."""
    if isinstance(node, str):
        yield pointer, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from strings(value, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from strings(value, f"{pointer}/{number}")


def places(node: Any, pointer: str = "") -> set[str]:
    """The pointers of everything in a document."""
    found = {pointer}
    if isinstance(node, dict):
        for key, value in node.items():
            found |= places(value, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            found |= places(value, f"{pointer}/{number}")
    return found


def below(pointer: str, scope: str) -> bool:
    """Whether a place lies at or below another."""
    return (pointer + "/").startswith(scope + "/")


def is_large(text: str) -> bool:
    return len(text) >= THRESHOLD


def is_indexed(text: str) -> bool:
    """Large, and text that a database can hold."""
    return is_large(text) and "\0" not in text


def pieces(table: str, pointer: str, text: str, cut: TableCut = CUT) -> list[Piece]:
    found = chunks(text, size=cut.chunk_size, overlap=cut.overlap)
    hashed = content_hash(text)
    return [Piece(doc_id(table, pointer, hashed, one.index), pointer, one.index, one.text) for one in found]
