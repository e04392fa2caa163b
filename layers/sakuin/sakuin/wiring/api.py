"""The function `api`: the REST API of the library and of projects."""

from collections.abc import Mapping
from functools import partial

from mangum import Mangum

from sakuin import __version__
from sakuin.console.gaps import Gaps, Places
from sakuin.console.sessions import Sessions
from sakuin.console.supabase_auth import SupabaseAuth
from sakuin.errors import Misconfigured
from sakuin.explain.ask_mcp import AskMcp
from sakuin.http.app import explain_router, rest_api, sign_in_router
from sakuin.http.index_versions import index_router, vector_router
from sakuin.http.keys import console_router, keys_router
from sakuin.http.projects import ProjectServices, project_routers
from sakuin.http.unfinished_work import WorkOfMaterials, queue_router, work_router
from sakuin.http.upkeep import doctor_router, gap_router, reconcile_router
from sakuin.knowledge.library import Library
from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords
from sakuin.platform.asgi import Application, at_first_request
from sakuin.platform.aws import Handler
from sakuin.platform.keys import (
    RECORD_SECONDS,
    DeploymentKey,
    KeyUse,
    LibraryKey,
    LibraryKeys,
    StoredKeys,
    record_once_a_day,
)
from sakuin.platform.secrets import KeyRing, NamedSecret
from sakuin.platform.supabase.schema import SchemaCheck
from sakuin.platform.supabase.tokens import tokens_of
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.tables.admin.eventbridge import Outbox
from sakuin.tables.admin.postgres import ProjectRecords, count_request
from sakuin.tables.admin.tables import TableAdmin
from sakuin.upkeep.doctor import Doctor
from sakuin.upkeep.index_versions import IndexVersionAdmin, IndexVersions, LiveVectors
from sakuin.upkeep.queues import DeadLetters, Queues
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions, WatchedGaps
from sakuin.wiring.clients import Clients, sign_in_of
from sakuin.wiring.handlers import http_handler
from sakuin.wiring.index_versions import kept_or_own, own_index, reconciling

# API Gateway ends a request after 30 seconds; there are four calls of vendors.
_CHECK_SECONDS = 5.0
# Monitors expect an answer of `/healthz` at once.
_SCHEMA_SECONDS = 2.0


def handler(clients: Clients) -> Handler:
    settings, client = clients.settings, clients.supabase
    own, secret = own_index(settings), clients.secret(with_all=True)
    # A secret of users that is wrong ends the start, as one of the functions does.
    secret.now()
    library = library_of(clients)
    ring = KeyRing(secret, lambda now: now.admin_key_hashes)
    unfinished = UnfinishedWorkStore(client)
    work_of = WorkOfMaterials(unfinished, settings.material_prefix)
    queues = Queues(DeadLetters(clients.dead_letters(), unfinished), unfinished)
    kept = kept_or_own(clients)
    reconcile = reconciling(clients, kept)
    live_vectors = LiveVectors(library.index, kept, partial(clients.indexing_embedder, at_once=True))
    checks = doctor(clients, secret)
    services = project_services(clients, secret)
    ask = AskMcp(clients.mcp_function())
    gaps = gaps_in(clients, services.records, ask)
    key_use, stored_keys = KeyUse(client), StoredKeys(LibraryKeys(client).all)
    library_keys = LibraryKeys(client, stored_keys.forget)

    def push_key(headers: Mapping[str, str]) -> LibraryKey | None:
        if (key := stored_keys.matching(headers, "push")) is not None:
            record_use(key.key_hash)
            count_request(client, key.key_hash)
        return key

    def deployment_keys() -> list[DeploymentKey]:
        now, stored = secret.now(), library_keys.all()
        hashes = [*now.knowledge_key_hashes, *now.admin_key_hashes, *(key.key_hash for key in stored)]
        used = key_use.days(hashes)
        return [
            *(DeploymentKey("knowledge", each, used.get(each)) for each in now.knowledge_key_hashes),
            *(key.shown(used.get(key.key_hash)) for key in stored),
            *(DeploymentKey("admin", each, used.get(each)) for each in now.admin_key_hashes),
        ]

    admin_routers = (
        work_router(unfinished, work_of),
        queue_router(queues),
        reconcile_router(reconcile),
        index_router(IndexVersionAdmin(IndexVersions(client), own)),
        doctor_router(checks, __version__),
        gap_router(gaps.all, gaps.remedy, gaps.is_recorded, gaps.feedback),
        explain_router(ask.explanation),
        keys_router(deployment_keys, library_keys),
    )
    auth = SupabaseAuth(
        settings.supabase_url,
        lambda: secret.now().supabase_publishable_key,
        clients.http(_CHECK_SECONDS),
        secret_key=lambda: secret.now().supabase_service_key,
    )
    sessions = Sessions(client, ring, auth.refresh)
    record_use = record_once_a_day(KeyUse(clients.short_supabase(RECORD_SECONDS)).record)

    def console() -> Application:
        """Builds the console at its first request: the REST API needs none of its modules."""
        from sakuin.wiring.console import console

        keys = deployment_keys, library_keys
        return console(clients, library, queues, services, ask, gaps, sessions, auth, keys, record_use)

    rest = rest_api(
        library,
        ring,
        __version__,
        *project_routers(services, ring, lambda headers: stored_keys.matching(headers, "read"), record_use),
        console_router(sessions.make_link, ring),
        open_routers=(sign_in_router(sign_in_of(settings, secret)),),
        admin_routers=admin_routers,
        record_use=record_use,
        push_routers=(vector_router(live_vectors),),
        push_key=push_key,
        work_of=work_of,
        longest_body=settings.limits.api_request_bytes,
        console=at_first_request(console),
        schema=SchemaCheck(clients.short_supabase(_SCHEMA_SECONDS)),
    )
    return http_handler(Mangum(rest, lifespan="off"), clients.telemetry)


def library_of(clients: Clients) -> Library:
    """Returns the pages and uploads of the deployment."""
    settings, client = clients.settings, clients.supabase
    return Library(
        records=MaterialRecords(client),
        index=KnowledgeIndex(client),
        bucket=clients.material_bucket(),
        queue=clients.material_queue(),
        prefix=settings.material_prefix,
        max_page_bytes=settings.limits.page_bytes,
        box_selectors=settings.box_selectors,
        most_explanations=settings.limits.page_explanations,
    )


def doctor(clients: Clients, secret: NamedSecret) -> Doctor:
    """Returns the checks of the deployment from inside."""
    settings = clients.settings
    return Doctor(
        clients.supabase,
        secret.now,
        clients.http(_CHECK_SECONDS),
        settings.supabase_url,
        settings.openai_base_url,
        settings.turbopuffer_base_url,
        models=tuple(filter(None, (settings.embedding_model.name, settings.learns_model))),
        dimensions=settings.embedding_model.dimensions,
        database_bytes=settings.limits.database_bytes,
        lacks_base_url=settings.chatgpt_tools and not settings.offers_chatgpt_tools,
    )


def gaps_in(clients: Clients, records: ProjectRecords, ask: AskMcp) -> Gaps:
    """Returns the gaps of the library and of Tools."""
    client, recorded = clients.supabase, clients.settings.record_refused_questions
    asked, said = RefusedQuestions(client).most_frequent, Feedback(client).counts
    watched = None if clients.settings.webhooks == "off" else WatchedGaps(client)
    return Gaps(Places(records), asked, ask.playground, recorded, said, watched)


def project_services(clients: Clients, secret: NamedSecret) -> ProjectServices:
    """Returns the use cases of projects."""
    settings, client, now = clients.settings, clients.supabase, secret.now
    records = ProjectRecords(client)
    tokens = tokens_of(settings.supabase_url, lambda: now().jwt_secrets, client)

    def user_of(token: str) -> str:
        if not now().supabase_publishable_key:
            raise Misconfigured("To accept users, add supabase_publishable_key to the functions' secret")
        return tokens.user_of(token)

    return ProjectServices(
        records=records,
        tables=TableAdmin(records, clients.tables_bucket(), settings.limits),
        publish=Outbox(client, clients.event_bus()).publish,
        user_of=user_of,
    )
