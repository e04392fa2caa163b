"""The functions in Postgres that index and search Tables."""

import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.errors import OverBudget, OverLimit
from sakuin.language.model import LexiconEntries, LexiconLookup
from sakuin.language.notation import canonical
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, add_vectors, answer, call
from sakuin.retrieval.filters import Attributes, Condition
from sakuin.retrieval.index_version import ANALYZER, TableIndexVersion
from sakuin.retrieval.ranking import Frequencies
from sakuin.tables.entries import valid_rules
from sakuin.tables.model import BoundTool, Endpoint, FullChunk, SkippedNode
from sakuin.tables.nodes import (
    Completion,
    DeletedPortion,
    NodeVersion,
    Plan,
    PublishedNode,
    RecordedRows,
    RemovedNodes,
    Scan,
    StoredChunkRef,
    StoredResult,
    UnindexedTable,
    WantedChunk,
)
from sakuin.tables.objects import TableObject
from sakuin.tables.scan import storable
from sakuin.texts.catalogue import coded, restored, stored

ROWS_A_REQUEST = 20_000
_OBJECTS_A_REQUEST = 2_000
# Of a version that is built.
_TABLES_IN_PROGRESS = 200


def combined_rows(part: Callable[[Any], Any]) -> RecordedRows | None:
    """Returns all parts as one; None if the Table was deleted. `part` returns the rows after a cursor.

    If the generation changes between parts, the result is not `planned`: earlier parts may have new rows.
    """
    row = part(None)
    if row is None:
        return None
    generation, planned, unscanned = row["generation"], row["planned"], row["unscanned"]
    stored, coming = dict(row["stored"]), list(row["coming"])
    while row["next"] is not None:
        row = part(row["next"])
        if row is None:
            return None
        planned = planned and row["planned"] and row["generation"] == generation
        stored |= row["stored"]
        coming += row["coming"]
    return RecordedRows(generation, planned, stored, coming, unscanned)


@dataclass(frozen=True, slots=True)
class TableIndex:
    """Changes the chunks of Tables in one index version. Each call is one transaction."""

    client: Client
    built_with: TableIndexVersion
    rows_a_request: int = ROWS_A_REQUEST

    @property
    def fingerprint(self) -> str:
        return self.built_with.id

    def begin_scan(self, table_id: str, generation: int | None, *, skip: int, for_event: bool) -> Scan:
        """Begins a scan of this generation (None: the current one), or continues it after `skip` strings.

        For an event (`for_event`) a page is scanned only once, unless the store has to be compared, or an old scan did
        not complete the Table. Any other request with `skip` 0 begins a scan.
        """
        arguments = {"p_generation": generation, "p_skip": skip, "p_for_event": for_event, "p_with_entries": True}
        row = self._of_table(table_id, "begin_scan", **arguments)
        return Scan(**{**row, "scopes": tuple(row.get("scopes", ()))})

    def changed_nodes(self, table_id: str, nodes: Sequence[NodeVersion], *, limit: int) -> Sequence[int]:
        """Returns the indexes of the first `limit` of these nodes that are not complete.

        A node is complete if all chunks of this content, title and attributes are stored and its older rows are swept.
        """
        attributes = [node.attributes for node in nodes]
        places: list[int] = self._of_table(
            table_id,
            "changed_nodes",
            p_limit=limit,
            p_pointer_hashes=[node.pointer_hash for node in nodes],
            p_content_hashes=[node.content_hash for node in nodes],
            p_titles=[node.title for node in nodes],
            p_attributes=None if attributes.count(None) == len(attributes) else attributes,
        )
        return [place - 1 for place in places]

    def plan_nodes(self, table_id: str, generation: int, nodes: Sequence[NodeVersion]) -> Plan | None:
        """Records new versions of nodes with their chunks. Idempotent. Returns None if a newer generation exists."""
        arguments = {"p_generation": generation, "p_nodes": list(map(asdict, nodes))}
        plan = self._of_table(table_id, "plan_nodes", **arguments)
        return plan and Plan(plan["missing"], [PublishedNode(**row) for row in plan["published"]])

    def record_scan(self, table_id: str, generation: int, *, nodes: int) -> None:
        """Records that the first `nodes` strings of this generation are scanned, and their messages sent."""
        self._of_table(table_id, "record_scan", p_generation=generation, p_nodes=nodes)

    def finish_scan(
        self,
        table_id: str,
        generation: int,
        *,
        pointers: Collection[str] | None,
        gone: Sequence[str],
        more: bool,
        skipped: Sequence[SkippedNode],
        totals: Mapping[str, Mapping[str, Any]],
        nodes: int,
        limit: int,
    ) -> RemovedNodes | None:
        """Ends the scan and removes nodes, by their pointer hashes: those that are not in `kept`, or those in `gone`.

        A call removes at most `limit`. The first one has `kept`; it returns the rest as `gone` for the next calls
        (`kept` None), in portions, with `more` for all but the last. `found` is added to the status of the Tools, by
        their json_path.

        Returns None if a newer generation exists. If nothing was removed, the scan is recorded, and each Tool is
        `ready` if it is complete; otherwise `mark_swept` does that.
        """
        reasons = [{"json_pointer": storable(node.json_pointer), "reason": stored(node.reason)} for node in skipped]
        row = self._of_table(
            table_id,
            "finish_scan",
            p_generation=generation,
            p_kept=None if pointers is None else sorted(pointers),
            p_gone=list(gone),
            p_more=more,
            p_skipped=reasons,
            p_found=totals,
            p_nodes=nodes,
            p_limit=limit,
        )
        if row is None:
            return None
        removed = [PublishedNode(**node) for node in row["removed"]]
        return RemovedNodes(removed, row["gone"], _unindexed(row["unindexed"]))

    def record_objects(self, table_id: str, generation: int, objects: Sequence[TableObject]) -> None:
        """Makes these the objects of a Table; only changed ones are sent. Nothing if a newer generation exists."""
        changed = self._call(
            "changed_objects",
            p_table=table_id,
            p_generation=generation,
            p_pointer_hashes=[each.pointer_hash for each in objects],
            p_fields_hashes=[each.fields_hash for each in objects],
        )
        rows = [asdict(objects[place - 1]) for place in changed or ()]
        for start in range(0, len(rows), _OBJECTS_A_REQUEST):
            batch = rows[start : start + _OBJECTS_A_REQUEST]
            self._call("store_objects", p_table=table_id, p_generation=generation, p_objects=batch)

    def chunks_to_store(self, table_id: str, ids: Collection[str], *, namespace: str) -> Sequence[WantedChunk]:
        """Returns those of the chunks that are wanted and not stored; none of a deleted Table.

        If there are any, it records their namespace, so that `orphaned_namespaces` finds it.
        """
        arguments = {"p_namespace": namespace, "p_ids": sorted(ids), "p_with_attributes": True}
        rows = self._of_table(table_id, "chunks_to_store", **arguments)
        return [WantedChunk(**row) for row in rows]

    def reserve_chunks(self, table_id: str, chunks: int) -> None:
        """Records the chunks of a Table. Raises `OverLimit` if the project would have too many."""
        call(self.client, "reserve_chunks", {"p_table": table_id, "p_chunks": chunks})

    def take_tokens(self, project_id: str, tokens: int) -> None:
        """Takes tokens of the project's quota of the day. Raises `OverBudget` if too few are left.

        A negative number gives back tokens that were not used.
        """
        if not tokens:
            return
        quota = {"p_name": "project_daily_tokens", "p_seconds": 86_400}
        try:
            call(self.client, "take_quota", {"p_principal": project_id, "p_amount": tokens, **quota})
        except OverLimit as error:
            raise OverBudget(str(error)) from error

    def known_vectors(self, project_id: str, text_hashes: Collection[str]) -> Mapping[str, Vector]:
        """Returns the vectors of texts that this project embedded before, by text hash."""
        rows = self._call(
            "known_vectors", p_project=project_id, p_space=self.built_with.space, p_text_hashes=sorted(text_hashes)
        )
        return {text_hash: json.loads(vector) for text_hash, vector in rows.items()}

    def store_vectors(self, project_id: str, vectors: Mapping[str, Vector]) -> None:
        """Stores vectors by text hash. Idempotent."""
        add_vectors(self.client, "chunk_vector", vectors, project_id=project_id, space=self.built_with.space)

    def record_stored(self, table_id: str, chunks: Sequence[StoredChunkRef]) -> StoredResult:
        """Records stored chunks and publishes the nodes that are complete now. Updates the known words of the Table."""
        # Each word is sent once; the chunks refer to it by its index.
        words = sorted({word for chunk in chunks for word in chunk.readings})
        places = {word: place for place, word in enumerate(words)}
        stored = [asdict(chunk) | {"readings": sorted(map(places.__getitem__, chunk.readings))} for chunk in chunks]
        row = self._of_table(table_id, "record_stored", p_stored=stored, p_readings=words)
        published = tuple(PublishedNode(**node) for node in row["published"])
        return StoredResult(row["alive"], tuple(row["unwanted"]), published)

    def record_refused(self, table_id: str, reasons: Mapping[str, str]) -> None:
        """Records the reasons why chunks cannot be embedded, by chunk id.

        Their nodes are not searchable until their text changes. Their Tools show the reasons (`SkippedNode`).
        """
        refused = [{"id": id, "reason": stored(reason)} for id, reason in reasons.items()]
        self._of_table(table_id, "mark_refused", p_refused=refused)

    def recorded_rows(self, table_id: str) -> RecordedRows | None:
        """Returns the recorded rows of a Table in the store; None if the Table was deleted."""
        limit = self.rows_a_request
        return combined_rows(lambda after: self._of_table(table_id, "recorded_rows", p_after=after, p_limit=limit))

    def tables_after(self, table_id: str | None, *, limit: int) -> Sequence[tuple[str, str]]:
        """Returns project and id of the Tables after this one, by id."""
        query = self.client.table("context_table").select("project_id,id").order("id").limit(limit)
        rows = answer(query if table_id is None else query.gt("id", table_id))
        return [(row["project_id"], row["id"]) for row in rows]

    def raise_generation(self, table_id: str, generation: int) -> None:
        """Raises a Table to at least this generation, which has to be indexed."""
        self._call("raise_generation", p_table=table_id, p_generation=generation)

    def mark_missing(self, table_id: str, ids: Collection[str]) -> None:
        """Records that the store has lost these chunks. The next scan requests them; until then they stay published."""
        self._of_table(table_id, "mark_missing", p_ids=sorted(ids))

    def record_comparison(self, table_id: str, generation: int) -> None:
        """Records that the store was compared for this generation. Does nothing if a newer generation exists."""
        self._of_table(table_id, "finish_comparison", p_generation=generation)

    def mark_swept(
        self, table_id: str, nodes: Sequence[PublishedNode], *, generation: int | None = None, scanned: int = 0
    ) -> UnindexedTable | None:
        """Records that the older rows of these nodes are deleted from the store.

        With the `generation` of a scan it also ends that of `scanned` strings, 0 if it has more nodes to remove, and
        returns the Table if it only waits until the store has indexed it.
        """
        arguments = {"p_swept": list(map(asdict, nodes)), "p_generation": generation, "p_nodes": scanned}
        return _unindexed(self._of_table(table_id, "mark_swept", **arguments))

    def nodes_to_sweep(self, table_id: str) -> Sequence[PublishedNode]:
        """Returns the published nodes that may still have rows of older versions in the store."""
        return [PublishedNode(**row) for row in self._of_table(table_id, "nodes_to_sweep")]

    def mark_ready_if_complete(self, table_id: str) -> Completion:
        """Returns whether the current generation is complete. For the live index, updates the status of the Tools."""
        row = self._of_table(table_id, "mark_ready_if_complete")
        return Completion(row["ready"], _unindexed(row["unindexed"]))

    def unindexed_tables(self) -> Sequence[UnindexedTable]:
        """Returns the Tables of all index versions that only wait until the store has indexed their chunks."""
        return [UnindexedTable(**row) for row in self._call("unindexed_tables")]

    def mark_indexed(self, table: UnindexedTable) -> bool:
        """Records that the store has indexed a Table. Returns whether it is complete: chunks may have come meanwhile.

        For the live index, updates the status of the Tools.
        """
        named = {"p_table": table.table_id, "p_fingerprint": table.fingerprint, "p_stored_at": table.stored_at}
        return bool(self._call("mark_indexed", **named))

    def record_failure(self, table_id: str, generation: int | None, message: str) -> None:
        """Records why this generation (None: the current one) is not indexed, in a sentence for people.

        For the live index, it also sets the Tools to `error`.
        """
        self._of_table(table_id, "record_scan_failure", p_generation=generation, p_error=stored(message))

    def give_up(self, table_id: str, reason: str) -> None:
        """Records the reason for the current generation, and how to start again. A deleted Table is not an error."""
        self.record_failure(table_id, None, coded("table.given_up", reason=reason))

    def stalled_tables(self, seconds: int, *, limit: int = _TABLES_IN_PROGRESS) -> Sequence[tuple[str, str]]:
        """Returns `(project, table)` of incomplete Tables without progress for `seconds`.

        It includes Tables without Tools that still have rows. For an index version that is not live, it includes Tables
        that it never had, while fewer than `limit` are in progress, and those whose indexing failed a day ago.
        """
        rows = self._call("stalled_tables", p_fingerprint=self.fingerprint, p_seconds=seconds, p_limit=limit)
        return [(row["project_id"], row["table_id"]) for row in rows]

    def record_start(self, table_id: str, *, seconds: int) -> int | None:
        """Counts a start of a Table's indexing by maintenance. Returns the number of starts, this one included.

        It is None if it was started within `seconds`, or deleted. The count starts again with a new generation, and
        after a day.
        """
        count: int | None = self._of_table(table_id, "record_table_start", p_seconds=seconds)
        return count

    def delete_portion(self, *, limit: int) -> DeletedPortion | None:
        """Deletes rows of a deleted Table, project or index version, at most `limit` of each kind; None: none left."""
        row = self._call("delete_portion", p_limit=limit)
        return row and DeletedPortion(**row)

    def orphaned_namespaces(self, table_id: str | None = None) -> Sequence[str]:
        """Returns the recorded namespaces, of one Table or of all, that nothing needs any more, in order.

        Their Table was deleted, or their index version was dropped and its records are deleted. The store may or may
        not have them.
        """
        names: list[str] = self._call("mark_abandoned_namespaces", p_table=table_id)
        return names

    def delete_namespace_records(self, namespaces: Collection[str], *, seconds: int) -> None:
        """Deletes the records of those namespaces that have been orphaned for `seconds`."""
        self._call("delete_namespace_records", p_namespaces=sorted(namespaces), p_seconds=seconds)

    def _of_table(self, table_id: str, function: str, **arguments: Any) -> Any:
        return self._call(function, p_table=table_id, p_fingerprint=self.fingerprint, **arguments)

    def _call(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, arguments)


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """Reads endpoints, words and chunks for searches, in one index version."""

    client: Client
    fingerprint: str

    def endpoint(self, mcp_id: str) -> Endpoint | None:
        """Returns the endpoint; None if it does not exist, is disabled, or its id is not a UUID."""
        if not _is_uuid(mcp_id):
            return None
        return _endpoint(call(self.client, "endpoint", {"p_mcp": mcp_id}))

    def endpoint_of_key(self, mcp_id: str, key_hash: str) -> tuple[Sequence[str], Endpoint | None]:
        """Returns the hashes of the endpoint's two keys, and the endpoint if `key_hash` is one of them.

        Of an endpoint that does not exist, as of a missing key, the hashes are zeros: the work is the same.
        """
        row = call(self.client, "endpoint_of_key", {"p_mcp": mcp_id, "p_key_hash": key_hash})
        return row["key_hashes"], _endpoint(row["endpoint"])

    def endpoint_of_user(self, mcp_id: str, user_id: str) -> Endpoint | None:
        """Returns the endpoint for a member of its project; None for anyone else, or if it does not exist."""
        if not _is_uuid(mcp_id):
            return None
        return _endpoint(call(self.client, "endpoint_of_user", {"p_mcp": mcp_id, "p_user": user_id}))

    def is_bound(self, mcp_id: str, tool_id: str) -> bool:
        """Returns whether the endpoint has this Tool now."""
        endpoint = self.endpoint(mcp_id)
        return endpoint is not None and any(tool.id == tool_id for tool in endpoint.tools)

    def known_words(self, mcp_id: str, tool_id: str, query: str, words: LexiconLookup) -> LexiconEntries:
        """Returns what the Table knows about the words of a question, and the synonyms of its project.

        Nothing if the Tool is not allowed now.
        """
        row = self._of_tool(
            "table_lexicon_entries",
            mcp_id,
            tool_id,
            p_readings=sorted(words.readings),
            p_words=dict(words.words),
            p_query=canonical(query),
            p_analyzer=ANALYZER,
        )
        return LexiconEntries.of(row)

    def term_frequencies(
        self, mcp_id: str, tool_id: str, terms: Collection[str], *, sample: int
    ) -> tuple[Frequencies, Sequence[str]]:
        """Returns how frequent terms are in the Table, and the doc ids of `sample` chunks, always the same.

        The frequencies are those of a sample of the Table, exact for up to 2,000 chunks. Both are empty if the Tool is
        not allowed now.
        """
        row = self._of_tool("table_term_frequencies", mcp_id, tool_id, p_sample=sample, p_terms=sorted(terms))
        return (Frequencies(row["total"], row["chunks"]), row["sample"]) if row else (Frequencies(0, {}), ())

    def current_chunks(
        self, mcp_id: str, tool_id: str, doc_ids: Sequence[str], *, limit: int, needed: Sequence[Condition] = ()
    ) -> Mapping[str, FullChunk]:
        """Returns by doc id the first `limit` chunks that are current, in scope, and allowed at this endpoint now.

        Only those that pass all conditions: the store may have older attributes.
        """
        if not doc_ids:
            return {}
        arguments = {"p_limit": limit, "p_doc_ids": list(doc_ids), "p_with_attributes": True}
        rows = self._of_tool("current_chunks", mcp_id, tool_id, **arguments)
        attributes = {row["turbopuffer_doc_id"]: row.pop("attributes", None) for row in rows}
        chunks = {row["turbopuffer_doc_id"]: FullChunk(**row) for row in rows}
        return {id: chunk for id, chunk in chunks.items() if all(each.passes(attributes[id]) for each in needed)}

    def entry_values(self, mcp_id: str, tool_id: str) -> Mapping[str, Mapping[str, Any]]:
        """Returns the values of filters at an endpoint: by field the 51 most frequent `values`, `min` and `max`."""
        values: Mapping[str, Mapping[str, Any]] = call(
            self.client, "entry_values", {"p_mcp": mcp_id, "p_tool": tool_id}
        )
        return values

    def objects(self, mcp_id: str, tool_id: str, pointer_hashes: Collection[str]) -> Mapping[str, dict[str, Any]]:
        """Returns by pointer the fields of the objects at these places that are in the scope of the Tool."""
        rows = self._objects(mcp_id, tool_id, pointer_hashes)
        return {row["json_pointer"]: json.loads(row["fields"]) for row in rows}

    def attributes(self, mcp_id: str, tool_id: str, pointer_hashes: Collection[str]) -> Sequence[Attributes]:
        """Returns the attributes of the entries at these places that are in the scope of the Tool."""
        return [row["attributes"] or {} for row in self._objects(mcp_id, tool_id, pointer_hashes)]

    def _objects(self, mcp_id: str, tool_id: str, pointer_hashes: Collection[str]) -> Sequence[dict[str, Any]]:
        arguments = {"p_mcp": mcp_id, "p_tool": tool_id, "p_pointer_hashes": sorted(pointer_hashes)}
        rows: Sequence[dict[str, Any]] = call(self.client, "objects_in_scope", arguments) if pointer_hashes else []
        return rows

    def _of_tool(self, function: str, mcp_id: str, tool_id: str, **arguments: Any) -> Any:
        """Returns the answer of a SQL function about a Tool of an endpoint, in this index version."""
        tool = {"p_mcp": mcp_id, "p_tool": tool_id, "p_fingerprint": self.fingerprint}
        return call(self.client, function, {**tool, **arguments})


def _unindexed(rows: Sequence[dict[str, Any]]) -> UnindexedTable | None:
    return UnindexedTable(**rows[0]) if rows else None


def _endpoint(row: dict[str, Any] | None) -> Endpoint | None:
    if row is None:
        return None
    return Endpoint(row["id"], row["project_id"], tuple(_bound(tool) for tool in row["tools"]))


def _bound(row: Mapping[str, Any]) -> BoundTool:
    return BoundTool(
        id=row["id"],
        project_id=row["project_id"],
        table_id=row["table_id"],
        json_path=row["json_path"],
        name=row["name"],
        description=row["description"],
        index=restored(row["metadata"].get("search_index", {})),
        entries=valid_rules(row["entries"]),
        fixed=row["fixed"],
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
