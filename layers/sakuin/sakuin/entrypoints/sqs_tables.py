"""Messages from the queues of Tables."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import Handler, Postpone, SendAgain, queue_handler
from sakuin.entrypoints.tool_messages import BodyArrived, IndexAsked, embed_work, tool_work
from sakuin.errors import Invalid, SakuinError

if TYPE_CHECKING:
    # One of the two functions has no Japanese layer, which the other's service needs.
    from sakuin.services.embed_chunks import EmbedChunks
    from sakuin.services.import_body import ImportBody
    from sakuin.services.index_table import IndexTable

# Says on a Table's tools why its index is not ready, or not getting on.
Fail = Callable[[str, str], None]


def tool_handler(
    index: "IndexTable",
    take: "ImportBody",
    fail: Fail,
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler for the tool queue."""

    def work(body: str) -> None:
        for asked in tool_work(body):
            started = time.perf_counter()
            if isinstance(asked, BodyArrived):
                taken = take(asked.table_id, asked.upload, asked.key)
                logger.info("body arrived", table_id=asked.table_id, upload=asked.upload, taken=taken)
                if taken:
                    # Its event is in the outbox too; the walk does not wait for it.
                    index(asked.project_id, asked.table_id)
            else:
                walked = index(asked.project_id, asked.table_id, generation=asked.generation, skip=asked.skip)
                logger.info(
                    "table walked",
                    table_id=asked.table_id,
                    outcome=walked.outcome,
                    nodes=walked.nodes,
                    planned=walked.planned,
                    milliseconds=_since(started),
                )
                metrics.add_metric("TablesWalked", MetricUnit.Count, 1)

    def gave_up(body: str, error: Exception) -> None:
        for asked in _readable(tool_work, body, ()):
            if isinstance(asked, IndexAsked):
                fail(asked.table_id, _reason(error))

    return queue_handler(work, postpone, logger, metrics, tracer, gave_up=gave_up, current=current)


def embed_handler(
    embed: "EmbedChunks",
    fail: Fail,
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    say_waits: Fail = lambda _table_id, _reason: None,
    send_again: SendAgain = lambda _body, _seconds: None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler for the embed queue."""

    def work(body: str) -> None:
        asked, started = embed_work(body), time.perf_counter()
        done = embed(asked.project_id, asked.table_id, asked.chunks)
        logger.info(
            "chunks embedded",
            table_id=asked.table_id,
            stored=done.stored,
            embedded=done.embedded,
            ready=done.ready,
            milliseconds=_since(started),
        )
        metrics.add_metric("ChunksStored", MetricUnit.Count, done.stored)
        metrics.add_metric("ChunkTextsEmbedded", MetricUnit.Count, done.embedded)

    def gave_up(body: str, error: Exception) -> None:
        asked = _readable(embed_work, body, None)
        if asked is not None:
            fail(asked.table_id, _reason(error))

    def waits(body: str, error: Exception) -> None:
        say_waits(embed_work(body).table_id, str(error))

    return queue_handler(
        work,
        postpone,
        logger,
        metrics,
        tracer,
        gave_up=gave_up,
        waits=waits,
        send_again=send_again,
        current=current,
    )


def _readable(read: Callable[[str], Any], body: str, otherwise: Any) -> Any:
    try:
        return read(body)
    except Invalid:
        return otherwise


def _reason(error: Exception) -> str:
    # Only our own sentences are shown: another's message may hold what nobody should see.
    said = str(error) if isinstance(error, SakuinError) else "Something unexpected went wrong; the log has it."
    return f"{said} Ask for it again with `sakuin tool reindex`."


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
