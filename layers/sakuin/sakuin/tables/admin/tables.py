"""Administration of Tables, their Search Tools, and their documents in the bucket."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.limits import Limits
from sakuin.platform.run_all import run_all
from sakuin.platform.s3 import BucketObject, S3Bucket, UploadTarget
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.document import parsed_table, patched, written_body, written_table
from sakuin.tables.entries import EntryRules
from sakuin.tables.json_pointer import resolve
from sakuin.tables.model import StoredTable, Table, Tool, User
from sakuin.texts.catalogue import coded

_UPLOAD_SECONDS = 900
_TYPE = "application/json"

# A larger document is stored in the bucket (bytes).
_LARGE = 4_000_000
_ATTEMPTS = 3
# The URL of an upload is valid for minutes, and a worker runs for minutes.
OF_THE_GONE = timedelta(days=1)
# A message that imports a document may wait as long, including the dead letter queue.
LEFT = timedelta(days=15)
_FOLDERS_A_MINUTE = 10
_DOCUMENTS_A_FOLDER = 100


@dataclass(frozen=True, slots=True)
class TableAdmin:
    """Creates, reads and changes Tables within the limits, and creates their Search Tools."""

    records: ProjectRecords
    bucket: S3Bucket
    limits: Limits = field(default_factory=Limits)

    def create(
        self,
        user: User | None,
        project_id: str,
        *,
        name: str,
        document: object,
        chunk_threshold_chars: int | None,
        entries: EntryRules | None = None,
    ) -> Table:
        data = self._text(document)
        return self.records.create_table(
            user, project_id, name=name, data=data, chunk_threshold_chars=chunk_threshold_chars, entries=entries
        )

    def node(self, user: User | None, table_id: str, pointer: str) -> object:
        """Returns the node at a pointer. Raises `NotFound` if there is none."""
        return resolve(self._document(self.records.document(user, table_id)), pointer)

    def replace(self, user: User | None, table_id: str, *, document: object, expected_version: int | None) -> Table:
        """Replaces the document. Raises `Conflict` if the Table does not have the expected version."""
        data = self._text(document)
        return self.records.replace_table(user, table_id, data=data, expected_version=expected_version)

    def patch(
        self,
        user: User | None,
        table_id: str,
        operations: Iterable[Mapping[str, object]],
        *,
        expected_version: int | None,
    ) -> Table:
        """Changes the document by pointers. A concurrent change is a `Conflict` only with an expected version."""
        changes = list(operations)
        if expected_version is None:
            for _ in range(_ATTEMPTS - 1):
                with suppress(Conflict):
                    return self._patched(user, table_id, changes, None)
        return self._patched(user, table_id, changes, expected_version)

    def create_tool(
        self, user: User | None, project_id: str, table_id: str, *, json_path: str, name: str, description: str | None
    ) -> Tool:
        """Creates a Search Tool for a part of a Table of the project. Its index is pending.

        Raises `Invalid` if the Table's document has no such part. One in the bucket is not read: its scan tells.
        Without a description, or with a blank one, the Tool gets one that names its place.
        """
        self.records.check_node(user, table_id, json_path)
        return self.records.create_tool(
            user, project_id, table_id, json_path=json_path, name=name, description=description
        )

    def announce(
        self,
        user: User | None,
        project_id: str,
        *,
        name: str,
        size: int,
        chunk_threshold_chars: int | None,
        entries: EntryRules | None = None,
    ) -> tuple[Table, UploadTarget]:
        """Creates a Table whose document will be uploaded. Returns it with the target of the upload."""
        self._check(size)
        table = self.records.create_table(
            user, project_id, name=name, data=None, chunk_threshold_chars=chunk_threshold_chars, entries=entries
        )
        return self.announce_document(user, table.id, size=size)

    def announce_document(self, user: User | None, table_id: str, *, size: int) -> tuple[Table, UploadTarget]:
        """Returns a Table with the target for an upload of its next document of `size` bytes."""
        self._check(size)
        upload = self.records.begin_upload(user, table_id, size=size)
        # All three headers are signed: S3 rejects another length or type, and a second upload to the same key.
        headers = {"Content-Type": _TYPE, "Content-Length": str(size), "If-None-Match": "*"}
        target = self.bucket.upload_target(upload.key, seconds=_UPLOAD_SECONDS, headers=headers)
        return self.records.table(user, table_id), target

    def _patched(
        self, user: User | None, table_id: str, operations: Sequence[Mapping[str, object]], expected_version: int | None
    ) -> Table:
        stored = self.records.document(user, table_id)
        if expected_version not in (None, stored.table.version):
            versions = {"version": str(stored.table.version), "expected": str(expected_version)}
            raise Conflict(coded("record.version", **versions))
        document = patched(self._document(stored), operations)
        body = written_body(document)
        self._check(len(body))
        if len(body) <= _LARGE and len(data := written_table(document)) <= _LARGE:
            return self.records.replace_table(user, table_id, data=data, expected_version=stored.table.version)
        return self._replaced_by_upload(user, stored.table, body)

    def _replaced_by_upload(self, user: User | None, read: Table, body: bytes) -> Table:
        # Reserves the number first: a later upload has a higher one, which makes this one obsolete.
        upload = self.records.begin_upload(user, read.id, size=len(body))
        if self.records.table(user, read.id).version != read.version:
            raise Conflict(coded("record.changed"))
        self.bucket.write(upload.key, body, content_type=_TYPE)
        if not self.records.finish_upload(read.id, upload.upload, upload.key, None, size=len(body)):
            raise Conflict(coded("record.changed"))
        return self.records.table(user, read.id)

    def _document(self, stored: StoredTable) -> object:
        most = self.limits.table_memory_bytes
        if stored.data is not None:
            return parsed_table(stored.data, most_memory=most)
        if stored.data_key is not None:
            uploaded = self.bucket.read(stored.data_key, max_bytes=self.limits.table_bytes)
            return parsed_table(uploaded.body, most_memory=most)
        raise NotFound("The table has no document yet. Upload one, or wait until the upload is imported.")

    def _text(self, document: object) -> str:
        text = written_table(document)
        if len(text) > self.limits.table_bytes:
            self._check(len(written_body(document)))
        return text

    def _check(self, size: int) -> None:
        most = self.limits.table_bytes
        if not 0 < size <= most:
            raise Invalid(coded("record.bytes", most=most, count=size))


@dataclass(frozen=True, slots=True)
class OrphanedFolder:
    """The folder of a Table's uploads. `keep` is the key of its current document; `gone`: the Table was deleted."""

    folder: str
    keep: str | None
    gone: bool


@dataclass(frozen=True, slots=True)
class DeleteOrphanedUploads:
    """Deletes orphaned uploads. Idempotent. The bucket keeps old versions of deleted documents for a while."""

    client: Client
    bucket: S3Bucket
    now: Callable[[], datetime]

    def __call__(self) -> int:
        """Deletes from folders of Tables that were deleted or replaced long ago; returns how many documents."""
        seconds = {"p_gone": int(OF_THE_GONE.total_seconds()), "p_left": int(LEFT.total_seconds())}
        rows = call(self.client, "orphaned_uploads", {**seconds, "p_limit": _FOLDERS_A_MINUTE})
        return sum(run_all([OrphanedFolder(**row) for row in rows], self._delete_from))

    def mark_removed(self, folder: OrphanedFolder, *, again: bool) -> None:
        """Records that a folder was processed. `again`: it has documents that are too young, and becomes due again."""
        arguments = {"p_folder": folder.folder, "p_keep": folder.keep, "p_again": again}
        call(self.client, "record_upload_cleanup", arguments)

    def _delete_from(self, folder: OrphanedFolder) -> int:
        removed, kept_uploads = 0, 0
        for upload in self._objects(folder.folder):
            if upload.version_id is None or upload.key == folder.keep:
                continue
            kept_uploads += 1
            if self._is_old(upload, folder):
                self.bucket.remove(upload.key)
                removed += 1
            if removed == _DOCUMENTS_A_FOLDER:
                # The next run continues.
                return removed
        self.mark_removed(folder, again=removed < kept_uploads)
        return removed

    def _objects(self, folder: str) -> Iterator[BucketObject]:
        after: str | None = None
        while True:
            page = self.bucket.current_objects(folder, after=after, limit=1_000)
            yield from page.items
            if page.upto is None:
                return
            after = page.upto

    def _is_old(self, one: BucketObject, folder: OrphanedFolder) -> bool:
        return one.modified < self.now() - (OF_THE_GONE if folder.gone else LEFT)
