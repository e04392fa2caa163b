"""Schedules of one kind, as many as asked for, over a house that they share."""

from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.convergence.tally import Tally

_STEPS = 16


def run_schedules(
    machine: type[RuleBasedStateMachine],
    tally: Tally,
    *,
    schedules: int,
    first: int | None = None,
    shrink: bool = True,
    **parts: Any,
) -> None:
    """Runs so many schedules; the first that diverges is made small, unless told not to, and raised.

    `parts` become the machine's. `first` is the seed of them all; None runs the same ones each time.
    """
    made: Any = type(machine.__name__, (machine,), {**parts, "tally": tally})
    if first is not None:
        made = seed(first)(made)
    run_state_machine_as_test(
        made,
        settings=settings(
            max_examples=schedules,
            stateful_step_count=_STEPS,
            derandomize=first is None,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            print_blob=False,
            # Explaining a divergence would cost as much as finding it.
            phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
