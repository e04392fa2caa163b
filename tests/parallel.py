"""Which process runs which tests when there are several, and what all of them share.

Files stay whole, and the longest parts begin first.
"""

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# The folder of the run.
SHARED = pytest.StashKey[Path]()
# Lines for the end of pytest's report.
SUMMARY = pytest.StashKey[set[str]]()
# Tests that share the one deployed stack. The others of their folder have a stack, an account or nothing of that kind.
STACK = "tests/integration"
NOT_ON_THE_STACK = ("test_kills.py", "test_deployment.py", "test_function_sizes.py")
# Started first, in this order, so that no long part is left for the end; the others follow by name.
LONGEST = (
    "tests/integration/test_kills.py",
    STACK,
    "tests/convergence/test_convergence.py",
    "tests/local/test_local_up.py",
    "tests/test_imports.py",
)


def part_of(nodeid: str) -> str:
    """Returns the part of a test: all tests of a part run in one process, one after the other."""
    file = nodeid.partition("::")[0]
    on_the_stack = file.startswith(f"{STACK}/") and not file.endswith(NOT_ON_THE_STACK)
    return STACK if on_the_stack else file


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Returns the tests by their parts, the longest parts first."""
    rank = {part: place for place, part in enumerate(LONGEST)}
    return sorted(items, key=lambda item: rank.get(part_of(item.nodeid), len(rank)))


class Parts(LoadScopeScheduling):
    """Gives a whole part to a free process, in the order of collection."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return part_of(nodeid)
