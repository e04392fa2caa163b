"""`python -m tests.convergence 2000 [SEED]`: so many schedules of each kind, and a report of what they did."""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from secrets import randbelow

from sakuin_local.supabase.database import running_database

from tests.convergence.machine import run_schedules
from tests.convergence.materials_machine import MaterialsMachine
from tests.convergence.materials_world import materials_backend
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tables_world import tables_backend
from tests.convergence.tally import Tally


def main(arguments: list[str]) -> int:
    schedules = int(arguments[0]) if arguments else 2000
    first = int(arguments[1]) if len(arguments) > 1 else randbelow(1 << 32)
    print(f"{schedules:,} schedules of each kind; the same again: python -m tests.convergence {schedules} {first}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_database(folder / "database") as database:
            with tables_backend(database, folder) as tables:
                whole = _reported(
                    "Tables",
                    lambda tally: run_schedules(
                        TablesMachine,
                        tally,
                        schedules=schedules,
                        first=first,
                        backend=tables,
                        parts={"two_versions": True},
                    ),
                )
            with materials_backend(database) as materials:
                whole &= _reported(
                    "materials",
                    lambda tally: run_schedules(
                        MaterialsMachine, tally, schedules=schedules, first=first, backend=materials
                    ),
                )
    return 0 if whole else 1


def _reported(kind: str, run: Callable[[Tally], None]) -> bool:
    tally, began, divergence = Tally(), time.perf_counter(), None
    try:
        run(tally)
    except Exception as error:
        divergence = error
    print(f"\n{kind}: {'no divergence' if divergence is None else 'A DIVERGENCE'}")
    print("\n".join(tally.as_lines()))
    print(f"seconds: {time.perf_counter() - began:,.0f}")
    if divergence is not None:
        print(f"{type(divergence).__name__}: {divergence}", *getattr(divergence, "__notes__", ()), sep="\n")
    return divergence is None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
