"""Messages to the workers of Tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.platform.sqs import SqsQueue


@dataclass(frozen=True, slots=True)
class TableQueues:
    """Asks for work on Tables, at least once. `fingerprint` is the index that asks; "" asks for all indexes.

    `resumed`: the work waited before.
    """

    tool_queue: SqsQueue
    embed_queue: SqsQueue
    fingerprint: str = ""

    def index(
        self,
        project_id: str,
        table_id: str,
        *,
        generation: int | None = None,
        skip: int = 0,
        resumed: bool = False,
    ) -> None:
        """Asks to scan a Table; with `generation`, to continue the scan of that generation after `skip` nodes."""
        asked = {**self._table(project_id, table_id, resumed), "generation": generation, "skip": skip}
        self.tool_queue.send([{"index": asked}])

    def embed(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]], *, resumed: bool = False) -> None:
        """Asks to embed chunks, a message a batch."""
        table = self._table(project_id, table_id, resumed)
        self.embed_queue.send([{"embed": {**table, "chunks": list(batch)}} for batch in batches])

    def import_document(self, key: str) -> None:
        """Asks to import the uploaded document at `key`."""
        self.tool_queue.send([{"import": {"key": key}}])

    def _table(self, project_id: str, table_id: str, resumed: bool) -> dict[str, Any]:
        index = {"fingerprint": self.fingerprint} if self.fingerprint else {}
        return {"project_id": project_id, "table_id": table_id, **index, **({"resumed": True} if resumed else {})}
