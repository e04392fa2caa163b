"""Messages from the queues of Tables."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.domain.work import About, Taken
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import Handler, Held, Postpone, SendAgain, Unheld, queue_handler
from sakuin.entrypoints.tool_messages import BodyArrived, Heard, IndexAsked, embed_work, tool_work_in_turn
from sakuin.entrypoints.turns import all_followed, is_alone

if TYPE_CHECKING:
    # One of the two functions has no Japanese layer, which the other's service needs.
    from sakuin.services.every_index import EmbedEverywhere, IndexEverywhere
    from sakuin.services.import_body import ImportBody

# Says of a Table why its index (of one fingerprint, or of all) is not ready, or not getting on.
Fail = Callable[[str, str, str | None], None]


def tool_handler(
    index: "IndexEverywhere",
    take: "ImportBody",
    fail: Fail,
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    hold: Callable[[Sequence[Taken]], Held] = lambda _taken: Unheld(),
    send_again: SendAgain | None = None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler for the tool queue."""

    def taken(asked: BodyArrived) -> None:
        is_taken = take(asked.table_id, asked.upload, asked.key)
        logger.info("body arrived", table_id=asked.table_id, upload=asked.upload, taken=is_taken)
        if is_taken:
            # Its event is in the outbox too; the walk does not wait for it.
            index(asked.project_id, asked.table_id)

    def walked(asked: IndexAsked) -> None:
        started = time.perf_counter()
        done = index(
            asked.project_id,
            asked.table_id,
            generation=asked.generation,
            skip=asked.skip,
            fingerprint=asked.fingerprint,
            heard=isinstance(asked, Heard),
        )
        logger.info(
            "table walked",
            table_id=asked.table_id,
            outcome=done.outcome,
            nodes=done.nodes,
            planned=done.planned,
            milliseconds=_since(started),
        )
        metrics.add_metric("TablesWalked", MetricUnit.Count, 1)

    def follow(asked: IndexAsked | BodyArrived) -> None:
        if isinstance(asked, BodyArrived):
            taken(asked)
        else:
            walked(asked)

    def work(body: str) -> None:
        all_followed(tool_work_in_turn(body), follow, logger)

    return queue_handler(
        work,
        postpone,
        logger,
        metrics,
        tracer,
        queue="tool",
        about=about_walk,
        hold=hold,
        gave_up=_given_up(fail),
        send_again=send_again,
        current=current,
    )


def embed_handler(
    embed: "EmbedEverywhere",
    fail: Fail,
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    hold: Callable[[Sequence[Taken]], Held] = lambda _taken: Unheld(),
    send_again: SendAgain | None = None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler for the embed queue."""

    def work(body: str) -> None:
        asked, started = embed_work(body), time.perf_counter()
        done = embed(asked.project_id, asked.table_id, asked.chunks, fingerprint=asked.fingerprint)
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

    return queue_handler(
        work,
        postpone,
        logger,
        metrics,
        tracer,
        queue="embed",
        about=about_chunks,
        hold=hold,
        gave_up=_given_up(fail),
        send_again=send_again,
        current=current,
    )


def about_walk(body: str) -> About:
    """The Table that a message of the tool queue is about; none where it is about several."""
    turn = tool_work_in_turn(body)
    asked = next(turn, None)
    if not is_alone(turn):
        # A Table that was walked must not be called failed for another's sake.
        return About()
    if isinstance(asked, IndexAsked):
        return About(asked.table_id, fingerprint=asked.fingerprint)
    return About(asked.table_id if asked else None)


def about_chunks(body: str) -> About:
    """The Table that a message of the embed queue is about."""
    asked = embed_work(body)
    return About(asked.table_id, fingerprint=asked.fingerprint)


def _given_up(fail: Fail) -> Callable[[About, str], None]:
    def gave_up(about: About, reason: str) -> None:
        if about.subject is not None:
            fail(about.subject, reason, about.fingerprint)

    return gave_up


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
