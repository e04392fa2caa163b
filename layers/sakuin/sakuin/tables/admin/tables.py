"""Creates, changes and deletes Tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.limits import Limits, check_limit
from sakuin.tables.admin.documents import TableDocuments
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.projects import check_name
from sakuin.tables.document import parsed_table, patched, written_body, written_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.model import StoredTable, Table, UploadTarget, User

_UPLOAD_SECONDS = 900

# Above this a changed document goes back to the bucket that it came from or had to go to.
_LARGE = 4_000_000

_TRIES = 3


@dataclass(frozen=True, slots=True)
class TableAdmin:
    """What members and admins do with Tables."""

    records: ProjectRecords
    bodies: TableDocuments
    limits: Limits = field(default_factory=Limits)

    def create(self, user: User | None, project_id: str, *, name: str, document: object) -> Table:
        """A new Table that holds `document`."""
        self._check_room(user, project_id)
        return self.records.create_table(user, project_id, name=check_name(name), data=self._text(document))

    def all(self, user: User | None, project_id: str) -> Sequence[Table]:
        """A project's Tables."""
        return self.records.tables(user, project_id)

    def read(self, user: User | None, table_id: str) -> Table:
        """A Table without its body."""
        return self.records.table(user, table_id).table

    def node(self, user: User | None, table_id: str, pointer: str) -> object:
        """What stands at a pointer."""
        return resolve(self._document(self.records.table(user, table_id)), pointer)

    def replace(self, user: User | None, table_id: str, *, document: object, expected_version: int | None) -> Table:
        """The next version."""
        data = self._text(document)
        return self.records.replace_table(user, table_id, data=data, expected_version=expected_version)

    def rename(self, user: User | None, table_id: str, name: str) -> Table:
        """Another name."""
        return self.records.rename_table(user, table_id, check_name(name))

    def patch(
        self,
        user: User | None,
        table_id: str,
        operations: Iterable[Mapping[str, object]],
        *,
        expected_version: int | None,
    ) -> Table:
        """The next version, changed by pointer. Who was overtaken reads again, unless a version was expected."""
        wanted = list(operations)
        for left in reversed(range(_TRIES)):
            try:
                return self._patched(user, table_id, wanted, expected_version)
            except Conflict:
                if not left or expected_version is not None:
                    raise
        raise AssertionError

    def delete(self, user: User | None, table_id: str) -> None:
        """Deletes a Table with its Tools."""
        self.records.delete_table(user, table_id)

    def announce(self, user: User | None, project_id: str, *, name: str, size: int) -> tuple[Table, UploadTarget]:
        """A new Table whose body comes by upload, and where to put it."""
        self._check(size)
        self._check_room(user, project_id)
        table = self.records.create_table(user, project_id, name=check_name(name), data=None)
        return self.announce_document(user, table.id, size=size)

    def announce_document(self, user: User | None, table_id: str, *, size: int) -> tuple[Table, UploadTarget]:
        """Where to put a Table's next body of `size` bytes."""
        self._check(size)
        upload = self.records.begin_upload(user, table_id)
        target = self.bodies.upload_target(upload.key, seconds=_UPLOAD_SECONDS, size=size)
        return self.read(user, table_id), target

    def _patched(
        self,
        user: User | None,
        table_id: str,
        operations: Sequence[Mapping[str, object]],
        expected_version: int | None,
    ) -> Table:
        stored = self.records.table(user, table_id)
        if expected_version not in (None, stored.table.version):
            raise Conflict(f"The table has version {stored.table.version}, not {expected_version}")
        document = patched(self._document(stored), operations)
        body = written_body(document)
        self._check(len(body))
        if len(body) <= _LARGE and len(data := written_table(document)) <= _LARGE:
            return self.records.replace_table(user, table_id, data=data, expected_version=stored.table.version)
        return self._replaced_by_upload(user, stored.table, body)

    def _replaced_by_upload(self, user: User | None, read: Table, body: bytes) -> Table:
        # The number comes first: a body that arrives after this has a higher one and makes ours obsolete.
        upload = self.records.begin_upload(user, read.id)
        if self.read(user, read.id).version != read.version:
            raise Conflict("Somebody else changed the table first")
        self.bodies.write(upload.key, body)
        if not self.records.finish_upload(read.id, upload.upload, upload.key, None):
            raise Conflict("Somebody else changed the table first")
        return self.read(user, read.id)

    def _document(self, stored: StoredTable) -> object:
        most = self.limits.table_memory_bytes
        if stored.data is not None:
            return parsed_table(stored.data, most_memory=most)
        if stored.data_key is not None:
            body = self.bodies.read(stored.data_key, max_bytes=self.limits.table_bytes)
            return parsed_table(body, most_memory=most)
        raise NotFound("The table has no document yet. Upload it, or wait until its upload is imported.")

    def _text(self, document: object) -> str:
        text = written_table(document)
        if len(text) > self.limits.table_bytes:
            self._check(len(written_body(document)))
        return text

    def _check(self, size: int) -> None:
        most = self.limits.table_bytes
        if not 0 < size <= most:
            raise Invalid(
                f"A Table has at least 1 byte, and the limit is {most:,} (table_bytes); this one has {size:,}."
            )

    def _check_room(self, user: User | None, project_id: str) -> None:
        check_limit(len(self.records.tables(user, project_id)), self.limits.tables, what="tables", limit="tables")
