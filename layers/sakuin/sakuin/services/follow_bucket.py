"""Events of the materials bucket: what happens in the bucket happens in the index."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.domain.language.site_synonyms import SiteSynonyms, parse_synonyms
from sakuin.domain.learns_file import LARGEST_FILE, LEARNS_FILE, LearnsFile, parse_learns
from sakuin.domain.material import material_of_key
from sakuin.domain.material_version import Applied, MaterialState, Outcome, Source
from sakuin.domain.uploads import synonyms_key
from sakuin.errors import Conflict, Invalid, NotFound, UnreadablePage
from sakuin.ports.materials import KnowledgeIndex, MaterialBucket, WorkQueue
from sakuin.services.apply_page import ApplyPage, PageResult
from sakuin.services.held_now import HeldNow

# A language model that was late is asked again after five minutes, then after ten, then no more.
_MODEL_ATTEMPTS = 3
_MODEL_DELAY_SECONDS = 300


@dataclass(frozen=True, slots=True)
class ObjectWritten:
    """An object was stored."""

    source: Source


@dataclass(frozen=True, slots=True)
class ObjectRemoved:
    """An object was deleted (`marker`, or a bucket without versions), or one of its versions was."""

    source: Source
    marker: bool


@dataclass(frozen=True, slots=True)
class ReindexMaterial:
    """A request to read a material and index it again. `resumed`: it waited before."""

    material: str
    reason: str
    attempt: int = 1
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class RecheckKey:
    """A request to bring the index in line with what the bucket holds under a key, since an event may be missing.

    `version_id`, `sequencer` (padded; "" if none is known) and `removed` are those of the newest event known of it.
    """

    key: str
    reason: str
    version_id: str | None = None
    sequencer: str = ""
    removed: bool = False
    resumed: bool = False


BucketEvent = ObjectWritten | ObjectRemoved | ReindexMaterial | RecheckKey


@dataclass(frozen=True, slots=True)
class EventResult:
    """What an event led to; `ignored` says why nothing had to be done."""

    material: str | None
    result: PageResult | None = None
    ignored: str | None = None
    asked: int = 0


@dataclass(frozen=True, slots=True)
class BucketEvents:
    """Brings the index in line with the bucket, one event at a time, in any order, any number of times."""

    bucket: MaterialBucket
    index: KnowledgeIndex
    queue: WorkQueue
    apply_page: ApplyPage
    prefix: str

    def process(self, event: BucketEvent) -> EventResult:
        """Processes one event."""
        if isinstance(event, ReindexMaterial):
            return self._reindex(event)
        if isinstance(event, RecheckKey):
            event = self._present(event)
        key = event.source.key
        if key == LEARNS_FILE or key.endswith("/" + LEARNS_FILE):
            return self._learns_file(event.source)
        if key == synonyms_key(self.prefix):
            return self._synonyms_file(event)
        material = material_of_key(key, prefix=self.prefix)
        if material is None:
            return EventResult(None, ignored=f"{key} is not a page")
        if isinstance(event, ObjectWritten):
            return self._written(material, event.source)
        return self._removed(material, event)

    def _written(self, material: str, source: Source) -> EventResult:
        try:
            return self._applied(material, self.apply_page.uploaded(material, source), attempt=1)
        except NotFound:
            self.index.leave_receipt(source, "superseded")
            return EventResult(material, ignored="this version is gone: a newer one took its place")

    def _applied(self, material: str, result: PageResult, *, attempt: int) -> EventResult:
        if result.provisional and attempt < _MODEL_ATTEMPTS:
            delay = _MODEL_DELAY_SECONDS * attempt
            self.queue.reindex([material], reason="provisional", attempt=attempt + 1, delay_seconds=delay)
        return EventResult(material, result)

    def _removed(self, material: str, change: ObjectRemoved) -> EventResult:
        source = change.source
        if not change.marker:
            current = self.bucket.current_version(source.key)
            state = self.index.state(material)
            if current is not None:
                if state is None or _is_another(change, state):
                    return EventResult(material, ignored="a version that was not current is gone")
                # The version before the removed one is current again.
                return self._written(material, Source(source.bucket, source.key, current, source.sequencer))
        return self._succeed(material, self._deleted(material, source))

    def _deleted(self, material: str, source: Source) -> Applied:
        def change(expected: int | None, current: bool) -> Applied:
            return self.index.delete(material, source, expected_generation=expected, current=current)

        return HeldNow(self.index, self.bucket)(material, source, change, gone=True)

    def _present(self, asked: RecheckKey) -> ObjectWritten | ObjectRemoved:
        """Returns what the bucket holds under a key as an event, with the sequencer if the newest known one is its."""
        version = self.bucket.current_version(asked.key)
        is_known = asked.removed if version is None else version == asked.version_id
        source = Source(
            self.bucket.name,
            asked.key,
            asked.version_id if is_known else version,
            asked.sequencer if is_known else "",
        )
        return ObjectRemoved(source, marker=True) if version is None else ObjectWritten(source)

    def _succeed(self, material: str, applied: Applied) -> EventResult:
        if applied.successor is None:
            return EventResult(material, PageResult(applied))
        # Another spelling of the same key waited for its turn.
        return self._written(material, applied.successor)

    def _reindex(self, asked: ReindexMaterial) -> EventResult:
        state = self.index.state(asked.material)
        if state is None or state.indexed_version_id is None:
            return EventResult(asked.material, ignored="nothing of it is indexed")
        try:
            result = self.apply_page.again(asked.material, state.source.key, state.indexed_version_id)
        except NotFound:
            return EventResult(asked.material, ignored="the indexed version is gone: its own event follows")
        except UnreadablePage as error:
            return EventResult(asked.material, ignored=f"the indexed version can no longer be read: {error}")
        return self._applied(asked.material, result, attempt=asked.attempt)

    def _learns_file(self, source: Source) -> EventResult:
        """Asks for the pages again that the file speaks of, or spoke of before: what it no longer says must go."""
        folder = unicodedata.normalize("NFC", source.key).removeprefix(self.prefix).removesuffix(LEARNS_FILE)
        version: str | None = None
        try:
            stored = self.bucket.read(source.key, max_bytes=LARGEST_FILE)
            version = stored.version_id
            file = parse_learns(stored.body)
        except NotFound:
            file = LearnsFile({})
        except Invalid as error:
            self.index.followed(source.key, version or source.version_id)
            self.index.leave_receipt(source, "failed", str(error))
            return EventResult(None, ignored=f"{source.key} cannot be read: {error}")
        touched = self.index.materials_spoken_of(folder, file.materials)
        self.queue.reindex(touched, reason=f"{source.key} changed")
        self.index.followed(source.key, version)
        self.index.leave_receipt(source, "applied", "; ".join(file.problems) or None)
        return EventResult(None, asked=len(touched))

    def _synonyms_file(self, change: ObjectWritten | ObjectRemoved) -> EventResult:
        """Keeps the list of the version that was written, or of the one that a removal leaves; no file, no list.

        A file that cannot be read leaves the last good list as it is.
        """
        source = change.source
        version = self._version_that_counts(change)
        try:
            file = self._synonyms(change, version)
        except NotFound:
            self.index.leave_receipt(source, "superseded")
            return EventResult(None, ignored="this version is gone: a newer one took its place")
        except Invalid as error:
            self.index.followed(source.key, version)
            self.index.leave_receipt(source, "failed", str(error))
            return EventResult(None, ignored=f"{source.key} cannot be read: {error}")
        outcome = self._keep_synonyms(source, version, file.groups)
        if outcome == "applied":
            self.index.followed(source.key, version)
        self.index.leave_receipt(source, outcome, "; ".join(file.problems) or None)
        return EventResult(None, ignored=None if outcome == "applied" else "a newer version was first")

    def _keep_synonyms(self, source: Source, version: str | None, groups: Sequence[Sequence[str]]) -> Outcome:
        outcome: Outcome = self.index.keep_synonyms(source, groups) if source.sequencer else "superseded"
        if outcome != "superseded":
            return outcome
        # The row first, then the bucket: as `HeldNow` does for pages.
        generation = self.index.synonyms_generation(source.key)
        if self.bucket.current_version(source.key) != version:
            return "superseded"
        outcome = self.index.keep_synonyms(source, groups, expected_generation=generation, current=True)
        if outcome == "conflict":
            raise Conflict(f"{source.key} was changed by others while the bucket was looked at")
        return outcome

    def _version_that_counts(self, change: ObjectWritten | ObjectRemoved) -> str | None:
        if isinstance(change, ObjectWritten):
            return change.source.version_id
        return None if change.marker else self.bucket.current_version(change.source.key)

    def _synonyms(self, change: ObjectWritten | ObjectRemoved, version: str | None) -> SiteSynonyms:
        if isinstance(change, ObjectRemoved) and version is None:
            return SiteSynonyms(())
        return parse_synonyms(self.bucket.read(change.source.key, version_id=version, max_bytes=LARGEST_FILE).body)


def _is_another(change: ObjectRemoved, state: MaterialState) -> bool:
    """Whether the removed version is none that the index knows; what a waiting key held is looked at again."""
    known = (state.indexed_version_id, state.source.version_id)
    return state.source.key == change.source.key and change.source.version_id not in known
