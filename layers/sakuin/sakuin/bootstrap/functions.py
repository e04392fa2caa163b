"""The functions of the template.

Each carries only the layers it needs and pays for each import at its cold start: what not all of them need is
imported where it is used.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from sakuin import __version__
from sakuin.adapters.secrets_manager import secrets_named
from sakuin.adapters.supabase_client import connected
from sakuin.domain.recipe import ANALYZER, RECIPE, Fingerprint
from sakuin.entrypoints.authorization import KeyRing
from sakuin.settings import Secrets, Settings, configured

if TYPE_CHECKING:
    from openai import OpenAI
    from supabase import Client

    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.sqs import SqsWorkQueue
    from sakuin.adapters.sqs_tables import SqsTableQueues
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.adapters.turbopuffer import TurbopufferChunkStore
    from sakuin.domain.table_index import TableFingerprint
    from sakuin.entrypoints.http_projects import ProjectServices

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

_OPENAI_SECONDS = 30.0
_OPENAI_RETRIES = 4


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that follows the bucket."""
    from aws_lambda_powertools import Logger, Metrics, Tracer

    from sakuin.adapters.openai_embeddings import OpenAIEmbedder
    from sakuin.adapters.openai_learns import OpenAILearnsModel
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.entrypoints.sqs_materials import material_handler
    from sakuin.services.apply_page import ApplyPage
    from sakuin.services.follow_bucket import FollowBucket
    from sakuin.services.learns_sources import LearnsSources

    settings = Settings.read(environ)
    secrets = secrets_named(settings.secret_name)
    openai = _openai(settings, secrets)
    bucket, queue = _bucket(settings), _queue(settings)
    index = SupabaseIndex(connected(settings.supabase_url, secrets.supabase_service_key))
    model = OpenAILearnsModel(openai, settings.learns_model) if settings.learns_model else None
    apply_page = ApplyPage(
        bucket=bucket,
        index=index,
        embedder=OpenAIEmbedder(openai, settings.embedding_model),
        learns=LearnsSources(bucket, index, model, settings.material_prefix),
        fingerprint=_fingerprint(settings),
        max_page_bytes=settings.max_page_bytes,
    )
    follow = FollowBucket(bucket, index, queue, apply_page, settings.material_prefix)

    def postpone(receipt_handle: str, seconds: int) -> None:
        queue.postpone(receipt_handle, seconds=seconds)

    return material_handler(follow, postpone, Logger(), Metrics(namespace="Sakuin"), Tracer())


def mcp_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that agents call."""
    from aws_lambda_powertools import Logger, Metrics, Tracer

    from sakuin.adapters.openai_embeddings import OpenAIEmbedder
    from sakuin.adapters.supabase_lexicon import SupabaseLexicon
    from sakuin.adapters.supabase_search import SupabaseSearch
    from sakuin.adapters.supabase_tables import SupabaseTableIndex, SupabaseToolSearch
    from sakuin.domain.similarity import calibration_of
    from sakuin.entrypoints.http_explain import ExplainApp
    from sakuin.entrypoints.lambda_http import held_open, observed
    from sakuin.entrypoints.mcp_http import McpApp, knowledge_server, search_tools_server
    from sakuin.entrypoints.mcp_search_tools import SearchTools
    from sakuin.entrypoints.mcp_tools import KnowledgeTools
    from sakuin.services.explain import ExplainKnowledge, ExplainTool
    from sakuin.services.read_knowledge import ReadKnowledge
    from sakuin.services.search_knowledge import SearchKnowledge
    from sakuin.services.search_table import SearchTable

    settings = Settings.read(environ)
    secrets = secrets_named(settings.secret_name)
    client = connected(settings.supabase_url, secrets.supabase_service_key)
    index = SupabaseSearch(client, calibration_of(settings.embedding_model.name))
    embedder = OpenAIEmbedder(_openai(settings, secrets), settings.embedding_model)
    tools = KnowledgeTools(
        search=SearchKnowledge(index, SupabaseLexicon(client), embedder, _fingerprint(settings), settings.base_url),
        read=ReadKnowledge(index, settings.base_url),
    )
    ring = _ring(settings.secret_name, lambda now: now.knowledge_key_hashes)
    records = SupabaseToolSearch(client, _table_fingerprint(settings).id)
    suffix = SupabaseTableIndex(client, _table_fingerprint(settings)).suffix()
    search_table = SearchTable(records, _store(settings, secrets), embedder, suffix)
    app = McpApp(
        knowledge_server(tools, __version__),
        ring,
        settings.allowed_origins,
        tools_server=search_tools_server(SearchTools(search_table), __version__),
        endpoint=records.endpoint,
    )
    # What explains needs what searches: dictionary, embedder, store.
    explain = ExplainApp(
        ExplainKnowledge(tools.search),
        ExplainTool(records, search_table),
        _ring(settings.secret_name, lambda now: now.admin_key_hashes),
        otherwise=app,
    )
    return observed(held_open(explain, app.run), Logger(), Metrics(namespace="Sakuin"), Tracer())


def rest_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that keepers of the library and of projects call."""
    from aws_lambda_powertools import Logger, Metrics, Tracer
    from mangum import Mangum

    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.entrypoints.http import rest_api
    from sakuin.entrypoints.http_projects import project_routers
    from sakuin.entrypoints.lambda_http import observed
    from sakuin.services.library import Library

    settings = Settings.read(environ)
    client = connected(settings.supabase_url, secrets_named(settings.secret_name).supabase_service_key)
    library = Library(
        records=SupabaseRecords(client),
        index=SupabaseIndex(client),
        bucket=_bucket(settings),
        queue=_queue(settings),
        prefix=settings.material_prefix,
        fingerprint=_fingerprint(settings).id,
        max_page_bytes=settings.max_page_bytes,
        box_selectors=settings.box_selectors,
    )
    ring = _ring(settings.secret_name, lambda now: now.admin_key_hashes)
    routers = project_routers(_project_services(settings, client), ring)
    mangum = Mangum(rest_api(library, ring, __version__, *routers), lifespan="off")
    return observed(mangum, Logger(), Metrics(namespace="Sakuin"), Tracer())


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
    from aws_lambda_powertools import Logger, Metrics, Tracer

    from sakuin.adapters.s3_table_bodies import S3TableBodies
    from sakuin.adapters.supabase_projects import SupabaseProjects
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.entrypoints.sqs_tables import tool_handler
    from sakuin.services.import_body import ImportBody
    from sakuin.services.index_table import IndexTable

    settings = Settings.read(environ)
    secrets = secrets_named(settings.secret_name)
    client = connected(settings.supabase_url, secrets.supabase_service_key)
    index = SupabaseTableIndex(client, _table_fingerprint(settings))
    bodies = S3TableBodies(_aws("s3"), settings.tables_bucket)
    walk = IndexTable(
        index, bodies, _store(settings, secrets), _table_queues(settings), settings.table_cut, index.suffix()
    )
    take = ImportBody(SupabaseProjects(client), bodies)
    postpone = _postpone(settings.tool_queue_url)
    return tool_handler(walk, take, _fail(index), postpone, Logger(), Metrics(namespace="Sakuin"), Tracer())


def chunk_embedder(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that embeds the chunks of Tables."""
    from aws_lambda_powertools import Logger, Metrics, Tracer

    from sakuin.adapters.openai_embeddings import OpenAIEmbedder
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.entrypoints.sqs_tables import embed_handler
    from sakuin.services.embed_chunks import EmbedChunks

    settings = Settings.read(environ)
    secrets = secrets_named(settings.secret_name)
    client = connected(settings.supabase_url, secrets.supabase_service_key)
    index = SupabaseTableIndex(client, _table_fingerprint(settings))
    embedder = OpenAIEmbedder(_openai(settings, secrets), settings.embedding_model)
    embed = EmbedChunks(index, _store(settings, secrets), embedder, index.suffix())
    postpone = _postpone(settings.embed_queue_url)
    return embed_handler(embed, _fail(index), postpone, Logger(), Metrics(namespace="Sakuin"), Tracer())


def maintainer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that runs on a schedule."""
    from dataclasses import asdict

    from aws_lambda_powertools import Logger

    from sakuin.adapters.eventbridge import EventBridgeBus
    from sakuin.adapters.supabase_outbox import SupabaseOutbox
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.services.maintain import Maintain
    from sakuin.services.send_events import SendEvents

    settings = Settings.read(environ)
    secrets = secrets_named(settings.secret_name)
    client = connected(settings.supabase_url, secrets.supabase_service_key)
    send = SendEvents(SupabaseOutbox(client), EventBridgeBus(_aws("events"), settings.event_bus_name))
    index = SupabaseTableIndex(client, _table_fingerprint(settings))
    maintain = Maintain(send, index, _table_queues(settings), _store(settings, secrets))
    logger = Logger()

    def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
        done = asdict(maintain())
        logger.info("maintained", **done)
        return done

    return handler


def _table_fingerprint(settings: Settings) -> "TableFingerprint":
    from sakuin.domain.table_index import TableFingerprint

    return TableFingerprint(settings.embedding_model, settings.table_cut)


def _store(settings: Settings, secrets: Secrets) -> "TurbopufferChunkStore":
    from sakuin.adapters.turbopuffer import TurbopufferChunkStore
    from sakuin.adapters.turbopuffer_client import connected as store_connected

    url = configured(settings.turbopuffer_base_url, "TURBOPUFFER_BASE_URL", "https://gcp-us-central1.turbopuffer.com")
    return TurbopufferChunkStore(store_connected(url, secrets.turbopuffer_api_key))


def _table_queues(settings: Settings) -> "SqsTableQueues":
    from sakuin.adapters.sqs_tables import SqsTableQueues

    return SqsTableQueues(_aws("sqs"), settings.tool_queue_url, settings.embed_queue_url)


def _postpone(queue_url: str) -> Callable[[str, int], None]:
    from sakuin.adapters.sqs import SqsWorkQueue

    queue = SqsWorkQueue(_aws("sqs"), queue_url)
    return lambda receipt_handle, seconds: queue.postpone(receipt_handle, seconds=seconds)


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


def _openai(settings: Settings, secrets: Secrets) -> "OpenAI":
    from openai import OpenAI

    return OpenAI(
        api_key=secrets.openai_api_key,
        base_url=settings.openai_base_url,
        timeout=_OPENAI_SECONDS,
        max_retries=_OPENAI_RETRIES,
    )


def _bucket(settings: Settings) -> "S3Bucket":
    from sakuin.adapters.s3 import S3Bucket

    return S3Bucket(_aws("s3"), settings.bucket)


def _queue(settings: Settings) -> "SqsWorkQueue":
    from sakuin.adapters.sqs import SqsWorkQueue

    return SqsWorkQueue(_aws("sqs"), settings.queue_url)


def _ring(secret_name: str, hashes: Callable[[Secrets], Iterable[str]]) -> KeyRing:
    """The keys as the secret has them now: it is asked again from time to time."""
    now = partial(secrets_named, secret_name)
    return lambda: (hashes(now()), now().key_pepper)
