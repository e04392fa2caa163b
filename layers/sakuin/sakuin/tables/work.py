"""The work of the queues of Tables."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Invalid, NotFound
from sakuin.platform.run_all import run_all
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.tables.admin.documents import TableDocuments
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.document import MAX_BYTES, parsed_table
from sakuin.tables.messages import (
    DocumentUploaded,
    EmbedAsked,
    IndexAsked,
    ScanForEvent,
    embed_message,
    subject_of_request,
    tool_message,
)
from sakuin.tables.postgres import TableIndex

if TYPE_CHECKING:
    # One of the two functions has no Japanese layer, which the other's service needs.
    from sakuin.tables.embed_chunks import ChunksEmbedded, EmbedChunks
    from sakuin.tables.index_table import IndexTable, ScanResult
    from sakuin.tables.restart import RestartTables
    # One of the two functions has no Japanese layer, which the other's service needs.


@dataclass(frozen=True, slots=True)
class RecordTableFailure:
    """Sets the Tools of a Table to `error`. `indexes` are the indexes that are kept, by fingerprint."""

    indexes: Callable[[], Mapping[str, TableIndex]]

    def __call__(self, table_id: str, reason: str, fingerprint: str | None) -> None:
        """Records it in the generation that the Table has now. A Table that is gone is not an error."""
        for name, index in self.indexes().items():
            if fingerprint in (None, "", name):
                said = f"{reason}. Send it again with `sakuin redrive`, or start over with `sakuin tool reindex`."
                index.record_failure(table_id, None, said)


@dataclass(frozen=True, slots=True)
class ImportDocument:
    """Checks the body before it replaces anything."""

    records: ProjectRecords
    bodies: TableDocuments
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


@dataclass(frozen=True, slots=True)
class IndexInEachVersion:
    """Walks a Table. `indexes` are the walks by fingerprint, that of the index that answers last."""

    indexes: Callable[[], Mapping[str, "IndexTable"]]

    def __call__(
        self,
        project_id: str,
        table_id: str,
        *,
        generation: int | None = None,
        skip: int = 0,
        fingerprint: str | None = None,
        for_event: bool = False,
    ) -> "ScanResult":
        """Walks for `fingerprint`, or for all; gives what became of the one that answers."""
        from sakuin.tables.index_table import ScanResult

        walks = self.indexes()
        if fingerprint is None and generation is not None:
            # A walk that goes on belongs to one index: to none but this, before messages named it.
            fingerprint = list(walks)[-1]
        walked = run_all(
            [walk for name, walk in walks.items() if fingerprint in (None, name)],
            lambda walk: walk(project_id, table_id, generation=generation, skip=skip, for_event=for_event),
        )
        return walked[-1] if walked else ScanResult("dropped")


@dataclass(frozen=True, slots=True)
class EmbedInEachVersion:
    """Embeds chunks. `indexes` are the workers by fingerprint."""

    indexes: Callable[[], Mapping[str, "EmbedChunks"]]

    def __call__(
        self, project_id: str, table_id: str, ids: Collection[str], *, fingerprint: str | None = None
    ) -> "ChunksEmbedded":
        """Works on a batch of `fingerprint`; where none is named, each index knows its own chunks."""
        from sakuin.tables.embed_chunks import ChunksEmbedded

        done = run_all(
            [embed for name, embed in self.indexes().items() if fingerprint in (None, name)],
            lambda embed: embed(project_id, table_id, ids),
        )
        return ChunksEmbedded(
            stored=sum(each.stored for each in done),
            embedded=sum(each.embedded for each in done),
            ready=any(each.ready for each in done),
        )


@dataclass(frozen=True, slots=True)
class RestartInEachVersion:
    """Walks anew what stands still. `indexes` are those who do it in one index, by fingerprint."""

    indexes: Callable[[], Mapping[str, "RestartTables"]]

    def __call__(self) -> int:
        """How many are walked anew, in all indexes together."""
        return sum(run_all(self.indexes().values(), lambda restart: restart()))


@dataclass(frozen=True, slots=True)
class ToolWork:
    """A `QueueWork`: imports documents and scans Tables."""

    scan: "IndexInEachVersion"
    import_document: "ImportDocument"
    give_up_table: RecordTableFailure
    logger: Logger
    metrics: Metrics
    # A scan asks no model, and the search engine only where something is removed.
    asks_vendors: bool = False

    def read(self, message: Mapping[str, Any]) -> IndexAsked | DocumentUploaded | None:
        return tool_message(message)

    def subject(self, asked: IndexAsked | DocumentUploaded) -> WorkSubject:
        return subject_of_request(asked)

    def is_resumed(self, asked: IndexAsked | DocumentUploaded) -> bool:
        return asked.resumed

    def give_up(self, asked: IndexAsked | DocumentUploaded, reason: str) -> None:
        fingerprint = asked.fingerprint if isinstance(asked, IndexAsked) else None
        self.give_up_table(asked.table_id, reason, fingerprint)

    def process(self, asked: IndexAsked | DocumentUploaded) -> None:
        if isinstance(asked, DocumentUploaded):
            self._import(asked)
        else:
            self._scan(asked)

    def _import(self, asked: DocumentUploaded) -> None:
        is_imported = self.import_document(asked.table_id, asked.upload, asked.key)
        self.logger.info("document uploaded", table_id=asked.table_id, upload=asked.upload, imported=is_imported)
        if is_imported:
            # Its event is in the outbox too; the scan does not wait for it.
            self.scan(asked.project_id, asked.table_id)

    def _scan(self, asked: IndexAsked) -> None:
        started = time.perf_counter()
        done = self.scan(
            asked.project_id,
            asked.table_id,
            generation=asked.generation,
            skip=asked.skip,
            fingerprint=asked.fingerprint,
            for_event=isinstance(asked, ScanForEvent),
        )
        self.logger.info(
            "table scanned",
            table_id=asked.table_id,
            outcome=done.outcome,
            nodes=done.nodes,
            planned=done.planned,
            milliseconds=_since(started),
        )
        self.metrics.add_metric("TablesScanned", MetricUnit.Count, 1)


@dataclass(frozen=True, slots=True)
class EmbedWork:
    """A `QueueWork`: embeds and stores chunks of Tables."""

    embed: "EmbedInEachVersion"
    give_up_table: RecordTableFailure
    logger: Logger
    metrics: Metrics
    asks_vendors: bool = True

    def read(self, message: Mapping[str, Any]) -> EmbedAsked:
        return embed_message(message)

    def subject(self, asked: EmbedAsked) -> WorkSubject:
        return subject_of_request(asked)

    def is_resumed(self, asked: EmbedAsked) -> bool:
        return asked.resumed

    def give_up(self, asked: EmbedAsked, reason: str) -> None:
        self.give_up_table(asked.table_id, reason, asked.fingerprint)

    def process(self, asked: EmbedAsked) -> None:
        started = time.perf_counter()
        done = self.embed(asked.project_id, asked.table_id, asked.chunks, fingerprint=asked.fingerprint)
        self.logger.info(
            "chunks embedded",
            table_id=asked.table_id,
            stored=done.stored,
            embedded=done.embedded,
            ready=done.ready,
            milliseconds=_since(started),
        )
        self.metrics.add_metric("ChunksStored", MetricUnit.Count, done.stored)
        self.metrics.add_metric("ChunkTextsEmbedded", MetricUnit.Count, done.embedded)


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
