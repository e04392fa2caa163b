"""The index over Tables in Postgres."""

import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.language.model import LexiconEntries, LexiconLookup
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, answer, call, vector_text
from sakuin.retrieval.index_version import TableIndexVersion
from sakuin.tables.model import BoundTool, Endpoint, FullChunk, SkippedNode
from sakuin.tables.nodes import (
    NodeVersion,
    OrphanedIndex,
    Plan,
    PublishedNode,
    RecordedRows,
    Scan,
    StoredChunkRef,
    StoredResult,
    WantedChunk,
)
from sakuin.tables.scan import storable

ROWS_A_REQUEST = 20_000


def combined_rows(part: Callable[[Any], Any]) -> RecordedRows | None:
    """All parts as one; None when the Table is gone. `part` gives the one after a place, `next` is where it ends.

    What changed its generation meanwhile is not `planned`: rows may have come behind the place.
    """
    row = part(None)
    if row is None:
        return None
    generation, planned = row["generation"], row["planned"]
    stored, coming = dict(row["stored"]), list(row["coming"])
    while row["next"] is not None:
        row = part(row["next"])
        if row is None:
            return None
        planned = planned and row["planned"] and row["generation"] == generation
        stored |= row["stored"]
        coming += row["coming"]
    return RecordedRows(generation, planned, stored, coming)


_VECTORS_A_REQUEST = 100


@dataclass(frozen=True, slots=True)
class TableIndex:
    """One index over Tables, as its workers change it. Each call is one transaction.

    Before the deployment has recorded an index, each is taken for the one that answers.

    Of one fingerprint.
    """

    client: Client
    built_with: TableIndexVersion
    rows_a_request: int = ROWS_A_REQUEST

    @property
    def fingerprint(self) -> str:
        return self.built_with.id

    def begin_scan(self, table_id: str, generation: int | None, *, skip: int, for_event: bool) -> Scan:
        """Begins a scan of this generation (None: the present one), or continues it after `skip` strings.

        A page that was scanned before is not scanned again because of an event (`for_event`), unless the store is to be
        compared, or the scan long ago has not made the Table whole. Whoever asks by name, with `skip` 0, gets a scan.
        """
        row = self._of(table_id, "begin_scan", p_generation=generation, p_skip=skip, p_for_event=for_event)
        return Scan(**{**row, "scopes": tuple(row.get("scopes", ()))})

    def changed_nodes(self, table_id: str, nodes: Sequence[tuple[str, str]], *, limit: int) -> Sequence[int]:
        """The places (from 0) of the first `limit` of these `(pointer hash, content hash)` that do not answer whole.

        A node answers whole with a text if all its chunks are stored and its older rows are swept.
        """
        if not nodes:
            return []
        pointers, contents = zip(*nodes, strict=True)
        hashes = {"p_pointer_hashes": list(pointers), "p_content_hashes": list(contents)}
        places: list[int] = self._of(table_id, "changed_nodes", p_limit=limit, **hashes)
        return [place - 1 for place in places]

    def plan_nodes(self, table_id: str, generation: int, nodes: Sequence[NodeVersion]) -> Plan | None:
        """Records the versions that shall answer, with their chunks; twice is once. None: a newer generation came."""
        rows = [_node(node) for node in nodes]
        plan = self._of(table_id, "plan_nodes", p_generation=generation, p_nodes=rows)
        return plan and Plan(plan["missing"], [PublishedNode(**row) for row in plan["published"]])

    def record_scan(self, table_id: str, generation: int, *, nodes: int) -> None:
        """Records that all that the first so many strings of this generation ask for is sent, or done."""
        self._of(table_id, "record_scan", p_generation=generation, p_nodes=nodes)

    def finish_scan(
        self, table_id: str, generation: int, *, kept: Collection[str], skipped: Sequence[SkippedNode], nodes: int
    ) -> Mapping[int, Sequence[str]] | None:
        """Ends the scan: nodes that are not among the `kept` pointer hashes go.

        Gives the doc ids that have to leave the store, by the generation up to which they are, until `record_removed`;
        None if a newer generation has come. Where none has to leave, the scan is recorded, and each Tool is `ready` if
        nothing else is missing.
        """
        reasons = [{"json_pointer": storable(node.json_pointer), "reason": storable(node.reason)} for node in skipped]
        removed: dict[str, list[str]] | None = self._of(
            table_id,
            "finish_scan",
            p_generation=generation,
            p_kept=sorted(kept),
            p_skipped=reasons,
            p_nodes=nodes,
        )
        return None if removed is None else {int(name): ids for name, ids in removed.items()}

    def record_removed(self, table_id: str, removed: Collection[int], generation: int, *, nodes: int) -> None:
        """Records that what `finish_scan` gave for these generations has left the store, and the scan."""
        self._of(table_id, "record_removed", p_removed=sorted(removed), p_generation=generation, p_nodes=nodes)

    def chunks_to_store(self, table_id: str, ids: Collection[str], *, namespace: str) -> Sequence[WantedChunk]:
        """Those of the chunks that are wanted and not stored; none of a Table that is gone.

        Unless there are none, the namespace that they are going to be written to is remembered for `abandoned`.
        """
        rows = self._call(
            "chunks_to_store",
            p_table=table_id,
            p_fingerprint=self.fingerprint,
            p_namespace=namespace,
            p_ids=sorted(ids),
        )
        return [WantedChunk(**row) for row in rows]

    def known_vectors(self, project_id: str, text_hashes: Collection[str]) -> Mapping[str, Vector]:
        """Vectors of texts that this project embedded before, by the hash of the text."""
        found = self._call(
            "known_vectors",
            p_project=project_id,
            p_space=self.built_with.space,
            p_text_hashes=sorted(text_hashes),
        )
        return {text_hash: json.loads(vector) for text_hash, vector in found.items()}

    def store_vectors(self, project_id: str, vectors: Mapping[str, Vector]) -> None:
        """Stores vectors by the hash of their text. Twice is once."""
        rows = [
            {
                "project_id": project_id,
                "space": self.built_with.space,
                "text_hash": text_hash,
                "embedding": vector_text(vector),
            }
            for text_hash, vector in vectors.items()
        ]
        for start in range(0, len(rows), _VECTORS_A_REQUEST):
            batch = rows[start : start + _VECTORS_A_REQUEST]
            answer(self.client.table("chunk_vector").upsert(batch, ignore_duplicates=True))

    def record_stored(self, table_id: str, chunks: Sequence[StoredChunkRef]) -> StoredResult:
        # Each word travels once, chunks say which they have.
        """Records what the store has acknowledged; nodes that are whole answer with their new version from now on.

        The Table knows the words of what is stored, and no longer those of what is forgotten.
        """
        words = sorted({word for chunk in chunks for word in chunk.readings})
        places = {word: place for place, word in enumerate(words)}
        row = self._call(
            "record_stored",
            p_table=table_id,
            p_fingerprint=self.fingerprint,
            p_stored=[
                asdict(chunk) | {"readings": sorted(map(places.__getitem__, chunk.readings))} for chunk in chunks
            ],
            p_readings=words,
        )
        return StoredResult(
            row["alive"], tuple(row["unwanted"]), tuple(PublishedNode(**node) for node in row["published"])
        )

    def record_refused(self, table_id: str, reasons: Mapping[str, str]) -> None:
        """Records, by the ids of chunks, why they cannot be embedded.

        Their nodes are finished with nothing to show until their text changes, and their tools say so (`SkippedNode`).
        """
        said = [{"id": id, "reason": storable(reason)} for id, reason in reasons.items()]
        self._call("mark_refused", p_table=table_id, p_fingerprint=self.fingerprint, p_refused=said)

    def recorded_rows(self, table_id: str) -> RecordedRows | None:
        """What is recorded of a Table's rows in the store; None when it is gone."""
        asked = {"p_table": table_id, "p_fingerprint": self.fingerprint, "p_limit": self.rows_a_request}
        return combined_rows(lambda after: self._call("recorded_rows", p_after=after, **asked))

    def mark_missing(self, table_id: str, ids: Collection[str]) -> None:
        """Records that the store does not have these: they are missing to the next `want`, and answer as before."""
        self._call("mark_missing", p_table=table_id, p_fingerprint=self.fingerprint, p_ids=sorted(ids))

    def record_comparison(self, table_id: str, generation: int) -> None:
        """Records that the store was compared for this generation. If a newer one has come, nothing happens."""
        self._call("finish_comparison", p_table=table_id, p_fingerprint=self.fingerprint, p_generation=generation)

    def mark_swept(self, table_id: str, nodes: Sequence[PublishedNode]) -> None:
        """Records that the older rows of these nodes are gone from the store."""
        swept = [asdict(node) for node in nodes]
        self._call("mark_swept", p_table=table_id, p_fingerprint=self.fingerprint, p_swept=swept)

    def nodes_to_sweep(self, table_id: str) -> Sequence[PublishedNode]:
        """The nodes that answer with what is wanted, while rows of older versions may still be in the store."""
        return [
            PublishedNode(**row)
            for row in self._call("nodes_to_sweep", p_table=table_id, p_fingerprint=self.fingerprint)
        ]

    def mark_ready_if_complete(self, table_id: str) -> bool:
        """Says whether all of the present generation is stored.

        Of the index that answers it sets each tool's counts, and `ready` once it is.
        """
        return bool(self._call("mark_ready_if_complete", p_table=table_id, p_fingerprint=self.fingerprint))

    def record_failure(self, table_id: str, generation: int | None, message: str) -> None:
        """Notes why this generation (None: the present one) is not indexed.

        If this index answers, the tools are set to `error` with it.

        The message is a sentence for people, never a secret.
        """
        self._call(
            "record_scan_failure",
            p_table=table_id,
            p_fingerprint=self.fingerprint,
            p_generation=generation,
            p_error=storable(message),
        )

    def stalled_tables(self, seconds: int) -> Sequence[tuple[str, str]]:
        """`(project, table)` whose work in this index gave no sign of life for so long, and that no message speaks for.

        Of an index that does not answer: none that was never asked for, and none that was given up.
        Those, too, whose tools went so long ago and whose rows are still there.
        """
        rows = self._call("stalled_tables", p_fingerprint=self.fingerprint, p_seconds=seconds)
        return [(row["project_id"], row["table_id"]) for row in rows]

    def record_restart(self, table_id: str, *, seconds: int) -> int | None:
        """Counts a restart of a Table's indexing and returns how many there were, this one among them.

        None if somebody restarted it within `seconds`, or the Table is gone. A new generation, or a day, begins at one.
        """
        count: int | None = self._call(
            "record_table_restart", p_table=table_id, p_fingerprint=self.fingerprint, p_seconds=seconds
        )
        return count

    def namespace_suffix(self) -> str:
        """What this fingerprint's namespaces end in: nothing for the first of a deployment."""
        return str(self._call("assign_namespace_suffix", p_fingerprint=self.fingerprint))

    def orphaned_indexes(self) -> Sequence[OrphanedIndex]:
        """What Tables still hold for indexes that are no longer kept."""
        return [OrphanedIndex(**row) for row in self._call("orphaned_table_indexes", p_fingerprint=self.fingerprint)]

    def delete_records(self, leftover: OrphanedIndex) -> None:
        """Deletes the records of it."""
        self._call("delete_table_index", p_table=leftover.table_id, p_fingerprint=leftover.fingerprint)

    def orphaned_namespaces(self, table_id: str | None = None) -> Sequence[str]:
        """The namespaces, of one Table or of all, that `to_store` remembered and nobody needs any more, in order.

        Their Table is gone; or their index is no longer kept, and its records are forgotten.
        They may be in the store or not.
        """
        names: list[str] = self._call("mark_abandoned_namespaces", p_fingerprint=self.fingerprint, p_table=table_id)
        return names

    def delete_namespace_records(self, namespaces: Collection[str], *, seconds: int) -> None:
        """Forgets those of them that have been abandoned for so long."""
        self._call("delete_namespace_records", p_namespaces=sorted(namespaces), p_seconds=seconds)

    def _of(self, table_id: str, function: str, **arguments: Any) -> Any:
        return self._call(function, p_table=table_id, p_fingerprint=self.fingerprint, **arguments)

    def _call(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, arguments)


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """The records of Search Tools, as agents reach them.

    Over the chunks of one fingerprint.
    """

    client: Client
    fingerprint: str

    def endpoint(self, mcp_id: str) -> Endpoint | None:
        """The endpoint; None when it is not there, disabled, or its id is no UUID."""
        if not _is_uuid(mcp_id):
            return None
        row = call(self.client, "endpoint", {"p_mcp": mcp_id})
        if row is None:
            return None
        tools = tuple(_bound(tool) for tool in row["tools"])
        return Endpoint(row["id"], row["project_id"], tuple(row["key_hashes"]), tools)

    def known_words(self, mcp_id: str, tool_id: str, sought: LexiconLookup) -> LexiconEntries:
        """What the words of the tool's Table say of a question; nothing if it is not reachable now."""
        if not sought.readings and not sought.words:
            return LexiconEntries()
        row = call(
            self.client,
            "table_lexicon_entries",
            {
                "p_mcp": mcp_id,
                "p_tool": tool_id,
                "p_fingerprint": self.fingerprint,
                "p_readings": sorted(sought.readings),
                "p_words": dict(sought.words),
            },
        )
        written, near = ({word: tuple(forms) for word, forms in row[kind].items()} for kind in ("written", "near"))
        return LexiconEntries(spellings=written, similar=near)

    def current(self, mcp_id: str, tool_id: str, doc_ids: Collection[str]) -> Mapping[str, FullChunk]:
        """By doc id, those that are current, in the tool's scope, and reachable through this endpoint now."""
        if not doc_ids:
            return {}
        arguments = {"p_mcp": mcp_id, "p_tool": tool_id, "p_fingerprint": self.fingerprint, "p_doc_ids": list(doc_ids)}
        rows = call(self.client, "current_chunks", arguments)
        return {row["turbopuffer_doc_id"]: FullChunk(**row) for row in rows}


def _node(node: NodeVersion) -> dict[str, Any]:
    return {
        "pointer_hash": node.pointer_hash,
        "json_pointer": node.json_pointer,
        "content_hash": node.content_hash,
        "chunks": [
            {
                "chunk_index": chunk.index,
                "chunk_text": chunk.text,
                "char_start": chunk.char_start,
                "char_end": chunk.char_end,
            }
            for chunk in node.chunks
        ],
    }


def _bound(row: Mapping[str, Any]) -> BoundTool:
    return BoundTool(
        id=row["id"],
        project_id=row["project_id"],
        table_id=row["table_id"],
        json_path=row["json_path"],
        name=row["name"],
        description=row["description"],
        input_schema=row["input_schema"],
        index=row["metadata"].get("search_index", {}),
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
