"""A keeper has the whole index held against its sources."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sakuin.domain.reconciliation import Difference

from sakuin_cli.ports import DeployedReconciliation

OF_MATERIALS = ("keys", "pages", "words", "learns")
OF_TABLES = ("tables",)


@dataclass(frozen=True, slots=True)
class ReconcileFromAfar:
    """Page by page, until each part is through."""

    deployed: DeployedReconciliation

    def __call__(
        self, kinds: Sequence[str], *, dry_run: bool, told: Callable[[str, int], None] = lambda _kind, _pages: None
    ) -> list[Difference]:
        """What differs, in the order in which it was found; `told` hears of each page."""
        found: list[Difference] = []
        for kind in kinds:
            after, pages = None, 0
            while True:
                some, after = self.deployed.page(kind, after, dry_run=dry_run)
                found += some
                pages += 1
                told(kind, pages)
                if after is None:
                    break
        return found
