"""The function `api`: the REST API of the library and of projects."""

from functools import partial

from fastapi import FastAPI
from mangum import Mangum

from sakuin import __version__
from sakuin.console.sessions import Sessions
from sakuin.errors import Misconfigured
from sakuin.explain.ask_mcp import AskMcp
from sakuin.http.access import ProjectServices, RestServices
from sakuin.http.app import rest_api
from sakuin.http.gaps import Gaps, Places
from sakuin.knowledge.library import Library
from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords
from sakuin.platform.asgi import Application, AtFirstRequest
from sakuin.platform.aws import Handler
from sakuin.platform.keys import RECORD_SECONDS, DeploymentKey, KeyUse, LibraryKeys, StoredKeys, record_once_a_day
from sakuin.platform.secrets import KeyRing, NamedSecret
from sakuin.platform.supabase.auth import SupabaseAuth
from sakuin.platform.supabase.client import session
from sakuin.platform.supabase.schema import HealthCheck
from sakuin.platform.supabase.tokens import tokens_of
from sakuin.tables.admin.outbox import Outbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.upkeep.doctor import Doctor
from sakuin.upkeep.erase import EraseRecords
from sakuin.upkeep.index_versions import IndexVersionAdmin, IndexVersions, LiveVectors
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions
from sakuin.wiring.clients import Clients, sign_in_of
from sakuin.wiring.handlers import http_handler
from sakuin.wiring.index_versions import kept_versions, own_index, reconciling

# API Gateway ends a request after 30 seconds; there are four calls of vendors.
_CHECK_SECONDS = 5.0
# Monitors expect an answer of `/healthz` at once.
_HEALTH_SECONDS = 2.0


def handler(clients: Clients) -> Handler:
    return http_handler(Mangum(application(clients), lifespan="off"), clients.telemetry)


def application(clients: Clients) -> FastAPI:
    """Returns the REST API, with the console."""
    secret = clients.secret(with_all=True)
    # A secret of users that is wrong ends the start, as one of the functions does.
    secret.now()
    auth = auth_of(clients, secret)
    sessions = sessions_of(clients, secret, auth)
    services = rest_services(clients, secret, sessions)

    def console() -> Application:
        """Builds the console at its first request: the REST API needs none of its modules."""
        from sakuin.wiring.console import console

        return console(clients, services, sessions, auth)

    return rest_api(services, longest_body=clients.settings.limits.api_request_bytes, console=AtFirstRequest(console))


def auth_of(clients: Clients, secret: NamedSecret) -> SupabaseAuth:
    """Returns Supabase Auth, where users of the console sign in."""
    return SupabaseAuth(
        clients.settings.supabase_url,
        lambda: secret.now().supabase_publishable_key,
        session(_CHECK_SECONDS),
        secret_key=lambda: secret.now().supabase_service_key,
    )


def sessions_of(clients: Clients, secret: NamedSecret, auth: SupabaseAuth) -> Sessions:
    """Returns the sessions of the console."""
    return Sessions(clients.supabase, KeyRing(secret, lambda now: now.admin_key_hashes), auth.refresh)


def rest_services(clients: Clients, secret: NamedSecret, sessions: Sessions) -> RestServices:
    """Returns the use cases of the routes."""
    settings, client = clients.settings, clients.supabase
    library, kept, queues = library_of(clients), kept_versions(clients), clients.queues()
    projects, ask = project_services(clients, secret), AskMcp(clients.mcp_function())
    key_use, stored_keys = KeyUse(client), StoredKeys(LibraryKeys(client).all)
    library_keys = LibraryKeys(client, stored_keys.forget)

    def deployment_keys() -> list[DeploymentKey]:
        now, stored = secret.now(), library_keys.all()
        hashes = [*now.knowledge_key_hashes, *now.admin_key_hashes, *(key.key_hash for key in stored)]
        days = key_use.days(hashes)
        return [
            *(DeploymentKey("knowledge", key_hash, days.get(key_hash)) for key_hash in now.knowledge_key_hashes),
            *(key.shown(days.get(key.key_hash)) for key in stored),
            *(DeploymentKey("admin", key_hash, days.get(key_hash)) for key_hash in now.admin_key_hashes),
        ]

    return RestServices(
        version=__version__,
        admin_keys=sessions.admin_keys,
        stored_keys=stored_keys,
        library_keys=library_keys,
        deployment_keys=deployment_keys,
        record_use=record_once_a_day(KeyUse(clients.short_supabase(RECORD_SECONDS)).record),
        make_link=sessions.make_link,
        sign_in=sign_in_of(settings, secret),
        health=HealthCheck(clients.short_supabase(_HEALTH_SECONDS)),
        library=library,
        projects=projects,
        explain=ask,
        gaps=Gaps(
            Places(projects.records, settings.library_for_users),
            RefusedQuestions(client).most_frequent,
            ask,
            settings.record_refused_questions,
            Feedback(client).counts,
        ),
        queues=queues,
        doctor=doctor(clients, secret),
        erase=EraseRecords(client, queues, settings.material_prefix, clients.clock),
        reconcile=reconciling(clients, kept),
        index_versions=IndexVersionAdmin(IndexVersions(client), own_index(settings)),
        live_vectors=LiveVectors(library.index, kept, partial(clients.indexing_embedder, at_once=True)),
    )


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
        models=tuple(
            filter(None, (settings.embedding_model.name, "" if settings.learns_base_url else settings.learns_model))
        ),
        dimensions=settings.embedding_model.dimensions,
        query_prefix=settings.embedding_model.query_prefix,
        database_bytes=settings.limits.database_bytes,
        lacks_base_url=settings.chatgpt_tools and not settings.offers_chatgpt_tools,
    )


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
