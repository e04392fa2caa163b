"""The REST API of upkeep: what `sakuin doctor` checks, and a page of the index compared with its sources."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sakuin.http.errors import may_fail
from sakuin.upkeep.doctor import Problem
from sakuin.upkeep.reconcile import Reconcile

# API Gateway ends a request after 30 seconds, and the last Table of a page may be large.
_SECONDS = 10.0


class ReconcileView(BaseModel):
    """The part to compare with its source, and where to begin."""

    kind: Literal["keys", "pages", "words", "learns", "tables"] = Field(
        description="keys: bucket and index; pages: within the database; words: unused readings; "
        "learns: unused answers of the language model and unused vectors; tables: the store"
    )
    after: str | None = Field(default=None, description="The `next` of the page before.")
    dry_run: bool = Field(default=True, description="Changes nothing.")


class DifferenceView(BaseModel):
    """A difference between the index and its source."""

    rule: str
    where: str = Field(description="A key of the bucket, a material, or the id of a Table.")
    message: str
    repair: str = Field(description="The repair, which a dry run does not make.")


class DifferencesView(BaseModel):
    """The differences of one page; `next` is the `after` of the next page."""

    differences: list[DifferenceView]
    next: str | None


def reconcile_router(reconcile: Callable[[], Reconcile]) -> APIRouter:
    """Returns the route, for admins. The first request builds `reconcile`."""
    router = APIRouter(tags=["Operation"], responses=may_fail(503))

    @router.post("/v1/reconcile")
    def reconcile_page(asked: ReconcileView) -> DifferencesView:
        """Compares one page of a part with its source, and repairs differences through the queues."""
        result = reconcile().page(asked.kind, asked.after, dry_run=asked.dry_run, seconds=_SECONDS)
        views = [DifferenceView.model_validate(asdict(one)) for one in result.differences]
        return DifferencesView(differences=views, next=result.after)

    return router


class ProblemView(BaseModel):
    """Something that is wrong, and what to do about it."""

    check: str
    problem: str
    advice: str


class DoctorView(BaseModel):
    """The problems that the deployment sees from inside; none if all is right."""

    version: str
    python: str
    time: str = Field(description="The function's clock, in UTC.")
    problems: list[ProblemView]


def doctor_router(problems: Callable[[], Sequence[Problem]], version: str) -> APIRouter:
    """Returns the route, for admins."""
    router = APIRouter(tags=["Operation"])

    @router.get("/v1/doctor")
    def check_deployment() -> DoctorView:
        """Checks the database and each vendor's key. It changes nothing and costs nothing."""
        views = [ProblemView(**asdict(one)) for one in problems()]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return DoctorView(version=version, python=platform.python_version(), time=now, problems=views)

    return router
