"""What happens in the bucket happens in the index."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.domain.language.site_synonyms import SiteSynonyms, parse_synonyms
from sakuin.domain.learns_file import LARGEST_FILE, LEARNS_FILE, LearnsFile, parse_learns
from sakuin.domain.material import material_of_key, synonyms_key
from sakuin.domain.material_version import Applied, MaterialState, Outcome, Source
from sakuin.errors import Conflict, Invalid, NotFound, UnreadablePage
from sakuin.ports.materials import KnowledgeIndex, MaterialBucket, WorkQueue
from sakuin.services.apply_page import ApplyPage, PageResult
from sakuin.services.held_now import HeldNow

# A language model that was late is asked again after five minutes, then after ten, then no more.
_MODEL_ATTEMPTS = 3
_MODEL_DELAY_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Written:
    """An object was stored."""

    source: Source


@dataclass(frozen=True, slots=True)
class Removed:
    """An object was deleted (`marker`, or a bucket without versions), or one of its versions was."""

    source: Source
    marker: bool


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """A material is to be read and applied again."""

    material: str
    reason: str
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A key is to be looked at as it is now, because an event of it may be missing."""

    key: str
    reason: str


Change = Written | Removed | AskedAgain | LookedAt


@dataclass(frozen=True, slots=True)
class Followed:
    """What a change led to; `ignored` says why nothing had to be done."""

    material: str | None
    result: PageResult | None = None
    ignored: str | None = None
    asked: int = 0


@dataclass(frozen=True, slots=True)
class FollowBucket:
    """Brings the index to what the bucket holds, one change at a time, in any order, any number of times."""

    bucket: MaterialBucket
    index: KnowledgeIndex
    queue: WorkQueue
    apply_page: ApplyPage
    prefix: str

    def __call__(self, change: Change) -> Followed:
        if isinstance(change, AskedAgain):
            return self._again(change)
        if isinstance(change, LookedAt):
            return self(self._as_it_is(change.key))
        key = change.source.key
        if key == LEARNS_FILE or key.endswith("/" + LEARNS_FILE):
            return self._learns_file(change.source)
        if key == synonyms_key(self.prefix):
            return self._synonyms_file(change)
        material = material_of_key(key, prefix=self.prefix)
        if material is None:
            return Followed(None, ignored=f"{key} is not a page")
        if isinstance(change, Written):
            return self._written(material, change.source)
        return self._removed(material, change)

    def _written(self, material: str, source: Source) -> Followed:
        try:
            return self._applied(material, self.apply_page.uploaded(material, source), attempt=1)
        except NotFound:
            self.index.leave_receipt(source, "superseded")
            return Followed(material, ignored="this version is gone: a newer one took its place")

    def _applied(self, material: str, result: PageResult, *, attempt: int) -> Followed:
        if result.provisional and attempt < _MODEL_ATTEMPTS:
            delay = _MODEL_DELAY_SECONDS * attempt
            self.queue.reapply([material], reason="provisional", attempt=attempt + 1, delay_seconds=delay)
        return Followed(material, result)

    def _removed(self, material: str, change: Removed) -> Followed:
        source = change.source
        if not change.marker:
            current = self.bucket.current_version(source.key)
            state = self.index.state(material)
            if current is not None:
                if state is None or _is_another(change, state):
                    return Followed(material, ignored="a version that was not current is gone")
                # The version before the removed one is current again.
                return self._written(material, Source(source.bucket, source.key, current, source.sequencer))
        return self._succeed(material, self._deleted(material, source))

    def _deleted(self, material: str, source: Source) -> Applied:
        def change(expected: int | None, current: bool) -> Applied:
            return self.index.delete(material, source, expected_generation=expected, current=current)

        return HeldNow(self.index, self.bucket)(material, source, change, gone=True)

    def _as_it_is(self, key: str) -> Written | Removed:
        """What the bucket holds under a key, as a change that no event told."""
        version = self.bucket.current_version(key)
        source = Source(self.bucket.name, key, version, "")
        return Removed(source, marker=True) if version is None else Written(source)

    def _succeed(self, material: str, applied: Applied) -> Followed:
        if applied.successor is None:
            return Followed(material, PageResult(applied))
        # Another spelling of the same key waited for its turn.
        return self._written(material, applied.successor)

    def _again(self, change: AskedAgain) -> Followed:
        state = self.index.state(change.material)
        if state is None or state.indexed_version_id is None:
            return Followed(change.material, ignored="nothing of it is indexed")
        try:
            result = self.apply_page.again(change.material, state.source.key, state.indexed_version_id)
        except NotFound:
            return Followed(change.material, ignored="the indexed version is gone: its own event follows")
        except UnreadablePage as error:
            return Followed(change.material, ignored=f"the indexed version can no longer be read: {error}")
        return self._applied(change.material, result, attempt=change.attempt)

    def _learns_file(self, source: Source) -> Followed:
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
            return Followed(None, ignored=f"{source.key} cannot be read: {error}")
        touched = self.index.materials_spoken_of(folder, file.materials)
        self.queue.reapply(touched, reason=f"{source.key} changed")
        self.index.followed(source.key, version)
        self.index.leave_receipt(source, "applied", "; ".join(file.problems) or None)
        return Followed(None, asked=len(touched))

    def _synonyms_file(self, change: Written | Removed) -> Followed:
        """Keeps the list of the version that was written, or of the one that a removal leaves; no file, no list.

        A file that cannot be read leaves the last good list as it is.
        """
        source = change.source
        version = self._version_that_counts(change)
        try:
            file = self._synonyms(change, version)
        except NotFound:
            self.index.leave_receipt(source, "superseded")
            return Followed(None, ignored="this version is gone: a newer one took its place")
        except Invalid as error:
            self.index.followed(source.key, version)
            self.index.leave_receipt(source, "failed", str(error))
            return Followed(None, ignored=f"{source.key} cannot be read: {error}")
        outcome = self._keep_synonyms(source, version, file.groups)
        if outcome == "applied":
            self.index.followed(source.key, version)
        self.index.leave_receipt(source, outcome, "; ".join(file.problems) or None)
        return Followed(None, ignored=None if outcome == "applied" else "a newer version was first")

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

    def _version_that_counts(self, change: Written | Removed) -> str | None:
        if isinstance(change, Written):
            return change.source.version_id
        return None if change.marker else self.bucket.current_version(change.source.key)

    def _synonyms(self, change: Written | Removed, version: str | None) -> SiteSynonyms:
        if isinstance(change, Removed) and version is None:
            return SiteSynonyms(())
        return parse_synonyms(self.bucket.read(change.source.key, version_id=version, max_bytes=LARGEST_FILE).body)


def _is_another(change: Removed, state: MaterialState) -> bool:
    """Whether the removed version is none that the index knows; what a waiting key held is looked at again."""
    known = (state.indexed_version_id, state.source.version_id)
    return state.source.key == change.source.key and change.source.version_id not in known
