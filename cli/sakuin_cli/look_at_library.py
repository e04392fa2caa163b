"""What a keeper of the library wants to know of it."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sakuin.domain.work import WorkRow
from sakuin.errors import NotFound

from sakuin_cli.ports import DeployedLibrary, DeployedWork, LibraryCounts, MaterialRecord


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole library: counts, the materials whose newest version could not be indexed, the latest change.

    `work` says how many messages are not done, by state; `parked` are those that wait in no queue.
    """

    counts: LibraryCounts
    failed: Sequence[MaterialRecord]
    last_indexed: str | None
    work: Mapping[str, int]
    parked: Sequence[WorkRow]


@dataclass(frozen=True, slots=True)
class LookAtLibrary:
    """Reads the records of a deployment."""

    library: DeployedLibrary
    work: DeployedWork

    def overview(self) -> Overview:
        """The whole library at once."""
        counts, parked = self.library.counts(), self.work.work(state="parked")
        failed: list[MaterialRecord] = []
        moments: list[str] = []
        after: str | None = None
        while True:
            records, after = self.library.materials(after=after)
            failed += [record for record in records if record.status == "failed"]
            moments += [record.indexed_at for record in records if record.indexed_at]
            if after is None:
                # Moments are ISO 8601 in one time zone: the greatest text is the latest.
                return Overview(counts, failed, max(moments, default=None), parked.counts, parked.rows)

    def material(self, name: str) -> MaterialRecord:
        """One material; one that is not there, and that no message is about, raises `NotFound`."""
        wanted = unicodedata.normalize("NFC", name)
        record = self.library.material(wanted) or self._waiting(wanted)
        if record is None:
            raise NotFound(f"There is no material {name!r}. Search results name it as `material`; a page has no .html")
        return record

    def _waiting(self, name: str) -> MaterialRecord | None:
        """A page of which nothing is known yet but that it is on its way."""
        work = self.work.work(subject=name).rows
        if not work:
            return None
        return MaterialRecord(
            material=name,
            key="",
            version_id=None,
            status="waiting",
            error=work[0].reason,
            generation=0,
            chunks_count=0,
            indexed_version_id=None,
            indexed_at=None,
            work=work,
        )
