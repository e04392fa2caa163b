"""The REST API of `sakuin doctor`: what only a function of the deployment can check."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sakuin.upkeep.doctor import Problem


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
