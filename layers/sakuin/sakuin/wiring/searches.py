"""The searches of agents: in the function `mcp`."""

from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

from sakuin.knowledge.postgres_search import CandidateStore, ChunkSearch, Lexicon
from sakuin.knowledge.search import SearchedPages, SearchKnowledge
from sakuin.retrieval.index_version import StoredIndexVersion, find_version
from sakuin.retrieval.weights import weights_of
from sakuin.tables.postgres import ToolSearch
from sakuin.tables.search import SearchedTables, SearchTable
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import Kept

T = TypeVar("T")


class Searches:
    """The searches of the index versions; what each version needs is built once in a worker.

    A question begins with the version that was live for the question before. Its first call, which looks up its words,
    returns the id of the live version. If that is another one, it looks them up once more, and goes on with that one.

    `is_public`: of callers without a key, whose questions have a budget of the day.
    """

    def __init__(self, clients: Clients, kept: Kept, *, is_public: bool = False) -> None:
        self._clients = clients
        self._kept = kept
        self._live: StoredIndexVersion | None = None
        self._lexicon = Lexicon(clients.supabase)
        self._pages_of = cache(self._searched_pages)
        self._tables_of = cache(self._searched_tables)
        self.embedder = cache(partial(clients.question_embedder, is_public=is_public))
        # Only Search Tools, and pages that are there, load its SDK.
        self.store = cache(clients.chunk_store)

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search of pages in the live or the named index version."""
        pages = self._follows(self._pages_of, version)
        return SearchKnowledge(pages, self._lexicon, self._clients.settings.base_url)

    def table_search(self, version: str | None = None) -> SearchTable:
        """Returns the search of Tables in the live or the named index version."""
        return SearchTable(self._follows(self._tables_of, version), self.store())

    def _follows(self, of: Callable[[StoredIndexVersion], T], version: str | None) -> Callable[[str | None], T]:
        """Returns what gives the named index version, or the live one after each activation."""
        if version is None:
            return lambda live: of(self._live_version(live))
        named = of(find_version(self._kept(), version))
        return lambda _live: named

    def _live_version(self, live: str | None) -> StoredIndexVersion:
        """Returns the live index version, five seconds after an activation at the latest. `live` is its id if known."""
        if self._live is None or live not in (None, self._live.settings.id):
            self._live = find_version(self._kept(), None)
        return self._live

    def _searched_pages(self, index: StoredIndexVersion) -> SearchedPages:
        model = index.settings.model
        chunks = ChunkSearch(self._chunks(index), weights_of(model.name, index.settings.analyzer))
        return SearchedPages(chunks, self.embedder(model), index.settings.pages)

    def _chunks(self, index: StoredIndexVersion) -> CandidateStore:
        from sakuin.knowledge.postgres_search import PostgresChunks

        chunks = PostgresChunks(self._clients.supabase)
        if index.settings.store == "postgres":
            return chunks
        from sakuin.knowledge.turbopuffer import TurbopufferChunks

        return TurbopufferChunks(chunks, self.store(), self._clients.settings.bucket)

    def _searched_tables(self, index: StoredIndexVersion) -> SearchedTables:
        records, model = ToolSearch(self._clients.supabase, index.tables), index.settings.model
        embedder, analyzer = self.embedder(model), index.settings.analyzer
        return SearchedTables(records, embedder, weights_of(model.name, analyzer), index.suffix)
