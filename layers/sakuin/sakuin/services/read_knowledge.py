"""One chunk in full, and the list of all concepts."""

from dataclasses import dataclass

from sakuin.domain.knowledge import Concept, Filters, StoredChunk
from sakuin.domain.material import chunk_id, link, split_chunk_id
from sakuin.ports.knowledge import KnowledgeSearch

CONCEPTS_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class ReadKnowledge:
    """Reads the index without searching; links begin with `base_url`."""

    index: KnowledgeSearch
    base_url: str

    def chunk(self, id: str) -> tuple[StoredChunk, str]:
        """The chunk with its link. An id of the wrong shape raises `Invalid`, one that is not there `NotFound`."""
        found = self.index.chunk(chunk_id(*split_chunk_id(id)))
        return found, link(found.material, found.anchor, self.base_url)

    def concepts(self, filters: Filters, cursor: str | None) -> tuple[list[tuple[Concept, str]], str | None]:
        """A page of concepts with their links, in the order of the library, and the next page's cursor."""
        concepts, following = self.index.concepts(filters, after=cursor, limit=CONCEPTS_A_PAGE)
        return [(item, link(item.material, item.anchor, self.base_url)) for item in concepts], following
