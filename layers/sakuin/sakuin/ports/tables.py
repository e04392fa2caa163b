"""The index over Tables, as its workers change it and as agents reach it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.domain.bound_tools import Endpoint, FullChunk
from sakuin.domain.chunking import ChunkText
from sakuin.domain.language.question import KnownWords, Sought
from sakuin.domain.search_tool import SkippedNode
from sakuin.ports.embedding import Vector


@dataclass(frozen=True, slots=True)
class TableWork:
    """A Table as its worker finds it. Either `data` (JSON text) or `data_key` is set, or neither: nothing has come yet.

    `scopes` are the json_paths of the enabled tools. `whole` has the content hash by pointer hash of the nodes that
    answer with what was wanted last, all their chunks stored and their older rows swept. `check_store`: what is
    recorded as stored has to be compared with the store.
    """

    project_id: str
    generation: int
    data: str | None
    data_key: str | None
    scopes: tuple[str, ...]
    whole: Mapping[str, str]
    check_store: bool


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

    def work(self, table_id: str) -> TableWork | None:
        """The Table and what is wanted of it; None when it is gone."""

    def wanted(self, table_id: str, generation: int | None, *, skip: int, heard: bool) -> bool:
        """Whether the page after `skip` strings has to be walked, of this generation or, None, of the present one.

        Not if a newer one came, nor if it was `walked` before, unless the walk is to begin (`skip` 0) and was not just
        `heard` of in an event. An event is enough where the store is to be compared, and long after a walk that has
        not made the Table whole. One that is gone is wanted: somebody has to find out.
        """

    def walked(self, table_id: str, generation: int, *, nodes: int) -> None:
        """Records that all is sent, or done, that the first so many strings of this generation ask for."""

    def started(self, table_id: str, generation: int) -> bool:
        """Says that a worker walks this generation, on the tools if this index answers; False if a newer one came."""

    def want(self, table_id: str, generation: int, nodes: Sequence[NodeVersion]) -> Sequence[str] | None:
        """Records the versions that shall answer, with their chunks; twice is once.

        Gives the ids of those chunks that the store does not have, or None if a newer generation has come.
        """

    def planned(
        self, table_id: str, generation: int, *, kept: Collection[str], skipped: Sequence[SkippedNode]
    ) -> Mapping[int, Sequence[str]] | None:
        """Ends the walk: nodes that are not among the `kept` pointer hashes go.

        Gives the doc ids that are to leave the store, by the generation up to which they are, until `removed` is
        told; None if a newer generation has come.
        """

    def removed(self, table_id: str, generation: int) -> None:
        """Records that what `planned` gave for this generation has left the store."""

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

    def flip(self, table_id: str, pointer_hashes: Collection[str]) -> Sequence[FlippedNode]:
        """Lets nodes answer whose wanted version is stored whole; gives those with older rows to sweep."""

    def swept(self, table_id: str, nodes: Sequence[FlippedNode]) -> None:
        """Records that the older rows of these nodes are gone from the store."""

    def unswept(self, table_id: str) -> Sequence[FlippedNode]:
        """The nodes that answer with what is wanted, while rows of older versions may still be in the store."""

    def settle(self, table_id: str) -> bool:
        """Says whether all of the present generation is stored.

        Of the index that answers it sets each tool's counts, and `ready` once it is.
        """

    def failed(self, table_id: str, generation: int, message: str) -> None:
        """Notes why this generation is not indexed; if this index answers, on the tools, which are set to `error`.

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
