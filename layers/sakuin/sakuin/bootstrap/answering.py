"""The function that agents call."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from sakuin import __version__
from sakuin.bootstrap.fingerprints import table_fingerprint
from sakuin.bootstrap.indexes import kept_or_own
from sakuin.bootstrap.keys import has_settled, key_ring
from sakuin.bootstrap.starting import starts_ahead, unswept
from sakuin.bootstrap.watching import Watch, chunk_store, question_embedder, secret_of, supabase, watch
from sakuin.domain.index_settings import named_index
from sakuin.domain.recipe import EmbeddingModel
from sakuin.entrypoints.observing import correlated, counted
from sakuin.entrypoints.redacting import Handler, hiding
from sakuin.settings import Settings

if TYPE_CHECKING:
    from sakuin.domain.evaluation.explanation import Explanation
    from sakuin.domain.knowledge import KnowledgeAnswer
    from sakuin.ports.embedding import QuestionEmbedder
    from sakuin.services.search_knowledge import SearchKnowledge
    from sakuin.services.search_table import SearchTable, TableAnswer


@unswept
def mcp_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that agents call."""
    import time

    from sakuin.adapters.supabase_allowances import SupabaseAllowances
    from sakuin.adapters.supabase_endpoint_keys import SupabaseEndpointKeys
    from sakuin.adapters.supabase_key_use import SupabaseKeyUse
    from sakuin.adapters.supabase_lexicon import SupabaseLexicon
    from sakuin.adapters.supabase_search import SupabaseSearch
    from sakuin.adapters.supabase_tables import SupabaseToolSearch
    from sakuin.domain.language.question import KnownWords
    from sakuin.domain.language.understanding import understood
    from sakuin.domain.similarity import calibration_of
    from sakuin.entrypoints.http_explain import ExplainApp
    from sakuin.entrypoints.key_use import noted_once_a_day
    from sakuin.entrypoints.lambda_http import held_open, observed
    from sakuin.entrypoints.mcp_http import McpApp, knowledge_server, search_tools_server
    from sakuin.entrypoints.mcp_search_tools import SearchTools
    from sakuin.entrypoints.mcp_tools import KnowledgeTools
    from sakuin.entrypoints.wrong_keys import WrongKeys
    from sakuin.services.allow_searches import AllowSearches
    from sakuin.services.explain import ExplainKnowledge, ExplainTool
    from sakuin.services.read_knowledge import ReadKnowledge
    from sakuin.services.search_knowledge import SearchKnowledge
    from sakuin.services.search_table import SearchTable

    settings, watched = Settings.read(environ), watch("Search")
    secret = secret_of(settings, watched)
    secrets = secret.now()
    client = supabase(settings, secrets, watched)
    index = SupabaseSearch(client, calibration_of(settings.embedding_model.name))
    lexicon = SupabaseLexicon(client)
    kept = kept_or_own(client, settings)

    @cache
    def embeds(model: EmbeddingModel) -> "QuestionEmbedder":
        return question_embedder(replace(settings, embedding_model=model), secrets, watched)

    def search(name: str | None = None) -> SearchKnowledge:
        asked = named_index(kept(), name).settings
        searched = SupabaseSearch(client, calibration_of(asked.model.name))
        return SearchKnowledge(searched, lexicon, embeds(asked.model), asked.knowledge, settings.base_url)

    embeds(settings.embedding_model)
    tools = KnowledgeTools(
        search=_counted_knowledge(search, watched),
        read=ReadKnowledge(index, settings.base_url),
    )
    ring = key_ring(secret, lambda now: now.knowledge_key_hashes)
    records = SupabaseToolSearch(client, table_fingerprint(settings).id)
    # The first question would wait for the dictionary and the glossary.
    understood("索引", KnownWords())
    # The store's SDK is for Search Tools alone: an endpoint of pages never loads it.
    store = cache(partial(chunk_store, settings, secrets, watched))
    if starts_ahead(environ):
        store()

    def search_table(name: str | None = None) -> SearchTable:
        asked = named_index(kept(), name)
        searched = SupabaseToolSearch(client, asked.tables)
        return SearchTable(searched, store(), embeds(asked.settings.model), asked.suffix)

    def explain_knowledge(query: str, *, index: str | None = None, **how: Any) -> "Explanation":
        return ExplainKnowledge(search(index))(query, **how)

    def explain_tool(mcp_id: str, tool: str, query: str, *, index: str | None = None, **how: Any) -> "Explanation":
        return ExplainTool(records, partial(search_table, index))(mcp_id, tool, query, **how)

    search_tools = SearchTools(_counted_table(search_table, watched))
    used = noted_once_a_day(SupabaseKeyUse(client).note, lambda: datetime.now(UTC).date())
    app = McpApp(
        knowledge_server(tools, __version__),
        ring,
        settings.allowed_origins,
        tools_server=search_tools_server(search_tools, __version__),
        endpoint=records.endpoint,
        used=used,
        allow=AllowSearches(SupabaseAllowances(client), settings.limits.queries_per_minute, time.monotonic),
        rehash=SupabaseEndpointKeys(client).rehash,
        settled=lambda: has_settled(secret.now()),
        wrong=WrongKeys(time.monotonic),
        longest_body=settings.limits.mcp_request_bytes,
    )
    # What explains needs what searches: dictionary, embedder, store.
    explain = ExplainApp(
        explain_knowledge,
        explain_tool,
        key_ring(secret_of(settings, watched), lambda now: now.admin_key_hashes),
        otherwise=app,
        used=used,
    )
    parts = watched.logger, watched.metrics, watched.tracer
    answered = hiding(observed(held_open(explain, app.run), *parts), watched.redaction, watched.logger)
    return correlated(answered, watched.work, watched.logger)


def _counted_knowledge(search: "Callable[[], SearchKnowledge]", watched: Watch) -> "SearchKnowledge":
    # The same call, of the index that answers then, and counted.
    def searched(*args: Any, **kwargs: Any) -> "KnowledgeAnswer":
        return search()(*args, **kwargs)

    return cast("SearchKnowledge", _counted(searched, watched, empty=lambda it: it.no_good_match, name="Searches"))


def _counted_table(search: Callable[[], "SearchTable"], watched: Watch) -> "SearchTable":
    def searched(*args: Any, **kwargs: Any) -> "TableAnswer":
        return search()(*args, **kwargs)

    return cast("SearchTable", _counted(searched, watched, empty=lambda it: not it.results, name="TableSearches"))


def _counted(search: Callable[..., Any], watched: Watch, *, empty: Callable[[Any], bool], name: str) -> Any:
    return counted(search, watched.meter, empty=empty, degraded=lambda it: it.degraded is not None, name=name)
