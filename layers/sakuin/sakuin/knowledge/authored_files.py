"""The files that authors write beside their pages: `learns.yml` and `synonyms.yml`."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.learns.learns_yml import LARGEST_FILE, LEARNS_FILE, LearnsFile, parse_learns
from sakuin.knowledge.messages import ObjectRemoved, ObjectWritten
from sakuin.knowledge.model import EventResult, Outcome, Source
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.queue import MaterialQueue
from sakuin.language.site_synonyms import SiteSynonyms, parse_synonyms
from sakuin.platform.s3 import Bucket


@dataclass(frozen=True, slots=True)
class AuthoredFiles:
    """Brings the index in line with a file that was written or removed."""

    bucket: Bucket
    index: KnowledgeIndex
    queue: MaterialQueue
    prefix: str

    def index_learns(self, source: Source) -> EventResult:
        """Asks to index the pages again that a `learns.yml` names, or named before: what it no longer says must go."""
        folder = unicodedata.normalize("NFC", source.key).removeprefix(self.prefix).removesuffix(LEARNS_FILE)
        version: str | None = None
        try:
            stored = self.bucket.read(source.key, max_bytes=LARGEST_FILE)
            version = stored.version_id
            file = parse_learns(stored.body)
        except NotFound:
            file = LearnsFile({})
        except Invalid as error:
            self.index.record_learns_file(source.key, version or source.version_id)
            self.index.record_upload_result(source, "failed", str(error))
            return EventResult(None, ignored=f"{source.key} cannot be read: {error}")
        touched = self.index.materials_named_in(folder, file.materials)
        self.queue.reindex(touched, reason=f"{source.key} changed")
        self.index.record_learns_file(source.key, version)
        self.index.record_upload_result(source, "applied", "; ".join(file.problems) or None)
        return EventResult(None, asked=len(touched))

    def index_synonyms(self, change: ObjectWritten | ObjectRemoved) -> EventResult:
        """Stores the synonyms of the version that was written, or of the one that a removal leaves. No file: none.

        A file that cannot be read leaves the last good synonyms as they are.
        """
        source = change.source
        version = self._version_that_counts(change)
        try:
            file = self._synonyms(change, version)
        except NotFound:
            self.index.record_upload_result(source, "superseded")
            return EventResult(None, ignored="this version is gone: a newer one took its place")
        except Invalid as error:
            self.index.record_learns_file(source.key, version)
            self.index.record_upload_result(source, "failed", str(error))
            return EventResult(None, ignored=f"{source.key} cannot be read: {error}")
        outcome = self._keep_synonyms(source, version, file.groups)
        if outcome == "applied":
            self.index.record_learns_file(source.key, version)
        self.index.record_upload_result(source, outcome, "; ".join(file.problems) or None)
        return EventResult(None, ignored=None if outcome == "applied" else "a newer version was first")

    def _keep_synonyms(self, source: Source, version: str | None, groups: Sequence[Sequence[str]]) -> Outcome:
        outcome: Outcome = self.index.store_synonyms(source, groups) if source.sequencer else "superseded"
        if outcome != "superseded":
            return outcome
        # The row first, then the bucket: as `apply_if_current` does for pages.
        generation = self.index.synonyms_generation(source.key)
        if self.bucket.current_version(source.key) != version:
            return "superseded"
        outcome = self.index.store_synonyms(source, groups, expected_generation=generation, current=True)
        if outcome == "conflict":
            raise Conflict(f"Others changed {source.key} while it was compared with the bucket")
        return outcome

    def _version_that_counts(self, change: ObjectWritten | ObjectRemoved) -> str | None:
        if isinstance(change, ObjectWritten):
            return change.source.version_id
        return None if change.marker else self.bucket.current_version(change.source.key)

    def _synonyms(self, change: ObjectWritten | ObjectRemoved, version: str | None) -> SiteSynonyms:
        if isinstance(change, ObjectRemoved) and version is None:
            return SiteSynonyms(())
        return parse_synonyms(self.bucket.read(change.source.key, version_id=version, max_bytes=LARGEST_FILE).body)
