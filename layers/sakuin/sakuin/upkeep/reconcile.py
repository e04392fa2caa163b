"""Compares the index with its sources and repairs differences: all once a day, or page by page on command."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.differences import ComparedPage
from sakuin.knowledge.reconcile import GRACE, ReconcileMaterials
from sakuin.tables.reconcile import ReconcileTables

Kind = Literal["keys", "rows", "tables"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# While the queue has messages, only keys are compared that are older than their messages can be.
_QUEUE_AGE = timedelta(days=1)
# API Gateway ends a request after 30 seconds, and the last Table of a page may be large.
_SECONDS_A_PAGE = 10.0
# The metric counts all of them.
_MOST_LOGGED = 50


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Reconciliation of all kinds. Repeated and concurrent runs are safe.

    `clock` gives seconds. `queue_is_empty` returns whether no message about a page waits or is processed.
    """

    materials: ReconcileMaterials
    tables: ReconcileTables
    clock: Callable[[], float]
    queue_is_empty: Callable[[], bool]

    def page(self, kind: Kind, after: str | None, *, dry_run: bool, grace: timedelta = timedelta(0)) -> ComparedPage:
        """Compares one page of one kind, in about ten seconds. Newer changes than `grace` are ignored."""
        until = self.clock() + _SECONDS_A_PAGE
        if kind == "keys":
            return self.materials.keys(after, dry_run=dry_run, grace=grace)
        if kind == "rows":
            return self.materials.rows(after, dry_run=dry_run)
        return self.tables.page(after, dry_run=dry_run, is_over=lambda: self.clock() > until)

    def scheduled_page(self, kind: Kind, after: str | None) -> ComparedPage:
        """Compares one page without a command: changes whose messages may still come are left to these."""
        grace = _QUEUE_AGE if kind == "keys" and not self.queue_is_empty() else GRACE
        return self.page(kind, after, dry_run=False, grace=grace)


@dataclass(frozen=True, slots=True)
class DailyComparison:
    """A part of `maintain`: compares one kind page by page, logs the differences and counts them.

    `reconcile` gives the reconciliation of the kept index versions.
    """

    reconcile: Callable[[], Reconcile]
    kind: Kind
    logger: Logger
    metrics: Metrics

    def __call__(self, place: str) -> tuple[int, str | None]:
        """Compares the page after `place`. Returns the number of its differences, and the next place."""
        page = self.reconcile().scheduled_page(self.kind, place or None)
        for each in page.differences[:_MOST_LOGGED]:
            self.logger.warning(
                "difference found", rule=each.rule, where=each.where, difference=each.message, repair=each.repair
            )
        self.metrics.add_metric("ReconcileFindings", MetricUnit.Count, len(page.differences))
        return len(page.differences), page.after
