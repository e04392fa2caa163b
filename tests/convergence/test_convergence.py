"""After any schedule, what is searchable is what the bucket and the Tables contain.

Some schedules are the same in each run. The others are new, those of Tables with two index versions; the last lines of
pytest say how to repeat them. `make converge` runs more of them.
"""

import os
from collections import Counter
from secrets import randbelow
from typing import Any

from tests.convergence.machine import run_schedules
from tests.convergence.materials_machine import MaterialsMachine
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.world import Backend
from tests.effort import times


def test_every_schedule_over_tables_ends_where_the_tables_are(backend: Backend, summary: set[str]) -> None:
    _converges(TablesMachine, backend, summary, fixed=times(5), new=times(10), two_versions=True)


def test_every_schedule_over_materials_ends_where_the_bucket_is(backend: Backend, summary: set[str]) -> None:
    _converges(MaterialsMachine, backend, summary, fixed=times(6), new=times(14))


def _converges(machine: Any, backend: object, summary: set[str], *, fixed: int, new: int, **parts: bool) -> None:
    first = int(os.environ.get("SEED") or randbelow(1 << 32))
    # Before they run: the line must be there if they fail.
    summary.add(f"new random schedules; the same again: SEED={first} pytest {_FILE} -k {_NAMES[machine]}")
    tally = Counter[str]()
    run_schedules(machine, tally, schedules=fixed, backend=backend, parts=parts)
    # How many faults new schedules have is chance.
    faults = sum(count for name, count in tally.items() if name.startswith("fault"))
    try:
        run_schedules(machine, tally, schedules=new, first=first, backend=backend, parts=parts)
    finally:
        print("", f"faults in fixed schedules: {faults}", *sorted(tally.items()), sep="\n")
    assert tally["schedules"] >= fixed + new
    assert faults >= fixed // 2


_FILE = "tests/convergence/test_convergence.py"
_NAMES = {TablesMachine: "tables", MaterialsMachine: "materials"}
