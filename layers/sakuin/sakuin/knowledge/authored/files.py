"""Applies files of authors that were written or removed."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.authored.learns_yml import LARGEST_FILE, LEARNS_FILE, LearnsFile, parse_learns
from sakuin.knowledge.authored.synonyms_yml import SynonymsFile, parse_synonyms
from sakuin.knowledge.messages import MaterialQueue, ObjectRemoved, ObjectWritten
from sakuin.knowledge.model import AuthoredFile, EventResult, Outcome, Source
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.platform.s3 import S3Bucket


@dataclass(frozen=True, slots=True)
class AuthoredFiles:
    """Applies a file that was written or removed."""

    bucket: S3Bucket
    index: KnowledgeIndex
    queue: MaterialQueue
    prefix: str

    def index_learns(self, source: Source) -> EventResult:
        """Asks to index the pages again that a `learns.yml` names, and those that it named before."""
        folder = unicodedata.normalize("NFC", source.key).removeprefix(self.prefix).removesuffix(LEARNS_FILE)
        version: str | None = None
        try:
            stored = self.bucket.read(source.key, max_bytes=LARGEST_FILE)
            version = stored.version_id
            file = parse_learns(stored.body)
        except NotFound:
            file = LearnsFile({})
        except Invalid as error:
            return self._reject(source, version or source.version_id, error)
        authored = AuthoredFile(source.key, version, folder, file.materials)
        pages = self.index.materials_named_in(authored)
        self.queue.reindex(pages, reason=f"{source.key} changed")
        self.index.record_authored_file(authored)
        self.index.record_upload_result(source, "applied", "; ".join(file.problems) or None)
        return EventResult(None, asked=len(pages))

    def index_synonyms(self, change: ObjectWritten | ObjectRemoved, folder: str) -> EventResult:
        """Stores a folder's synonyms of the written version, or of the version that is current after a removal.

        Without a file there are no synonyms. A file that cannot be read changes nothing.
        """
        source = change.source
        version = self._version_to_read(change)
        try:
            file = self._synonyms(change, version)
        except NotFound:
            self.index.record_upload_result(source, "superseded")
            return EventResult(None, reason="this version no longer exists: a newer version replaced it")
        except Invalid as error:
            return self._reject(source, version, error)
        outcome = self._store_synonyms(source, version, folder, file.groups)
        self.index.record_upload_result(source, outcome, "; ".join(file.problems) or None)
        return EventResult(None, reason=None if outcome == "applied" else "a newer version was applied first")

    def _reject(self, source: Source, version: str | None, error: Invalid) -> EventResult:
        self.index.record_authored_file(AuthoredFile(source.key, version))
        self.index.record_upload_result(source, "failed", str(error))
        return EventResult(None, reason=f"{source.key} cannot be read: {error}")

    def _store_synonyms(
        self, source: Source, version: str | None, folder: str, groups: Sequence[Sequence[str]]
    ) -> Outcome:
        store = self.index.store_synonyms
        outcome: Outcome = store(source, version, folder, groups) if source.sequencer else "superseded"
        if outcome != "superseded":
            return outcome
        # Reads the row before the bucket, as `apply_if_current` does for pages.
        generation = self.index.synonyms_generation(source.key)
        if self.bucket.current_version(source.key) != version:
            return "superseded"
        outcome = store(source, version, folder, groups, expected_generation=generation, current=True)
        if outcome == "conflict":
            raise Conflict(f"{source.key} changed while it was compared with the bucket")
        return outcome

    def _version_to_read(self, change: ObjectWritten | ObjectRemoved) -> str | None:
        if isinstance(change, ObjectWritten):
            return change.source.version_id
        return None if change.marker else self.bucket.current_version(change.source.key)

    def _synonyms(self, change: ObjectWritten | ObjectRemoved, version: str | None) -> SynonymsFile:
        if isinstance(change, ObjectRemoved) and version is None:
            return SynonymsFile(())
        return parse_synonyms(self.bucket.read(change.source.key, version_id=version, max_bytes=LARGEST_FILE).body)
