"""The services of the pages for operators over a world; SQS is a double, and nothing is wrong."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from sakuin.console.pages import overview
from sakuin.console.pages.operation.services import Operation
from sakuin.console.shell import Shell
from sakuin.http.unfinished_work import WorkOfMaterials
from sakuin.knowledge.learns.listed import Explanations
from sakuin.upkeep.counts import project_counts
from sakuin.upkeep.dead_letters import DeadLetterQueues
from sakuin.upkeep.doctor import Problem
from sakuin.upkeep.freshness import Freshness
from sakuin.wiring.console import operation_pages

from tests.console.console_client import ConsoleClient
from tests.doubles.sqs import ModelledSqs
from tests.world import World


def operation_over(world: World, sqs: ModelledSqs, problems: Sequence[Problem] = ()) -> Operation:
    """Returns the services. The queues are named as their kind, those of dead letters `dead-…`."""
    return Operation(
        library=world.library,
        explanations=Explanations(world.client),
        unfinished=world.unfinished,
        work_of=WorkOfMaterials(world.unfinished, world.prefix),
        dead_letters=DeadLetterQueues(
            sqs,
            {"material": "material", "tool": "tool", "embed": "embed"},
            {"material": "dead-material", "tool": "dead-tool", "embed": "dead-embed"},
        ),
        freshness=Freshness(world.client),
        runs=world.runs,
        indexes=world.indexes,
        counts=partial(project_counts, world.client),
        doctor=lambda: problems,
        base_url=world.base_url,
    )


def first_page(world: World) -> Callable[[Shell], APIRouter]:
    """Returns what makes the routes of the first page."""
    return partial(overview.routes, operation=operation_over(world, ModelledSqs()))


def operators_console(world: World, operation: Operation, **options: Any) -> ConsoleClient:
    """Returns a console with the pages for operators; nobody is signed in."""
    return ConsoleClient(world, *(partial(routes, operation=operation) for routes in operation_pages()), **options)
