"""The pages: where they lie, how the indexer changes what is known of them, what people read of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.domain.knowledge import KnowledgeChunk
from sakuin.domain.material_version import Applied, MaterialState, Outcome, Receipt, Source
from sakuin.domain.page import Page
from sakuin.domain.recipe import Fingerprint
from sakuin.domain.reconciliation import HeldObject
from sakuin.domain.validation import IndexedMaterial
from sakuin.ports.embedding import Vector


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an uploaded file. `version_id` is None in a bucket without versions."""

    body: bytes
    version_id: str | None


@dataclass(frozen=True, slots=True)
class HeldPage:
    """Part of a bucket's keys, in the order of their bytes; `upto` is where the next page begins (None at the end)."""

    items: Sequence[HeldObject]
    upto: str | None


class MaterialBucket(Protocol):
    """The uploaded files, in versions; reads see every write that was acknowledged before."""

    @property
    def name(self) -> str:
        """What the bucket is called in its own events."""

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

    def held(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> HeldPage:
        """What the keys below `prefix` hold now, by key, from after `after` on; removed ones are among them."""

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        """Stores a new current version and gives its version id."""

    def remove(self, key: str) -> str:
        """Puts a delete marker on `key` and gives the marker's version id. A key that is not there is not an error."""


class LearnsModel(Protocol):
    """A language model that says what a reader learns."""

    @property
    def name(self) -> str:
        """Which model and instruction: part of the cache's key."""

    def learns(self, page: Page) -> Mapping[str, tuple[str, ...]]:
        """Anchor to items, for all of a page's explanations, in one time-boxed call; late is `Unavailable`."""


class WorkQueue(Protocol):
    """Messages to the function that indexes materials."""

    def reindex(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        """Asks to read each material and index it again. At least once; none is not an error."""

    def recheck(self, keys: Collection[str], *, reason: str) -> None:
        """Asks to bring the index in line with what the bucket holds under each key now. At least once."""


@dataclass(frozen=True, slots=True)
class PageChange:
    """What a version makes of a material: its chunks, why it cannot be read (`error`), or its removal (`deleted`).

    `source` is None for a change that no upload caused. A deletion is remembered, so that a late version does not
    revive the material.
    """

    material: str
    source: Source | None
    chunks: Sequence[KnowledgeChunk] | None = None
    fingerprint: str | None = None
    error: str | None = None
    deleted: bool = False


class KnowledgeIndex(Protocol):
    """The materials, as the indexer changes them. Each change is one transaction."""

    def remember(self, fingerprint: Fingerprint) -> None:
        """Records what an index of this fingerprint is built with. Twice is once."""

    def state(self, material: str) -> MaterialState | None:
        """What is held of a material; None when it was never heard of."""

    def missing_vectors(self, text_hashes: Collection[str], fingerprint: Fingerprint) -> set[str]:
        """Those of `text_hashes` that have no vector of this model and recipe; the analyzer changes no vector."""

    def keep_vectors(self, vectors: Mapping[str, Vector], fingerprint: Fingerprint) -> None:
        """Stores vectors by the hash of their text. Twice is once."""

    def apply(self, change: PageChange, *, expected_generation: int | None = None, current: bool = False) -> Applied:
        """Makes one change of a material in one transaction: new chunks in, gone ones out, unchanged ones untouched.

        A version older than what is indexed is `superseded`. The same version again, or a change without a source,
        is made only if the row still has `expected_generation`, else it is a `conflict`. All vectors must have been
        stored before.

        With `current` the bucket was seen to hold the version now, or nothing for a deletion: the change is made
        whatever its sequencer says (empty: none is known), if the row still has `expected_generation` (None: there was
        no row), else it is a `conflict`. From then on every event of the key is `superseded` and needs the same; no
        receipt is left for those.
        """

    def leave_receipt(self, source: Source, outcome: Outcome, reason: str | None = None) -> None:
        """Says what became of a version that changed no material by itself."""

    def keep_synonyms(
        self,
        source: Source,
        groups: Sequence[Sequence[str]],
        *,
        expected_generation: int | None = None,
        current: bool = False,
    ) -> Outcome:
        """Makes the site's list of synonyms say what this version of its file says; a removed file says nothing.

        A version older than the one that was kept is `superseded`, else it is `applied`; `current` as in `apply`.
        """

    def synonyms_generation(self, key: str) -> int | None:
        """How often the list of this file was kept; None for a file never heard of."""

    def followed(self, key: str, version_id: str | None) -> None:
        """Remembers that the pages were asked again for this version of a `learns.yml`; None: for its removal."""

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
