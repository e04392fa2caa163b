"""The searches of agents: in the functions `mcp` and `send_webhooks`."""

from functools import cache

from sakuin.knowledge.postgres_search import CandidateStore, ChunkSearch, Lexicon
from sakuin.knowledge.search import SearchKnowledge
from sakuin.retrieval.index_version import StoredIndexVersion, find_version
from sakuin.retrieval.weights import weights_of
from sakuin.tables.postgres import ToolSearch
from sakuin.tables.search import SearchTable
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import Kept


class Searches:
    """The searches of the index versions, each built once in a worker.

    A question begins with the version that was live for the question before. The call that looks up its words returns
    the id of the live version. If that is another one, the question begins again with its search.
    """

    def __init__(self, clients: Clients, kept: Kept) -> None:
        self._clients = clients
        self._kept = kept
        self._live: StoredIndexVersion | None = None
        self._lexicon = Lexicon(clients.supabase)
        self._knowledge = cache(self._search_of_pages)
        self._tables = cache(self._search_of_tables)
        self.embedder = cache(clients.question_embedder)
        # Only Search Tools, and pages that are there, load its SDK.
        self.store = cache(clients.chunk_store)

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search of pages in the live or the named index version."""
        return self._knowledge(self._index(version), version is None)

    def table_search(self, version: str | None = None) -> SearchTable:
        """Returns the search of Tables in the live or the named index version."""
        return self._tables(self._index(version), version is None)

    def table_records(self) -> ToolSearch:
        """Returns the records of Tables in the live index version. No question precedes, so that Postgres is asked."""
        self._live = find_version(self._kept(), None)
        return self._tables(self._live, True).records

    def _search_of_pages(self, index: StoredIndexVersion, follows: bool) -> SearchKnowledge:
        def newer(live: str | None) -> SearchKnowledge | None:
            search = self._newer(index, live) if follows else None
            return self._knowledge(search, True) if search else None

        model = index.settings.model
        searched = ChunkSearch(self._chunks(index), weights_of(model.name))
        base_url = self._clients.settings.base_url
        return SearchKnowledge(searched, self._lexicon, self.embedder(model), index.settings.pages, base_url, newer)

    def _chunks(self, index: StoredIndexVersion) -> CandidateStore:
        from sakuin.knowledge.postgres_search import PostgresChunks

        chunks = PostgresChunks(self._clients.supabase)
        if index.settings.store == "postgres":
            return chunks
        from sakuin.knowledge.turbopuffer import TurbopufferChunks

        return TurbopufferChunks(chunks, self.store(), self._clients.settings.bucket)

    def _search_of_tables(self, index: StoredIndexVersion, follows: bool) -> SearchTable:
        def newer(live: str | None) -> SearchTable | None:
            search = self._newer(index, live) if follows else None
            return self._tables(search, True) if search else None

        records, model = ToolSearch(self._clients.supabase, index.tables), index.settings.model
        weights = weights_of(model.name)
        return SearchTable(records, self.store(), self.embedder(model), weights, index.suffix, newer)

    def _index(self, version: str | None) -> StoredIndexVersion:
        if version is not None:
            return find_version(self._kept(), version)
        if self._live is None:
            self._live = find_version(self._kept(), None)
        return self._live

    def _newer(self, index: StoredIndexVersion, live: str | None) -> StoredIndexVersion | None:
        """Returns the index version that is live now; None if it is `index`, or was within the last five seconds."""
        if live in (None, index.settings.id):
            return None
        self._live = find_version(self._kept(), None)
        return self._live if self._live != index else None
