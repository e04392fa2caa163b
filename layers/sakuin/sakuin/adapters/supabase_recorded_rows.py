"""What is recorded of a Table's rows, asked for in parts: the answer to all at once would be as large as the Table."""

from collections.abc import Callable
from typing import Any

from sakuin.ports.tables import RecordedRows

ROWS_A_REQUEST = 20_000


def recorded_rows(part: Callable[[Any], Any]) -> RecordedRows | None:
    """All parts as one; None when the Table is gone. `part` gives the one after a place, `next` is where it ends.

    What changed its generation meanwhile is not `planned`: rows may have come behind the place.
    """
    row = part(None)
    if row is None:
        return None
    generation, planned = row["generation"], row["planned"]
    stored, coming = dict(row["stored"]), list(row["coming"])
    while row["next"] is not None:
        row = part(row["next"])
        if row is None:
            return None
        planned = planned and row["planned"] and row["generation"] == generation
        stored |= row["stored"]
        coming += row["coming"]
    return RecordedRows(generation, planned, stored, coming)
