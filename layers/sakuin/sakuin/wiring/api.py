"""The function `api`: the REST API of the library and of projects."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sakuin import __version__
from sakuin.platform.aws import Handler
from sakuin.platform.aws import client as aws
from sakuin.platform.secrets import KeyRing, NamedSecret
from sakuin.settings import Settings
from sakuin.wiring.clients import Clients, secret_of, sign_in_of, start_telemetry
from sakuin.wiring.handlers import http_handler
from sakuin.wiring.index_versions import own_index
from sakuin.wiring.starting import without_gc

if TYPE_CHECKING:
    from sakuin.console.pages.operation import Operation
    from sakuin.console.pages.playground import Playground
    from sakuin.console.pages.refused import RefusedLog
    from sakuin.console.playground.places import Places
    from sakuin.http.projects import ProjectServices
    from sakuin.knowledge.postgres_records import MaterialRecords
    from sakuin.platform.supabase.client import Client
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.upkeep.doctor import Doctor

# API Gateway ends a request after 30 seconds; there are four calls of vendors.
_CHECK_SECONDS = 5.0


@without_gc
def rest_endpoint(environ: Mapping[str, str]) -> Handler:
    """Returns the handler of the function."""
    import httpx
    from mangum import Mangum

    from sakuin.console.sessions import Sessions
    from sakuin.console.supabase_auth import SupabaseAuth
    from sakuin.http.app import rest_api
    from sakuin.http.console import console_router
    from sakuin.http.doctor import doctor_router
    from sakuin.http.index_versions import index_router
    from sakuin.http.projects import project_routers
    from sakuin.http.reconciliation import reconcile_router
    from sakuin.http.sign_in import sign_in_router
    from sakuin.http.unfinished_work import WorkOfMaterials, work_router
    from sakuin.knowledge.library import Library
    from sakuin.knowledge.postgres import KnowledgeIndex
    from sakuin.knowledge.postgres_records import MaterialRecords
    from sakuin.platform.asgi import Application, at_first_request
    from sakuin.platform.keys import KeyUse, LibraryKeys, record_once_a_day
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.upkeep.index_versions import IndexVersionAdmin, IndexVersions
    from sakuin.wiring.reconciliation import reconciling

    settings, telemetry = Settings.read(environ), start_telemetry("Api")
    secret = secret_of(settings, telemetry, users=settings.users_secret_name)
    clients = Clients(settings, secret.now(), telemetry)
    client, own = clients.supabase, own_index(settings)
    library = Library(
        records=MaterialRecords(client),
        index=KnowledgeIndex(client),
        bucket=clients.material_bucket(),
        queue=clients.material_queue(),
        prefix=settings.material_prefix,
        fingerprint=own.pages.id,
        max_page_bytes=settings.limits.page_bytes,
        box_selectors=settings.box_selectors,
        most_explanations=settings.limits.page_explanations,
    )
    ring = KeyRing(secret, lambda now: now.admin_key_hashes)
    unfinished = UnfinishedWorkStore(client)
    work_of = WorkOfMaterials(unfinished, settings.material_prefix)
    reconcile = reconciling(clients)
    checks = doctor(settings, secret, client)
    admin_routers = (
        work_router(unfinished, work_of),
        reconcile_router(reconcile),
        index_router(IndexVersionAdmin(IndexVersions(client), own)),
        doctor_router(checks, __version__),
    )
    key_use, library_keys = KeyUse(client), LibraryKeys(client)

    def days() -> Mapping[str, str]:
        now = secret.now()
        made = (each.hash for each in library_keys.all())
        return key_use.days([*now.knowledge_key_hashes, *now.admin_key_hashes, *made])

    services = project_services(settings, secret, client)
    auth = SupabaseAuth(
        settings.supabase_url, lambda: secret.now().supabase_publishable_key, httpx.Client(timeout=_CHECK_SECONDS)
    )
    sessions = Sessions(client, ring, auth.refresh)
    record_use = record_once_a_day(key_use.record)

    def console() -> Application:
        """Builds the console at its first request: the REST API needs none of its modules."""
        from sakuin.console.app import console_app
        from sakuin.console.pages import agents, keys, operation, playground, refused, sign_in
        from sakuin.console.pages.projects import project
        from sakuin.console.shell import Shell

        def deployment_keys() -> list[keys.DeploymentKey]:
            now, used = secret.now(), days()
            return [
                *(keys.DeploymentKey("knowledge", each, used.get(each)) for each in now.knowledge_key_hashes),
                *(
                    keys.DeploymentKey("knowledge", each.hash, used.get(each.hash), each.name)
                    for each in library_keys.all()
                ),
                *(keys.DeploymentKey("admin", each, used.get(each)) for each in now.admin_key_hashes),
            ]

        shell = Shell(sessions, __version__)
        searches = searching(settings, client, services.records)
        return console_app(
            shell,
            sign_in.routes(shell, record_use, auth),
            operation.routes(shell, operation_of(settings, client, library.records, unfinished)),
            playground.routes(shell, searches),
            refused.routes(shell, refused_questions(settings, client, searches.places)),
            project.routes(shell, services),
            keys.routes(shell, deployment_keys, library_keys),
            agents.routes(shell, auth),
        )

    rest = rest_api(
        library,
        ring,
        __version__,
        *project_routers(services, ring),
        console_router(sessions.make_link, ring),
        open_routers=(sign_in_router(sign_in_of(settings, secret)),),
        admin_routers=admin_routers,
        record_use=record_use,
        days=days,
        work_of=work_of,
        longest_body=settings.limits.api_request_bytes,
        console=at_first_request(console),
    )
    return http_handler(Mangum(rest, lifespan="off"), telemetry)


def doctor(settings: Settings, secret: NamedSecret, client: "Client") -> "Doctor":
    """Returns the checks of the deployment from inside."""
    import httpx

    from sakuin.upkeep.doctor import Doctor

    return Doctor(
        client,
        secret.now,
        httpx.Client(timeout=_CHECK_SECONDS),
        settings.supabase_url,
        settings.openai_base_url,
        settings.turbopuffer_base_url,
        models=tuple(filter(None, (settings.embedding_model.name, settings.learns_model))),
        dimensions=settings.embedding_model.dimensions,
        lacks_base_url=settings.chatgpt_tools and not settings.offers_chatgpt_tools,
    )


def searching(settings: Settings, client: "Client", records: "ProjectRecords") -> "Playground":
    """Returns the searches of the console's playground."""
    from sakuin.console.pages.playground import Playground
    from sakuin.console.playground.places import Places
    from sakuin.explain.playground import AskPlayground
    from sakuin.knowledge.postgres_search import ReadKnowledge
    from sakuin.platform.aws import LambdaFunction

    read = ReadKnowledge(client, settings.base_url)
    ask = AskPlayground(LambdaFunction(aws("lambda"), settings.mcp_function))
    places = Places(records, settings.library_for_users)
    return Playground(places, ask, read.filter_values)


def operation_of(
    settings: Settings, client: "Client", records: "MaterialRecords", unfinished: "UnfinishedWorkStore"
) -> "Operation":
    """Returns what the console's pages of operation read and change."""
    from functools import partial

    from sakuin.console.pages.operation import Operation
    from sakuin.upkeep.counts import project_counts
    from sakuin.upkeep.index_versions import IndexVersions
    from sakuin.upkeep.reconcile import ReconciliationRuns
    from sakuin.wiring.clients import dead_letters

    return Operation(
        records=records,
        unfinished=unfinished,
        dead_letters=dead_letters(settings),
        runs=ReconciliationRuns(client),
        indexes=IndexVersions(client),
        counts=partial(project_counts, client),
    )


def refused_questions(settings: Settings, client: "Client", places: "Places") -> "RefusedLog":
    """Returns the refused questions of the console."""
    from sakuin.console.pages.refused import RefusedLog
    from sakuin.retrieval.refused_questions import RefusedQuestions

    return RefusedLog(places, RefusedQuestions(client).most_frequent, settings.record_refused_questions)


def project_services(settings: Settings, secret: NamedSecret, client: "Client") -> "ProjectServices":
    """Returns the use cases of projects."""
    from sakuin.http.projects import ProjectServices
    from sakuin.platform.supabase.client import clients_of_users
    from sakuin.platform.supabase.tokens import tokens_of
    from sakuin.tables.admin.documents import S3TableDocuments
    from sakuin.tables.admin.eventbridge import EventBridgeBus
    from sakuin.tables.admin.outbox import Outbox, PublishOutbox
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.tables.admin.tables import TableAdmin

    now = secret.now
    acting = clients_of_users(client, lambda: now().supabase_publishable_key)
    records = ProjectRecords(client, acting)
    return ProjectServices(
        records=records,
        tables=TableAdmin(records, S3TableDocuments(aws("s3"), settings.tables_bucket), settings.limits),
        publish=PublishOutbox(Outbox(client), EventBridgeBus(aws("events"), settings.event_bus_name)),
        user_of=tokens_of(settings.supabase_url, lambda: now().jwt_secrets).user_of,
    )
