"""Pages leave the library."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sakuin.domain.material_version import Outcome
from sakuin.errors import Unavailable
from sakuin.ports.materials import MaterialBucket

from sakuin_cli.await_receipts import AwaitReceipts


@dataclass(frozen=True, slots=True)
class RemovedPage:
    """What became of one material; `key` and `version_id` (the delete marker's) are None if it was not removed."""

    material: str
    key: str | None
    version_id: str | None
    outcome: Outcome | Literal["not_removed", "pending"]
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Whether it is gone."""
        return self.outcome == "applied"


@dataclass(frozen=True, slots=True)
class Removed:
    """What became of all of them."""

    pages: tuple[RemovedPage, ...]
    seconds: float

    @property
    def failed(self) -> tuple[RemovedPage, ...]:
        """Those that are still there."""
        return tuple(page for page in self.pages if not page.done)


@dataclass(frozen=True, slots=True)
class RemovePages:
    """Deletes pages through the bucket and waits until the index has followed."""

    bucket: MaterialBucket
    receipts: AwaitReceipts

    def __call__(self, materials: Sequence[str], *, seconds: float, told: Callable[[int, int], None]) -> Removed:
        """Removes each of `materials`; one that fails does not keep the others. Waits `seconds` at most."""
        began = self.receipts.clock()
        names = dict.fromkeys(unicodedata.normalize("NFC", name) for name in materials)
        pages = [self._marked(name) for name in names]
        versions = [(page.key, page.version_id) for page in pages if page.key and page.version_id]
        receipts = self.receipts(versions, seconds=seconds, arrived=lambda count: told(count, len(versions)))
        after: list[RemovedPage] = []
        for page in pages:
            receipt = receipts.get((page.key or "", page.version_id or ""))
            if receipt:
                page = replace(page, outcome=receipt.outcome, reason=receipt.reason or _REASONS.get(receipt.outcome))
            elif page.outcome == "pending":
                page = replace(page, reason=f"still searchable after {seconds:g} s; look at `sakuin status`")
            after.append(page)
        return Removed(tuple(after), self.receipts.clock() - began)

    def _marked(self, material: str) -> RemovedPage:
        # The key as it was stored: it may be spelled otherwise than `push` would.
        record = self.receipts.library.material(material)
        if record is None:
            reason = "there is no such material; `sakuin status` and search results name them"
            return RemovedPage(material, None, None, "not_removed", reason)
        try:
            return RemovedPage(material, record.key, self.bucket.remove(record.key), "pending")
        except Unavailable as error:
            return RemovedPage(material, record.key, None, "not_removed", str(error))


_REASONS = {"superseded": "a newer version was uploaded at the same time; it stays"}
