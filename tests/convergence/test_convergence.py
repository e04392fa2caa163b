"""After any schedule, what is searchable is what the bucket and the Tables contain.

`python -m tests.convergence 2000` runs more of the same.
"""

from typing import Any

from tests.convergence.machine import run_schedules
from tests.convergence.materials_machine import MaterialsMachine
from tests.convergence.materials_world import MaterialsBackend
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tables_world import TablesBackend
from tests.convergence.tally import Tally
from tests.effort import times


def test_every_schedule_over_tables_ends_where_the_tables_are(tables: TablesBackend) -> None:
    _converges(TablesMachine, tables, schedules=times(40))


def test_every_schedule_over_materials_ends_where_the_bucket_is(materials: MaterialsBackend) -> None:
    _converges(MaterialsMachine, materials, schedules=times(50))


def _converges(machine: Any, backend: object, *, schedules: int) -> None:
    tally = Tally()
    run_schedules(machine, tally, schedules=schedules, backend=backend)
    print("", *tally.as_lines(), sep="\n")
    assert tally.schedules >= schedules
    assert tally.faults.total() > schedules // 2
