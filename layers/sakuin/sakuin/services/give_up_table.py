"""Records on a Table's Tools that its message becomes a dead letter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sakuin.ports.tables import TableIndex


@dataclass(frozen=True, slots=True)
class GiveUpTable:
    """Sets the Tools of a Table to `error`. `indexes` are the indexes that are kept, by fingerprint."""

    indexes: Callable[[], Mapping[str, TableIndex]]

    def __call__(self, table_id: str, reason: str, fingerprint: str | None) -> None:
        """Records it in the generation that the Table has now. A Table that is gone is not an error."""
        for name, index in self.indexes().items():
            if fingerprint in (None, "", name):
                said = f"{reason}. Send it again with `sakuin redrive`, or start over with `sakuin tool reindex`."
                index.failed(table_id, None, said)
