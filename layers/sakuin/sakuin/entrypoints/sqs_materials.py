"""Messages from the material queue."""

import time
from collections.abc import Callable, Sequence

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.domain.material_version import Source
from sakuin.domain.work import About, Taken
from sakuin.domain.work_on_pages import subject_of_key
from sakuin.entrypoints.material_messages import changes_in_turn
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import GaveUp, Handler, Held, Postpone, SendAgain, Unheld, queue_handler
from sakuin.entrypoints.turns import all_followed, is_alone
from sakuin.services.follow_bucket import AskedAgain, Change, Followed, LookedAt


def material_handler(
    follow: Callable[[Change], Followed],
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    prefix: str = "",
    hold: Callable[[Sequence[Taken]], Held] = lambda _taken: Unheld(),
    gave_up: GaveUp = lambda _about, _reason: None,
    send_again: SendAgain | None = None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler for the material queue. `prefix` is the part of the keys that is not in a material's name."""

    def work(body: str) -> None:
        all_followed(changes_in_turn(body), lambda change: _report(follow, change, logger, metrics), logger)

    return queue_handler(
        work,
        postpone,
        logger,
        metrics,
        tracer,
        queue="material",
        about=lambda body: about_material(body, prefix),
        hold=hold,
        gave_up=gave_up,
        send_again=send_again,
        current=current,
    )


def about_material(body: str, prefix: str) -> About:
    """The material that a message is about, or the key of what is no page.

    S3 puts one change into a message. Of several the first is named, without its version: which of them failed in the
    end is not known then, and a page that was applied must not be called failed.
    """
    turn = changes_in_turn(body)
    change = next(turn, None)
    if change is None:
        return About()
    if isinstance(change, AskedAgain):
        return About(change.material)
    if isinstance(change, LookedAt):
        # Which version it is about, only who looks will know.
        return About(subject_of_key(change.key, prefix), Source("", change.key, None, "") if is_alone(turn) else None)
    return About(subject_of_key(change.source.key, prefix), change.source if is_alone(turn) else None)


def _report(follow: Callable[[Change], Followed], change: Change, logger: Logger, metrics: Metrics) -> None:
    started = time.perf_counter()
    done = follow(change)
    milliseconds = (time.perf_counter() - started) * 1000
    result = done.result
    logger.info(
        "change followed",
        change=type(change).__name__,
        material=done.material,
        outcome=result.applied.outcome if result else "ignored",
        reason=result.reason if result else done.ignored,
        chunks=result.chunks if result else 0,
        embedded=result.embedded if result else 0,
        asked=done.asked,
        milliseconds=round(milliseconds),
    )
    if result is not None:
        applied = result.applied.outcome == "applied"
        metrics.add_metric("PagesApplied" if applied else "PagesNotApplied", MetricUnit.Count, 1)
        metrics.add_metric("KnowledgeChunks", MetricUnit.Count, result.chunks if applied else 0)
        metrics.add_metric("TextsEmbedded", MetricUnit.Count, result.embedded)
        metrics.add_metric("PageMilliseconds", MetricUnit.Milliseconds, milliseconds)
