"""What the services ask of the outside. Docstrings are promises that every adapter keeps.

Every method may raise `Unavailable` when the outside system does not answer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.domain.knowledge import Concept, Filters, KnowledgeChunk, Match, StoredChunk
from sakuin.domain.material_version import Applied, MaterialState, Outcome, Receipt, Source
from sakuin.domain.page import Page
from sakuin.domain.recipe import Fingerprint
from sakuin.domain.validation import Finding, IndexedMaterial

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an uploaded file. `version_id` is None in a bucket without versions."""

    body: bytes
    version_id: str | None


class MaterialBucket(Protocol):
    """The uploaded files, in versions; reads see every write that was acknowledged before."""

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        """The current version, or the one named.

        A version that is not there raises `NotFound`; one larger than `max_bytes` raises `UnreadablePage`
        before its body travels.
        """

    def current_version(self, key: str) -> str | None:
        """The tag of what `key` holds now, None when it holds nothing. A delete marker is nothing.

        The tag is the version id, or the content's tag in a bucket without versions.
        """

    def keys(self, prefix: str) -> Sequence[str]:
        """All keys below `prefix`, in order. None there is not an error."""

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        """Stores a new current version and gives its version id."""

    def remove(self, key: str) -> str:
        """Puts a delete marker on `key` and gives the marker's version id. A key that is not there is not an error."""


class Embedder(Protocol):
    """Texts to vectors of `dimensions` floats, of length 1."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in the order of the texts. No text is not an error."""

    def query(self, text: str) -> Vector:
        """The vector of a question."""


class LearnsModel(Protocol):
    """A language model that says what a reader learns."""

    @property
    def name(self) -> str:
        """Which model and instruction: part of the cache's key."""

    def learns(self, page: Page) -> Mapping[str, tuple[str, ...]]:
        """Anchor to items, for all of a page's explanations, in one time-boxed call; late is `Unavailable`."""


class WorkQueue(Protocol):
    """Messages to the function that indexes materials."""

    def reapply(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        """Asks for each material to be read and applied again. At least once; none is not an error."""

    def postpone(self, receipt_handle: str, *, seconds: int) -> None:
        """Lets a message that failed come back after `seconds` instead of after the queue's own time."""


class KnowledgeIndex(Protocol):
    """The materials, as the indexer changes them. Each change is one transaction."""

    def remember(self, fingerprint: Fingerprint) -> None:
        """Records what an index of this fingerprint is built with. Twice is once."""

    def state(self, material: str) -> MaterialState | None:
        """What is held of a material; None when it was never heard of."""

    def missing_vectors(self, text_hashes: Collection[str], fingerprint: str) -> set[str]:
        """Those of `text_hashes` that have no vector under this fingerprint."""

    def keep_vectors(self, vectors: Mapping[str, Vector], fingerprint: str) -> None:
        """Stores vectors by the hash of their text. Twice is once."""

    def apply(
        self,
        material: str,
        source: Source | None,
        chunks: Sequence[KnowledgeChunk],
        *,
        fingerprint: str,
        expected_generation: int | None,
    ) -> Applied:
        """Makes the index say of `material` what `chunks` say: new in, gone out, unchanged untouched.

        A version older than what is indexed is `superseded`. The same version again, or `source` None (a change
        that no upload caused), applies only if the row still has `expected_generation`, else `conflict`.
        All vectors must have been kept before.
        """

    def fail(self, material: str, source: Source, reason: str) -> Applied:
        """Keeps why a version cannot be read; what was searchable stays so."""

    def delete(self, material: str, source: Source) -> Applied:
        """Takes a material out of the index and remembers when, so that a late version does not revive it."""

    def leave_receipt(self, source: Source, outcome: Outcome, reason: str | None = None) -> None:
        """Says what became of a version that changed no material by itself."""

    def cached_learns(self, cache_key: str) -> Mapping[str, tuple[str, ...]] | None:
        """What a model answered before to the same question; None if it was never asked."""

    def keep_learns(self, cache_key: str, learns: Mapping[str, tuple[str, ...]]) -> None:
        """Stores a model's answer. Twice is once."""

    def materials_spoken_of(self, folder: str, names: Collection[str]) -> Sequence[str]:
        """The searchable materials below `folder` whose `learns` an author's file there has to do with.

        Those that go by one of `names` (in full, or by their last segment), and those with an author's `learns`.
        """

    def materials_built_otherwise(self, fingerprint: str) -> Sequence[str]:
        """The searchable materials that were built with another fingerprint."""


@dataclass(frozen=True, slots=True)
class MaterialPage:
    """One page of a list, and where the next begins (None at the end)."""

    items: Sequence[MaterialState]
    next_cursor: str | None


class MaterialRecords(Protocol):
    """What is indexed and what became of uploads, for people."""

    def materials(self, *, prefix: str = "", after: str | None = None, limit: int = 200) -> MaterialPage:
        """Materials by name, deleted ones left out."""

    def counts(self) -> Mapping[str, int]:
        """How many materials of each status, and `chunks`."""

    def receipts(self, versions: Collection[tuple[str, str]]) -> Sequence[Receipt]:
        """What became of `(key, version id)` pairs; those not worked on yet are left out."""

    def waiting(self) -> Sequence[tuple[str, str, str]]:
        """`(material, key, owner's key)` of the keys that wait for a material which another key owns."""

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        """What the index says of these materials' anchors; those without a row are left out."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a search asks of the index. `vector` None asks by words alone."""

    vector: Vector | None
    terms: Collection[str]
    fingerprint: str
    filters: Filters
    limit: int


class KnowledgeSearch(Protocol):
    """The knowledge chunks, as agents read them."""

    def matches(self, question: Question) -> Sequence[Match]:
        """The best `limit` chunks by falling similarity, ties by id; fewer only if the filters leave fewer.

        Chunks of another fingerprint, and all of them where `vector` is None, are found by words alone.
        """

    def chunk(self, id: str) -> StoredChunk:
        """One chunk in full; an id that is not there raises `NotFound`."""

    def concepts(self, filters: Filters, *, after: str | None, limit: int) -> tuple[Sequence[Concept], str | None]:
        """Chunks by material and anchor after the id `after`, and the cursor of the next page (None at the end)."""


# ---------------------------------------------------------------- the keeper's side: what the commands ask for


@dataclass(frozen=True, slots=True)
class MaterialRecord:
    """What a deployment says of one material."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    generation: int
    chunks_count: int
    indexed_version_id: str | None
    indexed_at: str | None


@dataclass(frozen=True, slots=True)
class LibraryCounts:
    """How many materials of each status, how many chunks, and `(material, key)` of the keys that wait."""

    materials: Mapping[str, int]
    chunks: int
    waiting: Sequence[tuple[str, str]]


class DeployedLibrary(Protocol):
    """A deployment's records, as its keeper reads them from afar. A key that does not fit is `Misconfigured`."""

    def counts(self) -> LibraryCounts:
        """Counts of the whole library."""

    def materials(self, *, prefix: str = "", after: str | None = None) -> tuple[Sequence[MaterialRecord], str | None]:
        """One page of the materials that begin with `prefix`, by name, and the next page's `after` (None at the end).

        Deleted ones are left out.
        """

    def material(self, name: str) -> MaterialRecord | None:
        """One material; None if it is not there or deleted."""

    def receipts(self, versions: Collection[tuple[str, str]]) -> Sequence[Receipt]:
        """What became of `(key, version id)` pairs, however many; those not worked on yet are left out."""

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        """What the index says of these materials' anchors, however many; those not indexed are left out."""

    def findings(
        self, *, prefix: str = "", after: str | None = None, strict: bool = False, limit: int = 50
    ) -> tuple[Sequence[Finding], str | None]:
        """Findings about `limit` materials, checked where the pages are, and the next page's `after`."""


class AgentEndpoint(Protocol):
    """The MCP endpoint, as an agent sees it."""

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """The tool's structured answer; a failure that the tool reports is `Invalid` with the tool's sentence."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file on this machine. `place` is its path below the folder it was looked for in, with `/`."""

    path: str
    place: str


class LocalFiles(Protocol):
    """The files on this machine."""

    def below(self, path: str) -> Sequence[FoundFile]:
        """All files of a folder, hidden ones left out, or the one file that `path` is, by place.

        A path that is not there raises `NotFound`.
        """

    def read(self, path: str) -> bytes:
        """The bytes of a file. One that is gone or may not be read raises `NotFound`."""
