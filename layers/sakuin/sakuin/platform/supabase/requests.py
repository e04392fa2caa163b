"""Requests of Supabase's database API (PostgREST): calls of SQL functions, and rows of tables.

https://docs.postgrest.org/en/v12/references/api/tables_views.html has the operators.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self
from urllib.parse import quote, urlencode

# SQL functions that only read. PostgREST calls every function with POST.
READING_FUNCTIONS = frozenset(
    {
        "changed_nodes",
        "chunks_to_store",
        "current_chunks",
        "endpoint",
        "filter_values",
        "finding_counts",
        "find_text",
        "indexed_anchors",
        "known_vectors",
        "list_concepts",
        "list_materials",
        "lexicon_entries",
        "material_counts",
        "objects_in_scope",
        "assign_namespace_suffix",
        "read_chunks",
        "read_page",
        "read_text",
        "upload_results",
        "search_candidates",
        "stored_candidates",
        "chunks_to_show",
        "table_lexicon_entries",
        "table_term_frequencies",
        "unindexed_tables",
        "vectors_by_name",
    }
)

# What an element of a list may have only in quotation marks.
_RESERVED = frozenset(',:()"\\')

# Makes a request and returns its answer with the whole body. Raises urllib3's `HTTPError` if there is none.
Send = Callable[["Request"], "Response"]


class Response(Protocol):
    """What urllib3 answers, in the version of Lambda's runtime too. `headers` ignore case."""

    status: int
    reason: str | None

    @property
    def data(self) -> bytes: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


@dataclass(slots=True)
class Request:
    """One request, which `send` makes. Each filter returns the request itself."""

    send: Send = field(repr=False)
    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    parameters: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The SQL function or the table."""
        return self.path.rpartition("/")[2]

    @property
    def target(self) -> str:
        """The path with the parameters, percent-encoded."""
        return f"{self.path}?{urlencode(self.parameters, quote_via=quote)}" if self.parameters else self.path

    @property
    def reads(self) -> bool:
        """Whether it only reads, so that a repetition is safe."""
        return self.method == "GET" or (self.path.endswith(f"/rpc/{self.name}") and self.name in READING_FUNCTIONS)

    def eq(self, column: str, value: object) -> Self:
        return self._add(column, f"eq.{_text(value)}")

    def neq(self, column: str, value: object) -> Self:
        return self._add(column, f"neq.{_text(value)}")

    def gt(self, column: str, value: object) -> Self:
        return self._add(column, f"gt.{_text(value)}")

    def gte(self, column: str, value: object) -> Self:
        return self._add(column, f"gte.{_text(value)}")

    def lt(self, column: str, value: object) -> Self:
        return self._add(column, f"lt.{_text(value)}")

    def like(self, column: str, pattern: str) -> Self:
        return self._add(column, f"like.{pattern}")

    def is_null(self, column: str) -> Self:
        return self._add(column, "is.null")

    def contains(self, column: str, value: str) -> Self:
        return self._add(column, f"cs.{value}")

    def in_(self, column: str, values: Iterable[object]) -> Self:
        return self._add(column, f"in.({','.join(map(_quoted, values))})")

    def order(self, *columns: str) -> Self:
        """Orders rows by columns, each with `.desc`, `.nullsfirst` and the like behind it."""
        return self._add("order", ",".join(columns))

    def limit(self, rows: int) -> Self:
        return self._add("limit", str(rows))

    def _add(self, name: str, value: str) -> Self:
        self.parameters.append((name, value))
        return self


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(value: object) -> str:
    """Returns an element of a list."""
    text = _text(value)
    if _RESERVED.isdisjoint(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
