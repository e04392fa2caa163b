"""The index over Tables, as its workers change it and as agents reach it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sakuin.domain.bound_tools import Endpoint, FullChunk
from sakuin.domain.chunking import ChunkText
from sakuin.domain.language.question import KnownWords, Sought
from sakuin.domain.search_tool import SkippedNode
from sakuin.ports.embedding import Vector


@dataclass(frozen=True, slots=True)
class Scan:
    """What a worker scans: a Table as it is now.

    `decision`: "scan", or why not: "gone", "empty" (no document has arrived), "superseded" (by a newer generation, or
    this page was scanned already). Then the rest is empty. Either `data` (JSON text) or `data_key` is set.
    `scopes` are the json_paths of the enabled Tools. `check_store`: what is recorded as stored has to be compared with
    the store.
    """

    decision: Literal["scan", "gone", "empty", "superseded"]
    project_id: str = ""
    generation: int = 0
    data: str | None = None
    data_key: str | None = None
    scopes: tuple[str, ...] = ()
    check_store: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a page of the scan led to: ids of the chunks that the store does not have, and nodes that answer already."""

    missing: Sequence[str]
    published: Sequence["FlippedNode"]


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """One version of a large string with its chunks."""

    pointer_hash: str
    json_pointer: str
    content_hash: str
    chunks: tuple[ChunkText, ...]


@dataclass(frozen=True, slots=True)
class WantedChunk:
    """A chunk that is to be embedded and stored. `generation` is its node's."""

    id: str
    json_pointer: str
    content_hash: str
    chunk_index: int
    chunk_text: str
    generation: int


@dataclass(frozen=True, slots=True)
class StoredChunkRef:
    """A chunk that the store has acknowledged, with how its words are read (katakana) and written."""

    id: str
    namespace: str
    doc_id: str
    readings: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class FlippedNode:
    """A node that answers with a version, while rows of older ones may still be in the store."""

    pointer_hash: str
    content_hash: str
    generation: int


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What storing chunks led to. `alive`: the Table is still there. `unwanted`: doc ids that came too late."""

    alive: bool
    unwanted: tuple[str, ...]
    flipped: tuple[FlippedNode, ...]


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """All of a Table's chunks in one look: the id by doc id of those `stored`, and doc ids of those `coming`.

    `planned`: the walk of the present `generation` is over.
    """

    generation: int
    planned: bool
    stored: Mapping[str, str]
    coming: Collection[str]


@dataclass(frozen=True, slots=True)
class Leftover:
    """The index of a Table for a fingerprint that is no longer kept."""

    project_id: str
    table_id: str
    fingerprint: str
    suffix: str


class TableIndex(Protocol):
    """One index over Tables, as its workers change it. Each call is one transaction.

    Before the deployment has recorded an index, each is taken for the one that answers.
    """

    def begin_scan(self, table_id: str, generation: int | None, *, skip: int, for_event: bool) -> Scan:
        """Begins a scan of this generation (None: the present one), or continues it after `skip` strings.

        A page that was scanned before is not scanned again because of an event (`for_event`), unless the store is to be
        compared, or the scan long ago has not made the Table whole. Whoever asks by name, with `skip` 0, gets a scan.
        """

    def changed_nodes(self, table_id: str, nodes: Sequence[tuple[str, str]], *, limit: int) -> Sequence[int]:
        """The places (from 0) of the first `limit` of these `(pointer hash, content hash)` that do not answer whole.

        A node answers whole with a text if all its chunks are stored and its older rows are swept.
        """

    def plan_nodes(self, table_id: str, generation: int, nodes: Sequence[NodeVersion]) -> Plan | None:
        """Records the versions that shall answer, with their chunks; twice is once. None: a newer generation came."""

    def record_scan(self, table_id: str, generation: int, *, nodes: int) -> None:
        """Records that all that the first so many strings of this generation ask for is sent, or done."""

    def finish_scan(
        self, table_id: str, generation: int, *, kept: Collection[str], skipped: Sequence[SkippedNode], nodes: int
    ) -> Mapping[int, Sequence[str]] | None:
        """Ends the scan: nodes that are not among the `kept` pointer hashes go.

        Gives the doc ids that have to leave the store, by the generation up to which they are, until `record_removed`;
        None if a newer generation has come. Where none has to leave, the scan is recorded, and each Tool is `ready` if
        nothing else is missing.
        """

    def record_removed(self, table_id: str, removed: Collection[int], generation: int, *, nodes: int) -> None:
        """Records that what `finish_scan` gave for these generations has left the store, and the scan."""

    def to_store(self, table_id: str, ids: Collection[str], *, namespace: str) -> Sequence[WantedChunk]:
        """Those of the chunks that are wanted and not stored; none of a Table that is gone.

        Unless there are none, the namespace that they are going to be written to is remembered for `abandoned`.
        """

    def known_vectors(self, project_id: str, text_hashes: Collection[str]) -> Mapping[str, Vector]:
        """Vectors of texts that this project embedded before, by the hash of the text."""

    def keep_vectors(self, project_id: str, vectors: Mapping[str, Vector]) -> None:
        """Stores vectors by the hash of their text. Twice is once."""

    def stored(self, table_id: str, chunks: Sequence[StoredChunkRef]) -> StoredResult:
        """Records what the store has acknowledged; nodes that are whole answer with their new version from now on.

        The Table knows the words of what is stored, and no longer those of what is forgotten.
        """

    def refused(self, table_id: str, reasons: Mapping[str, str]) -> None:
        """Records, by the ids of chunks, why they cannot be embedded.

        Their nodes are finished with nothing to show until their text changes, and their tools say so (`SkippedNode`).
        """

    def recorded(self, table_id: str) -> RecordedRows | None:
        """What is recorded of a Table's rows in the store; None when it is gone."""

    def lost(self, table_id: str, ids: Collection[str]) -> None:
        """Records that the store does not have these: they are missing to the next `want`, and answer as before."""

    def compared(self, table_id: str, generation: int) -> None:
        """Records that the store was compared for this generation. If a newer one has come, nothing happens."""

    def swept(self, table_id: str, nodes: Sequence[FlippedNode]) -> None:
        """Records that the older rows of these nodes are gone from the store."""

    def unswept(self, table_id: str) -> Sequence[FlippedNode]:
        """The nodes that answer with what is wanted, while rows of older versions may still be in the store."""

    def settle(self, table_id: str) -> bool:
        """Says whether all of the present generation is stored.

        Of the index that answers it sets each tool's counts, and `ready` once it is.
        """

    def failed(self, table_id: str, generation: int | None, message: str) -> None:
        """Notes why this generation (None: the present one) is not indexed.

        If this index answers, the tools are set to `error` with it.

        The message is a sentence for people, never a secret.
        """

    def stuck(self, seconds: int) -> Sequence[tuple[str, str]]:
        """`(project, table)` whose work in this index gave no sign of life for so long, and that no message speaks for.

        Of an index that does not answer: none that was never asked for, and none that was given up.
        Those, too, whose tools went so long ago and whose rows are still there.
        """

    def restarted(self, table_id: str, *, seconds: int) -> int | None:
        """Counts a restart of a Table's indexing and returns how many there were, this one among them.

        None if somebody restarted it within `seconds`, or the Table is gone. A new generation, or a day, begins at one.
        """

    def suffix(self) -> str:
        """What this fingerprint's namespaces end in: nothing for the first of a deployment."""

    def leftovers(self) -> Sequence[Leftover]:
        """What Tables still hold for indexes that are no longer kept."""

    def forget(self, leftover: Leftover) -> None:
        """Deletes the records of it."""

    def abandoned(self, table_id: str | None = None) -> Sequence[str]:
        """The namespaces, of one Table or of all, that `to_store` remembered and nobody needs any more, in order.

        Their Table is gone; or their index is no longer kept, and its records are forgotten.
        They may be in the store or not.
        """

    def forget_namespaces(self, namespaces: Collection[str], *, seconds: int) -> None:
        """Forgets those of them that have been abandoned for so long."""


class TableQueues(Protocol):
    """Messages to the workers of Tables. At least once."""

    def index(
        self,
        project_id: str,
        table_id: str,
        *,
        generation: int | None = None,
        skip: int = 0,
        resumed: bool = False,
    ) -> None:
        """Asks to scan a Table; with `generation`, to continue the scan of that generation after `skip` nodes.

        `resumed`: the Table waited before.
        """

    def embed(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]], *, resumed: bool = False) -> None:
        """Asks to embed chunks, a message a batch."""

    def import_document(self, key: str) -> None:
        """Asks to import the uploaded document at `key`."""


class ToolSearch(Protocol):
    """The records of Search Tools, as agents reach them."""

    def endpoint(self, mcp_id: str) -> Endpoint | None:
        """The endpoint; None when it is not there, disabled, or its id is no UUID."""

    def known_words(self, mcp_id: str, tool_id: str, sought: Sought) -> KnownWords:
        """What the words of the tool's Table say of a question; nothing if it is not reachable now."""

    def current(self, mcp_id: str, tool_id: str, doc_ids: Collection[str]) -> Mapping[str, FullChunk]:
        """By doc id, those that are current, in the tool's scope, and reachable through this endpoint now."""
