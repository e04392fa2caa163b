"""An uploaded body becomes a Table's, if it can be read and no newer one has come."""

from dataclasses import dataclass

from sakuin.domain.table_document import MAX_BYTES, parsed_table
from sakuin.errors import Invalid, NotFound
from sakuin.ports.projects import ProjectRecords, TableBodies


@dataclass(frozen=True, slots=True)
class ImportBody:
    """Checks the body before it replaces anything."""

    records: ProjectRecords
    bodies: TableBodies
    max_bytes: int = MAX_BYTES

    def __call__(self, table_id: str, upload: int, key: str) -> bool:
        """Whether the body is the Table's now."""
        try:
            parsed_table(self.bodies.read(key, max_bytes=self.max_bytes))
        except NotFound:
            return False
        except Invalid as error:
            self.records.finish_upload(table_id, upload, key=None, error=str(error))
            return False
        return self.records.finish_upload(table_id, upload, key=key, error=None)
