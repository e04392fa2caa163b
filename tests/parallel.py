"""Which process runs which tests when there are several, and what all of them share.

A process runs one part of the tests and ends, then another one runs the next part. A process that ran everything would
import everything, and Python keeps most of the memory that a large test needed.
"""

from collections import deque
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# The folder of the run.
SHARED = pytest.StashKey[Path]()
# Lines for the end of pytest's report.
SUMMARY = pytest.StashKey[set[str]]()
# The files and folders that this process collects, if there are several processes.
OWN = pytest.StashKey[set[Path]]()
TESTS = Path(__file__).parent
# Tests that a process knows of before it has completed the one that it runs.
_AHEAD = 4
# A file belongs to the longest path here that its own path begins with. Parts start in this order: long ones first, so
# that all processes end together.
PARTS = (
    ("integration/",),  # the tests that share the one deployed stack
    ("integration/test_deployment.py", "integration/test_kills.py", "integration/test_function_sizes.py", "local/"),
    ("",),  # all others
    ("isolation/",),
    ("integration/test_pull_request.py", "tables/"),
    ("contracts/",),
    ("cli/",),
    ("browser/", "console/"),
    ("upkeep/", "convergence/"),
    ("test_", "conformance/", "local_invoke/", "wiring/", "platform/"),
    ("general/",),  # the model stays in the memory of its process
    ("hostile/",),
    ("hostile/test_growth.py", "hostile/test_fail_alone.py"),
)


def part_of(file: Path) -> int:
    """Returns the index of the part of a test file."""
    path = file.relative_to(TESTS).as_posix()
    begins = [(len(begin), part) for part, paths in enumerate(PARTS) for begin in paths if path.startswith(begin)]
    return max(begins)[1]


def paths_of(part: int | None) -> set[Path]:
    """Returns the test files of a part and the folders above them."""
    files = [file for file in TESTS.rglob("test_*.py") if part_of(file) == part]
    return {path for file in files for path in (file, *file.parents)}


def parts_below(paths: Collection[Path]) -> list[int]:
    """Returns the parts that have a test file at or below one of `paths`."""
    files = [file for file in TESTS.rglob("test_*.py") if not {file, *file.parents}.isdisjoint(paths)]
    return sorted({part_of(file) for file in files})


class Parts:
    """A scheduler of pytest-xdist: each process gets the tests of one part, in order.

    If a process dies, another one runs what is left of its part. `collected` is the number of tests so far.
    """

    # A process begins as soon as it has collected its own tests.
    collection_is_completed = True

    def __init__(self, parts: Sequence[int]) -> None:
        self.waiting = list(parts)
        self.collected = 0
        self._part: dict[WorkerController, int | None] = {}
        self._unsent: dict[WorkerController, deque[int]] = {}
        self._sent: dict[WorkerController, deque[int]] = {}
        self._ids: dict[WorkerController, Sequence[str]] = {}
        self._begun: set[str] = set()

    def take(self, node: "WorkerController") -> int | None:
        """Gives the next part to a new process; None if no part waits."""
        self._part[node] = self.waiting.pop(0) if self.waiting else None
        return self._part[node]

    @property
    def nodes(self) -> list["WorkerController"]:
        return list(self._part)

    @property
    def tests_finished(self) -> bool:
        """Whether each process has all that it will get."""
        return not self.waiting and all(node in self._unsent and not self._unsent[node] for node in self._part)

    @property
    def has_pending(self) -> bool:
        return any(self._sent.values())

    def add_node(self, node: "WorkerController") -> None:
        """Does nothing: a process is known since it took a part."""

    def add_node_collection(self, node: "WorkerController", collection: Sequence[str]) -> None:
        left = deque(index for index, nodeid in enumerate(collection) if nodeid not in self._begun)
        self.collected += len(left)
        self._ids[node], self._unsent[node], self._sent[node] = collection, left, deque()
        self._send(node, _AHEAD)

    def schedule(self) -> None:
        """Does nothing: a process gets tests when it has collected them and when it has completed one."""

    def mark_test_complete(self, node: "WorkerController", item_index: int, duration: float = 0) -> None:
        self._sent[node].remove(item_index)
        self._begun.add(self._ids[node][item_index])
        self._send(node, 1)

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: "WorkerController", indices: Sequence[int]) -> None:
        raise NotImplementedError

    def remove_node(self, node: "WorkerController") -> str | None:
        """Forgets a process; returns the test in which it died, if it did."""
        part, sent, unsent = self._part.pop(node), self._sent.pop(node, None), self._unsent.pop(node, None)
        ids = self._ids.pop(node, ())
        if part is not None and (sent is None or sent or unsent):
            self.waiting.insert(0, part)
        if not sent:
            return None
        self._begun.add(ids[sent[0]])
        return ids[sent[0]]

    def _send(self, node: "WorkerController", tests: int) -> None:
        unsent = self._unsent[node]
        following = [unsent.popleft() for _ in range(min(tests, len(unsent)))]
        if following:
            self._sent[node].extend(following)
            node.send_runtest_some(following)
        if not unsent and not node.shutting_down:
            # A process begins its last test when it knows that it is the last.
            node.shutdown()


SCHEDULER = pytest.StashKey[Parts]()
