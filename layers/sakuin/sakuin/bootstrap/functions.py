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
from sakuin.settings import Secrets, Settings

if TYPE_CHECKING:
    from openai import OpenAI

    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.sqs import SqsWorkQueue

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

_OPENAI_SECONDS = 20.0
_OPENAI_RETRIES = 4


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that follows the bucket."""
    from aws_lambda_powertools import Logger, Metrics, Tracer

    from sakuin.adapters.openai_embeddings import OpenAIEmbedder
    from sakuin.adapters.openai_learns import OpenAILearnsModel
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.entrypoints.sqs import material_handler
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
    from sakuin.adapters.supabase_search import SupabaseSearch
    from sakuin.domain.similarity import calibration_of
    from sakuin.entrypoints.lambda_http import held_open, observed
    from sakuin.entrypoints.mcp_http import McpApp, knowledge_server
    from sakuin.entrypoints.mcp_tools import KnowledgeTools
    from sakuin.services.read_knowledge import ReadKnowledge
    from sakuin.services.search_knowledge import SearchKnowledge

    settings = Settings.read(environ)
    secrets = secrets_named(settings.secret_name)
    client = connected(settings.supabase_url, secrets.supabase_service_key)
    index = SupabaseSearch(client, calibration_of(settings.embedding_model.name))
    embedder = OpenAIEmbedder(_openai(settings, secrets), settings.embedding_model)
    tools = KnowledgeTools(
        search=SearchKnowledge(index, embedder, _fingerprint(settings), settings.base_url),
        read=ReadKnowledge(index, settings.base_url),
    )
    ring = _ring(settings.secret_name, lambda now: now.knowledge_key_hashes)
    app = McpApp(knowledge_server(tools, __version__), ring, settings.allowed_origins)
    return observed(held_open(app, app.sessions.run), Logger(), Metrics(namespace="Sakuin"), Tracer())


def rest_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that keepers of the library call."""
    from aws_lambda_powertools import Logger, Metrics, Tracer
    from mangum import Mangum

    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.entrypoints.http import rest_api
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
    mangum = Mangum(rest_api(library, ring, __version__), lifespan="off")
    return observed(mangum, Logger(), Metrics(namespace="Sakuin"), Tracer())


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
    from sakuin.adapters.aws import client
    from sakuin.adapters.s3 import S3Bucket

    return S3Bucket(client("s3"), settings.bucket)


def _queue(settings: Settings) -> "SqsWorkQueue":
    from sakuin.adapters.aws import client
    from sakuin.adapters.sqs import SqsWorkQueue

    return SqsWorkQueue(client("sqs"), settings.queue_url)


def _ring(secret_name: str, hashes: Callable[[Secrets], Iterable[str]]) -> KeyRing:
    """The keys as the secret has them now: it is asked again from time to time."""
    now = partial(secrets_named, secret_name)
    return lambda: (hashes(now()), now().key_pepper)
