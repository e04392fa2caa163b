"""The work of the tool queue: imports of uploaded documents, and scans of Tables."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Invalid, NotFound
from sakuin.platform.s3 import S3Bucket
from sakuin.platform.waiting import Record, WorkRow
from sakuin.retrieval.index_version import StoredIndexVersion, recorded_versions, version_of_tables
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.document import MAX_BYTES, parsed_table
from sakuin.tables.index_table import IndexTable, ScanResult
from sakuin.tables.messages import DocumentUploaded, ScanRequest, tool_message


@dataclass(frozen=True, slots=True)
class ImportDocument:
    """Imports an uploaded document, if it is valid."""

    records: ProjectRecords
    bucket: S3Bucket
    max_bytes: int = MAX_BYTES

    def __call__(self, table_id: str, upload: int, key: str) -> bool:
        """Returns whether the document is the current one of the Table now. Records why an invalid one is not."""
        try:
            body = self.bucket.read(key, max_bytes=self.max_bytes).body
            parsed_table(body)
        except NotFound:
            return False
        except Invalid as error:
            self.records.finish_upload(table_id, upload, key=None, error=str(error))
            return False
        return self.records.finish_upload(table_id, upload, key=key, error=None, size=len(body))


@dataclass(frozen=True, slots=True)
class ToolWork:
    """A `QueueWork`: imports documents and scans Tables.

    `versions` gives the index versions where the record of a message has none.
    """

    versions: Callable[[], Sequence[StoredIndexVersion]]
    scan_of: Callable[[StoredIndexVersion], IndexTable]
    import_document: ImportDocument
    logger: Logger
    metrics: Metrics

    def read(self, message: Mapping[str, Any]) -> ScanRequest | DocumentUploaded | None:
        return tool_message(message)

    def row_of(self, request: ScanRequest | DocumentUploaded) -> WorkRow:
        return request.row

    def give_up(self, request: ScanRequest | DocumentUploaded, reason: str) -> None:
        tables = request.index_version if isinstance(request, ScanRequest) else None
        if version := version_of_tables(self.versions(), tables):
            self.scan_of(version).index.give_up(request.table_id, reason)

    def process(self, request: ScanRequest | DocumentUploaded, record: Record | None) -> None:
        versions = recorded_versions(record) or self.versions()
        if isinstance(request, DocumentUploaded):
            self._import(request, versions)
        else:
            self._scan(request, versions)

    def _import(self, request: DocumentUploaded, versions: Sequence[StoredIndexVersion]) -> None:
        is_imported = self.import_document(request.table_id, request.upload, request.key)
        self.logger.info("document uploaded", table_id=request.table_id, upload=request.upload, imported=is_imported)
        if is_imported:
            # The scan does not wait until its event leaves the outbox.
            self._scan(ScanRequest(project_id=request.project_id, table_id=request.table_id), versions)

    def _scan(self, request: ScanRequest, versions: Sequence[StoredIndexVersion]) -> None:
        started = time.perf_counter()
        scan, table = self._scan_of(request, versions), (request.project_id, request.table_id)
        result = (
            scan(*table, generation=request.generation, skip=request.skip, for_event=request.for_event)
            if scan
            else ScanResult("dropped")
        )
        self.logger.info(
            "table scanned",
            table_id=request.table_id,
            outcome=result.outcome,
            nodes=result.nodes,
            planned=result.planned,
            milliseconds=round((time.perf_counter() - started) * 1000),
        )
        self.metrics.add_metric("TablesScanned", MetricUnit.Count, 1)

    def _scan_of(self, request: ScanRequest, versions: Sequence[StoredIndexVersion]) -> IndexTable | None:
        """Returns the scan of the request's index version, None if that is gone.

        A request that names none is about a change: it is for the live version, and the others are asked for.
        """
        version = version_of_tables(versions, request.index_version)
        if version and not request.index_version and request.generation is None:
            for other in {each.tables: each for each in versions if each.tables != version.tables}.values():
                self.scan_of(other).queues.index(request.project_id, request.table_id, for_event=request.for_event)
        return self.scan_of(version) if version else None
