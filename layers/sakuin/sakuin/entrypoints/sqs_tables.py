"""The work of the queues of Tables."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.entrypoints.tool_messages import (
    DocumentUploaded,
    EmbedAsked,
    IndexAsked,
    ScanForEvent,
    embed_message,
    subject_of_request,
    tool_message,
)
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.services.give_up_table import GiveUpTable

if TYPE_CHECKING:
    # One of the two functions has no Japanese layer, which the other's service needs.
    from sakuin.services.every_index import EmbedEverywhere, IndexEverywhere
    from sakuin.services.import_body import ImportBody


@dataclass(frozen=True, slots=True)
class ToolWork:
    """A `QueueWork`: imports documents and scans Tables."""

    scan: "IndexEverywhere"
    import_document: "ImportBody"
    give_up_table: GiveUpTable
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

    embed: "EmbedEverywhere"
    give_up_table: GiveUpTable
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
