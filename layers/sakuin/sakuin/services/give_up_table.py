"""What failed for the last time is said on the tools of the Table that it was about."""

from dataclasses import dataclass

from sakuin.ports.tables import TableIndex


@dataclass(frozen=True, slots=True)
class GiveUpTable:
    """Says it on the tools of the Table, in the generation that they have now."""

    index: TableIndex

    def __call__(self, table_id: str, reason: str) -> None:
        """A Table that is gone is not an error."""
        work = self.index.work(table_id)
        if work is not None:
            said = f"{reason}. Send it again with `sakuin redrive`, or ask anew with `sakuin tool reindex`."
            self.index.failed(table_id, work.generation, said)
