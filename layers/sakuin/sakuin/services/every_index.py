"""Work on a Table is done in every index that is kept, in each by itself."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sakuin.services.each_in_turn import each_in_turn

if TYPE_CHECKING:
    # One of the two functions has no Japanese layer, which the other's service needs.
    from sakuin.services.embed_chunks import ChunksEmbedded, EmbedChunks
    from sakuin.services.index_table import IndexTable, ScanResult
    from sakuin.services.restart_tables import RestartTables


@dataclass(frozen=True, slots=True)
class IndexEverywhere:
    """Walks a Table. `indexes` are the walks by fingerprint, that of the index that answers last."""

    indexes: Callable[[], Mapping[str, "IndexTable"]]

    def __call__(
        self,
        project_id: str,
        table_id: str,
        *,
        generation: int | None = None,
        skip: int = 0,
        fingerprint: str | None = None,
        for_event: bool = False,
    ) -> "ScanResult":
        """Walks for `fingerprint`, or for all; gives what became of the one that answers."""
        from sakuin.services.index_table import ScanResult

        walks = self.indexes()
        if fingerprint is None and generation is not None:
            # A walk that goes on belongs to one index: to none but this, before messages named it.
            fingerprint = list(walks)[-1]
        walked = each_in_turn(
            [walk for name, walk in walks.items() if fingerprint in (None, name)],
            lambda walk: walk(project_id, table_id, generation=generation, skip=skip, for_event=for_event),
        )
        return walked[-1] if walked else ScanResult("dropped")


@dataclass(frozen=True, slots=True)
class EmbedEverywhere:
    """Embeds chunks. `indexes` are the workers by fingerprint."""

    indexes: Callable[[], Mapping[str, "EmbedChunks"]]

    def __call__(
        self, project_id: str, table_id: str, ids: Collection[str], *, fingerprint: str | None = None
    ) -> "ChunksEmbedded":
        """Works on a batch of `fingerprint`; where none is named, each index knows its own chunks."""
        from sakuin.services.embed_chunks import ChunksEmbedded

        done = each_in_turn(
            [embed for name, embed in self.indexes().items() if fingerprint in (None, name)],
            lambda embed: embed(project_id, table_id, ids),
        )
        return ChunksEmbedded(
            stored=sum(each.stored for each in done),
            embedded=sum(each.embedded for each in done),
            ready=any(each.ready for each in done),
        )


@dataclass(frozen=True, slots=True)
class RestartEverywhere:
    """Walks anew what stands still. `indexes` are those who do it in one index, by fingerprint."""

    indexes: Callable[[], Mapping[str, "RestartTables"]]

    def __call__(self) -> int:
        """How many are walked anew, in all indexes together."""
        return sum(each_in_turn(self.indexes().values(), lambda restart: restart()))
