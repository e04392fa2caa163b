"""Waiting until the versions that were written have been worked on."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sakuin.domain.material_version import Receipt
from sakuin.errors import Unavailable

from sakuin_cli.ports import DeployedLibrary

# Key and version id.
Version = tuple[str, str]

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0
_SLOWER = 1.5
# About ten seconds of no answer: a deployment that restarts is back by then.
_FAILURES_IN_A_ROW = 12


@dataclass(frozen=True, slots=True)
class AwaitReceipts:
    """Asks for receipts, less and less often, until all are there or the time is over.

    `clock` gives seconds, `sleep` waits so many.
    """

    library: DeployedLibrary
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def __call__(
        self, versions: Collection[Version], *, seconds: float, arrived: Callable[[int], None]
    ) -> dict[Version, Receipt]:
        """The receipts by version; those that did not come in `seconds` are left out. `arrived` is told how many."""
        waited_for = set(versions)
        receipts: dict[Version, Receipt] = {}
        until = self.clock() + seconds
        pause, failures = _FIRST_PAUSE, 0
        while waited_for:
            try:
                found = self.library.receipts(sorted(waited_for))
                failures = 0
            except Unavailable:
                failures += 1
                if failures == _FAILURES_IN_A_ROW:
                    raise
                found = ()
            receipts |= {(receipt.key, receipt.version_id): receipt for receipt in found}
            waited_for -= receipts.keys()
            arrived(len(receipts))
            left = until - self.clock()
            if not waited_for or left <= 0:
                break
            self.sleep(min(pause, left))
            pause = min(pause * _SLOWER, _LONGEST_PAUSE)
        return receipts
