"""Applies files of authors that were written or removed."""

from dataclasses import dataclass

from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.authored.learns_yml import LARGEST_FILE, LEARNS_FILE, parse_learns
from sakuin.knowledge.authored.synonyms_yml import parse_synonyms
from sakuin.knowledge.messages import MaterialQueue
from sakuin.knowledge.model import AuthoredFile, EventResult, Source
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.language.unicode_text import nfc
from sakuin.platform.s3 import S3Bucket


@dataclass(frozen=True, slots=True)
class AuthoredFiles:
    """Applies a file as it is in the bucket now, whatever its event says: an old event applies the current version."""

    bucket: S3Bucket
    index: KnowledgeIndex
    queue: MaterialQueue
    prefix: str

    def index_learns(self, source: Source) -> EventResult:
        """Asks to index the pages again that a `learns.yml` names, and those that it named before."""
        folder = nfc(source.key).removeprefix(self.prefix).removesuffix(LEARNS_FILE)
        version = source.version_id
        try:
            version, body = self._current(source.key)
            file = parse_learns(body)
        except Invalid as error:
            return self._reject(source, version, error)
        authored = AuthoredFile(source.key, version, folder, file.materials)
        pages = self.index.materials_named_in(authored)
        self.queue.reindex(pages, reason=f"{source.key} changed")
        self.index.record_authored_file(authored)
        self.index.record_upload_result(source, "applied", "; ".join(file.problems) or None)
        return EventResult(None, asked=len(pages))

    def index_synonyms(self, source: Source, folder: str) -> EventResult:
        """Stores the synonyms that a folder's file has now; none without one. One that cannot be read changes nothing.

        Raises `Conflict` if another worker stores some meanwhile.
        """
        # Reads the row first: what another worker reads and stores after that is newer.
        generation = self.index.synonyms_generation(source.key)
        version = source.version_id
        try:
            version, body = self._current(source.key)
            file = parse_synonyms(body)
        except Invalid as error:
            return self._reject(source, version, error)
        if not self.index.store_synonyms(source.key, version, folder, file.groups, expected_generation=generation):
            raise Conflict(f"{source.key} changed while it was read")
        self.index.record_upload_result(source, "applied", "; ".join(file.problems) or None)
        return EventResult(None)

    def _current(self, key: str) -> tuple[str | None, bytes]:
        """Returns the current version of a file and its text; None and an empty one if it was removed."""
        try:
            stored = self.bucket.read(key, max_bytes=LARGEST_FILE)
        except NotFound:
            return None, b""
        return stored.version_id, stored.body

    def _reject(self, source: Source, version: str | None, error: Invalid) -> EventResult:
        self.index.record_authored_file(AuthoredFile(source.key, version))
        self.index.record_upload_result(source, "failed", str(error))
        return EventResult(None, reason=f"{source.key} cannot be read: {error}")
