"""How much the tests try where there is no end to trying: examples, schedules, parts that are killed.

`make test` does the least of each. `make proofs` runs the same tests with EFFORT=20, which does twenty times as much.
"""

import os

EFFORT = int(os.environ.get("EFFORT", "1"))


def times(least: int) -> int:
    """Returns a number of tries, of which `make test` does `least`."""
    return least * EFFORT
