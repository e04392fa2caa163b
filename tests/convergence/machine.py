"""What schedules of both kinds have in common, and how many of them run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from tests.convergence.actions import Forget, GoOn, Maintenance, SharedAction, Work
from tests.convergence.passing import A_DAY, A_MINUTE, AN_HOUR
from tests.convergence.workers import Workers

_STEPS = 16


class Schedule(RuleBasedStateMachine):
    """One schedule; its backend and its tally are shared with all others.

    A kind of schedule makes its `world`, `oracle` and `workers`.
    """

    backend: Any
    tally: Counter[str]
    # Arguments of the world.
    parts: Mapping[str, Any] = MappingProxyType({})
    most_rounds: ClassVar[int]
    # The module whose `check_always` fails if something is wrong that may be wrong at no time, and `check_settled` if
    # anything differs from the sources after all work.
    checks: ClassVar[Any]
    world: Any
    oracle: Any
    workers: Workers

    def is_busy(self) -> bool:
        """Runs the schedule's function; returns whether there was anything to do."""
        raise NotImplementedError

    def act(self, action: SharedAction) -> None:
        match action:
            case Work(which, doubled, place, fate):
                self.workers.take(which, doubled=doubled, place=place, fate=fate)
            case GoOn(which, place, fate):
                self.workers.go_on(which, place=place, fate=fate)
            case Maintenance(later, place, fate):
                seconds = AN_HOUR if later else A_MINUTE
                self.world.time_passes(seconds)
                self.world.sqs.passes(seconds)
                job = self.world.each_night if later else self.world.each_minute
                self.workers.begin(job, place=place, fate=fate)
            case Forget(which):
                self.workers.forget(which)

    @invariant()
    def holds(self) -> None:
        self.checks.check_always(self.world, self.oracle)

    def teardown(self) -> None:
        try:
            self._settle()
            self.checks.check_settled(self.world, self.oracle)
            # What waits for a message that was lost says so for a day.
            self.world.time_passes(A_DAY + AN_HOUR)
            self.backend.sql.execute("select mark_maintained()")
            ((waiting,),) = self.backend.sql.execute("select waiting_work(9)->'rows'").fetchall()
            assert not waiting, f"it waits: {waiting}"
        finally:
            self.clear()

    def clear(self) -> None:
        """Ends all workers and deletes everything of this schedule."""
        self.workers.dismiss()
        self.world.clear()

    def _settle(self) -> None:
        """Runs workers and maintenance without any failure until there is nothing to do."""
        for _ in range(self.most_rounds):
            self.workers.finish_all()
            self.world.time_passes(AN_HOUR)
            if not (self.is_busy() or self.world.sqs.messages or self.world.sqs.dead):
                return
        raise AssertionError("It never comes to rest")


S = TypeVar("S", bound=Schedule)


def scripted(kind: type[S], backend: object) -> S:
    """Returns a schedule whose steps a test writes; a few rounds are enough for what those leave to do."""
    attributes = {"backend": backend, "tally": Counter(), "most_rounds": 8}
    made: Any = type("Scripted", (kind,), attributes)
    schedule: S = made()
    return schedule


@contextmanager
def settling(schedule: S) -> Iterator[S]:
    """Yields a scripted schedule, and then checks that it ends as all of them must."""
    yield schedule
    schedule.teardown()


def run_schedules(
    kind: type[Schedule], tally: Counter[str], *, schedules: int, first: int | None = None, **attributes: Any
) -> None:
    """Runs so many schedules; raises the first divergence, made small.

    `attributes` become the kind's. `first` is the seed of them all; None runs the same ones each time.
    """
    made: Any = type(kind.__name__, (kind,), {**attributes, "tally": tally})
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
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
