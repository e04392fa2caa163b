"""The functions of the template.

Each carries only the layers it needs and pays for each import at its cold start: what not all of them need is
imported where it is used.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from sakuin import __version__
from sakuin.adapters.secrets_manager import secrets_named
from sakuin.bootstrap.starting import starts_ahead, unswept
from sakuin.bootstrap.watching import (
    Watch,
    chunk_store,
    indexing_embedder,
    learns_model,
    question_embedder,
    queues,
    supabase,
    watch,
)
from sakuin.domain.recipe import ANALYZER, RECIPE, Fingerprint
from sakuin.entrypoints.authorization import KeyRing
from sakuin.entrypoints.observing import correlated, counted
from sakuin.settings import Secrets, Settings

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.sqs import SqsWorkQueue
    from sakuin.adapters.sqs_tables import SqsTableQueues
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.domain.table_index import TableFingerprint
    from sakuin.entrypoints.http_projects import ProjectServices
    from sakuin.services.search_knowledge import SearchKnowledge
    from sakuin.services.search_table import SearchTable, TableAnswer

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that follows the bucket."""
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.entrypoints.sqs_materials import material_handler
    from sakuin.services.apply_page import ApplyPage
    from sakuin.services.follow_bucket import FollowBucket
    from sakuin.services.learns_sources import LearnsSources

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secrets_named(settings.secret_name)
    bucket, queue = _bucket(settings), _queue(settings.queue_url, observed)
    client = supabase(settings, secrets, observed)
    index = SupabaseIndex(client)
    model = learns_model(settings, secrets, observed, client)
    apply_page = ApplyPage(
        bucket=bucket,
        index=index,
        embedder=indexing_embedder(settings, secrets, observed, client),
        learns=LearnsSources(bucket, index, model, settings.material_prefix),
        fingerprint=_fingerprint(settings),
        max_page_bytes=settings.max_page_bytes,
    )
    return material_handler(
        FollowBucket(bucket, index, queue, apply_page, settings.material_prefix),
        _postpone(queue),
        observed.logger,
        observed.metrics,
        observed.tracer,
        send_again=_send_again(queue),
        current=observed.work,
    )


@unswept
def mcp_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that agents call."""
    from sakuin.adapters.supabase_key_use import SupabaseKeyUse
    from sakuin.adapters.supabase_lexicon import SupabaseLexicon
    from sakuin.adapters.supabase_search import SupabaseSearch
    from sakuin.adapters.supabase_tables import SupabaseTableIndex, SupabaseToolSearch
    from sakuin.domain.language.question import KnownWords
    from sakuin.domain.language.understanding import understood
    from sakuin.domain.similarity import calibration_of
    from sakuin.entrypoints.http_explain import ExplainApp
    from sakuin.entrypoints.key_use import noted_once_a_day
    from sakuin.entrypoints.lambda_http import held_open, observed
    from sakuin.entrypoints.mcp_http import McpApp, knowledge_server, search_tools_server
    from sakuin.entrypoints.mcp_search_tools import SearchTools
    from sakuin.entrypoints.mcp_tools import KnowledgeTools
    from sakuin.services.explain import ExplainKnowledge, ExplainTool
    from sakuin.services.read_knowledge import ReadKnowledge
    from sakuin.services.search_knowledge import SearchKnowledge
    from sakuin.services.search_table import SearchTable

    settings, watched = Settings.read(environ), watch("Search")
    secrets = secrets_named(settings.secret_name)
    client = supabase(settings, secrets, watched)
    index = SupabaseSearch(client, calibration_of(settings.embedding_model.name))
    embeds = question_embedder(settings, secrets, watched)
    search = SearchKnowledge(index, SupabaseLexicon(client), embeds, _fingerprint(settings), settings.base_url)
    tools = KnowledgeTools(
        search=_counted_knowledge(search, watched),
        read=ReadKnowledge(index, settings.base_url),
    )
    ring = _ring(settings.secret_name, lambda now: now.knowledge_key_hashes)
    records = SupabaseToolSearch(client, _table_fingerprint(settings).id)
    # The first question would wait for the dictionary and the glossary.
    understood("索引", KnownWords())
    # The store's SDK is for Search Tools alone: an endpoint of pages never loads it.
    store = cache(partial(chunk_store, settings, secrets, watched))
    if starts_ahead(environ):
        store()

    @cache
    def search_table() -> SearchTable:
        # The database is asked by the first question only: a version is published while it may be away.
        return SearchTable(records, store(), embeds, SupabaseTableIndex(client, _table_fingerprint(settings)).suffix())

    search_tools = SearchTools(_counted_table(search_table, watched))
    used = noted_once_a_day(SupabaseKeyUse(client).note, lambda: datetime.now(UTC).date())
    app = McpApp(
        knowledge_server(tools, __version__),
        ring,
        settings.allowed_origins,
        tools_server=search_tools_server(search_tools, __version__),
        endpoint=records.endpoint,
        used=used,
    )
    # What explains needs what searches: dictionary, embedder, store.
    explain = ExplainApp(
        ExplainKnowledge(search),
        ExplainTool(records, search_table),
        _ring(settings.secret_name, lambda now: now.admin_key_hashes),
        otherwise=app,
        used=used,
    )
    parts = watched.logger, watched.metrics, watched.tracer
    return correlated(observed(held_open(explain, app.run), *parts), watched.work, watched.logger)


def _counted_knowledge(search: "SearchKnowledge", watched: Watch) -> "SearchKnowledge":
    # The same call, counted.
    return cast("SearchKnowledge", counted(search, watched.meter, empty=lambda it: it.no_good_match, name="Searches"))


def _counted_table(search: Callable[[], "SearchTable"], watched: Watch) -> "SearchTable":
    def searched(*args: Any, **kwargs: Any) -> "TableAnswer":
        return search()(*args, **kwargs)

    return cast("SearchTable", counted(searched, watched.meter, empty=lambda it: not it.results, name="TableSearches"))


@unswept
def rest_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that keepers of the library and of projects call."""
    from mangum import Mangum

    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.adapters.supabase_key_use import SupabaseKeyUse
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.entrypoints.http import rest_api
    from sakuin.entrypoints.http_projects import project_routers
    from sakuin.entrypoints.key_use import noted_once_a_day
    from sakuin.entrypoints.lambda_http import observed
    from sakuin.services.library import Library

    settings, watched = Settings.read(environ), watch("Api")
    client = supabase(settings, secrets_named(settings.secret_name), watched)
    library = Library(
        records=SupabaseRecords(client),
        index=SupabaseIndex(client),
        bucket=_bucket(settings),
        queue=_queue(settings.queue_url, watched),
        prefix=settings.material_prefix,
        fingerprint=_fingerprint(settings).id,
        max_page_bytes=settings.max_page_bytes,
        box_selectors=settings.box_selectors,
    )
    ring = _ring(settings.secret_name, lambda now: now.admin_key_hashes)
    routers = project_routers(_project_services(settings, client), ring)
    key_use = SupabaseKeyUse(client)

    def days() -> Mapping[str, str]:
        now = secrets_named(settings.secret_name)
        return key_use.days([*now.knowledge_key_hashes, *now.admin_key_hashes])

    used = noted_once_a_day(key_use.note, lambda: datetime.now(UTC).date())
    mangum = Mangum(rest_api(library, ring, __version__, *routers, used=used, days=days), lifespan="off")
    parts = watched.logger, watched.metrics, watched.tracer
    return correlated(observed(mangum, *parts), watched.work, watched.logger)


def _project_services(settings: Settings, client: "Client") -> "ProjectServices":
    from sakuin.adapters.eventbridge import EventBridgeBus
    from sakuin.adapters.s3_table_bodies import S3TableBodies
    from sakuin.adapters.supabase_outbox import SupabaseOutbox
    from sakuin.adapters.supabase_projects import SupabaseProjects
    from sakuin.adapters.supabase_tokens import tokens_of
    from sakuin.entrypoints.http_projects import ProjectServices
    from sakuin.services.hear_of_changes import HearOfChanges
    from sakuin.services.keep_endpoints import KeepEndpoints
    from sakuin.services.keep_projects import KeepProjects
    from sakuin.services.keep_tables import KeepTables
    from sakuin.services.keep_tools import KeepTools
    from sakuin.services.send_events import SendEvents

    now = partial(secrets_named, settings.secret_name)
    records = SupabaseProjects(client)
    return ProjectServices(
        projects=KeepProjects(records),
        tables=KeepTables(records, S3TableBodies(_aws("s3"), settings.tables_bucket)),
        tools=KeepTools(records),
        endpoints=KeepEndpoints(records, lambda: now().key_pepper),
        hear=HearOfChanges(records),
        send=SendEvents(SupabaseOutbox(client), EventBridgeBus(_aws("events"), settings.event_bus_name)),
        user_of=tokens_of(settings.supabase_url, now().supabase_jwt_secret).user_of,
        hook_secret=lambda: now().hook_secret,
    )


def table_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that walks Tables."""
    from sakuin.adapters.s3_table_bodies import S3TableBodies
    from sakuin.adapters.supabase_projects import SupabaseProjects
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.entrypoints.sqs_tables import tool_handler
    from sakuin.services.import_body import ImportBody
    from sakuin.services.index_table import IndexTable

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secrets_named(settings.secret_name)
    client = supabase(settings, secrets, observed)
    index = SupabaseTableIndex(client, _table_fingerprint(settings))
    bodies = S3TableBodies(_aws("s3"), settings.tables_bucket)
    store, queues = chunk_store(settings, secrets, observed), _table_queues(settings, observed)
    walk = IndexTable(index, bodies, store, queues, settings.table_cut, index.suffix())
    take = ImportBody(SupabaseProjects(client), bodies)
    postpone = _postpone(_queue(settings.tool_queue_url, observed))
    parts = observed.logger, observed.metrics, observed.tracer
    return tool_handler(walk, take, _fail(index), postpone, *parts, current=observed.work)


def chunk_embedder(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that embeds the chunks of Tables."""
    from sakuin.adapters.supabase_ledger import SupabaseLedger
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.entrypoints.sqs_tables import embed_handler
    from sakuin.services.embed_chunks import EmbedChunks

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secrets_named(settings.secret_name)
    client = supabase(settings, secrets, observed)
    index = SupabaseTableIndex(client, _table_fingerprint(settings))
    embeds = indexing_embedder(settings, secrets, observed, client)
    embed = EmbedChunks(index, chunk_store(settings, secrets, observed), embeds, index.suffix())
    queue = _queue(settings.embed_queue_url, observed)
    return embed_handler(
        embed,
        _fail(index),
        _postpone(queue),
        observed.logger,
        observed.metrics,
        observed.tracer,
        say_waits=SupabaseLedger(client).say_waits,
        send_again=_send_again(queue),
        current=observed.work,
    )


def maintainer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that runs on a schedule."""
    import time

    from sakuin.adapters.eventbridge import EventBridgeBus
    from sakuin.adapters.supabase_outbox import SupabaseOutbox
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.entrypoints.scheduled import schedule_handler
    from sakuin.services.canary import Canary
    from sakuin.services.maintain import Maintain
    from sakuin.services.send_events import SendEvents

    settings, observed = Settings.read(environ), watch("Maintain")
    secrets = secrets_named(settings.secret_name)
    client = supabase(settings, secrets, observed)
    send = SendEvents(SupabaseOutbox(client), EventBridgeBus(_aws("events"), settings.event_bus_name))
    index = SupabaseTableIndex(client, _table_fingerprint(settings))
    store = chunk_store(settings, secrets, observed)
    maintain = Maintain(send, index, _table_queues(settings, observed), store)
    canary = Canary(_bucket(settings), SupabaseRecords(client), settings.material_prefix, time.monotonic, time.sleep)
    parts = observed.logger, observed.metrics, observed.tracer
    return schedule_handler(maintain, canary, *parts, observed.work)


def _table_fingerprint(settings: Settings) -> "TableFingerprint":
    from sakuin.domain.table_index import TableFingerprint

    return TableFingerprint(settings.embedding_model, settings.table_cut)


def _table_queues(settings: Settings, observed: Watch) -> "SqsTableQueues":
    from sakuin.adapters.sqs_tables import SqsTableQueues

    return SqsTableQueues(queues(observed), settings.tool_queue_url, settings.embed_queue_url)


def _postpone(queue: "SqsWorkQueue") -> Callable[[str, int], None]:
    return lambda receipt_handle, seconds: queue.postpone(receipt_handle, seconds=seconds)


def _send_again(queue: "SqsWorkQueue") -> Callable[[str, int], None]:
    return lambda body, seconds: queue.send_again(body, delay_seconds=seconds)


def _fail(index: "SupabaseTableIndex") -> Callable[[str, str], None]:
    def fail(table_id: str, message: str) -> None:
        work = index.work(table_id)
        if work is not None:
            index.failed(table_id, work.generation, message)

    return fail


def _aws(service: str) -> Any:
    from sakuin.adapters.aws import client

    return client(service)


def _fingerprint(settings: Settings) -> Fingerprint:
    return Fingerprint(settings.embedding_model, RECIPE, ANALYZER)


def _bucket(settings: Settings) -> "S3Bucket":
    from sakuin.adapters.s3 import S3Bucket

    return S3Bucket(_aws("s3"), settings.bucket)


def _queue(queue_url: str, observed: Watch) -> "SqsWorkQueue":
    from sakuin.adapters.sqs import SqsWorkQueue

    return SqsWorkQueue(queues(observed), queue_url)


def _ring(secret_name: str, hashes: Callable[[Secrets], Iterable[str]]) -> KeyRing:
    """The keys as the secret has them now: it is asked again from time to time."""
    now = partial(secrets_named, secret_name)
    return lambda: (hashes(now()), now().key_pepper)
