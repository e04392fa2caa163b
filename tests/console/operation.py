"""The services of the pages of operation over a world; SQS is a double."""

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from sakuin.console.pages import operation
from sakuin.console.pages.operation import Operation
from sakuin.console.shell import Shell
from sakuin.upkeep.counts import project_counts
from sakuin.upkeep.dead_letters import DeadLetterQueues

from tests.console.console_client import ConsoleClient
from tests.doubles.sqs import ModelledSqs
from tests.world import World


def operation_over(world: World, sqs: ModelledSqs) -> Operation:
    """Returns the services. The queues are named as their kind, those of dead letters `dead-…`."""
    return Operation(
        records=world.library.records,
        unfinished=world.unfinished,
        dead_letters=DeadLetterQueues(
            sqs,
            {"material": "material", "tool": "tool", "embed": "embed"},
            {"material": "dead-material", "tool": "dead-tool", "embed": "dead-embed"},
        ),
        runs=world.runs,
        indexes=world.indexes,
        counts=partial(project_counts, world.client),
    )


def first_page(world: World) -> Callable[[Shell], APIRouter]:
    """Returns what makes the routes of the pages; no queue has a message."""
    return partial(operation.routes, operation=operation_over(world, ModelledSqs()))


def operators_console(world: World, services: Operation, **options: Any) -> ConsoleClient:
    """Returns a console with the pages of operation; nobody is signed in."""
    return ConsoleClient(world, partial(operation.routes, operation=services), **options)
