"""The work of the tool queue: imports of uploaded documents, and scans of Tables."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Invalid, NotFound
from sakuin.platform.s3 import S3Bucket
from sakuin.retrieval.index_version import of_version
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

    `scans` are those of the index versions, by id, the live one last.
    """

    scans: Callable[[], Mapping[str, IndexTable]]
    import_document: ImportDocument
    logger: Logger
    metrics: Metrics

    def read(self, message: Mapping[str, Any]) -> ScanRequest | DocumentUploaded | None:
        return tool_message(message)

    def give_up(self, asked: ScanRequest | DocumentUploaded, reason: str) -> None:
        version = asked.index_version if isinstance(asked, ScanRequest) else None
        if scan := of_version(self.scans(), version):
            scan.index.give_up(asked.table_id, reason)

    def process(self, asked: ScanRequest | DocumentUploaded) -> None:
        if isinstance(asked, DocumentUploaded):
            self._import(asked)
        else:
            self._scan(asked)

    def _import(self, asked: DocumentUploaded) -> None:
        is_imported = self.import_document(asked.table_id, asked.upload, asked.key)
        self.logger.info("document uploaded", table_id=asked.table_id, upload=asked.upload, imported=is_imported)
        if is_imported:
            # The scan does not wait until its event leaves the outbox.
            self._scan(ScanRequest(project_id=asked.project_id, table_id=asked.table_id))

    def _scan(self, asked: ScanRequest) -> None:
        started = time.perf_counter()
        scan, table = self._scan_of(asked), (asked.project_id, asked.table_id)
        result = (
            scan(*table, generation=asked.generation, skip=asked.skip, for_event=asked.for_event)
            if scan
            else ScanResult("dropped")
        )
        self.logger.info(
            "table scanned",
            table_id=asked.table_id,
            outcome=result.outcome,
            nodes=result.nodes,
            planned=result.planned,
            milliseconds=round((time.perf_counter() - started) * 1000),
        )
        self.metrics.add_metric("TablesScanned", MetricUnit.Count, 1)

    def _scan_of(self, asked: ScanRequest) -> IndexTable | None:
        """Returns the scan of the request's index version, None if that is gone.

        A request that names none is about a change: it is for the live version, and the others are asked for.
        """
        scans = self.scans()
        if not asked.index_version and asked.generation is None:
            for scan in list(scans.values())[:-1]:
                scan.queues.index(asked.project_id, asked.table_id, for_event=asked.for_event)
        return of_version(scans, asked.index_version)
