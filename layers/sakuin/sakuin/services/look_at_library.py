"""What a keeper of the library wants to know of it."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import NotFound
from sakuin.ports.desk import DeployedLibrary, LibraryCounts, MaterialRecord


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole library: counts, the materials whose newest version could not be indexed, the latest change."""

    counts: LibraryCounts
    failed: Sequence[MaterialRecord]
    last_indexed: str | None


@dataclass(frozen=True, slots=True)
class LookAtLibrary:
    """Reads the records of a deployment."""

    library: DeployedLibrary

    def overview(self) -> Overview:
        """The whole library at once."""
        counts = self.library.counts()
        failed: list[MaterialRecord] = []
        moments: list[str] = []
        after: str | None = None
        while True:
            records, after = self.library.materials(after=after)
            failed += [record for record in records if record.status == "failed"]
            moments += [record.indexed_at for record in records if record.indexed_at]
            if after is None:
                # Moments are ISO 8601 in one time zone: the greatest text is the latest.
                return Overview(counts, failed, max(moments, default=None))

    def material(self, name: str) -> MaterialRecord:
        """One material; one that is not there raises `NotFound`."""
        record = self.library.material(unicodedata.normalize("NFC", name))
        if record is None:
            raise NotFound(f"There is no material {name!r}. Search results name it as `material`; a page has no .html")
        return record
