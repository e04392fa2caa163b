"""The function `api`: the REST API of the library and of projects."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from sakuin import __version__
from sakuin.errors import Misconfigured
from sakuin.platform.aws import Handler
from sakuin.platform.secrets import KeyRing, NamedSecret
from sakuin.wiring.clients import Clients, sign_in_of
from sakuin.wiring.handlers import http_handler
from sakuin.wiring.index_versions import kept_or_own, own_index, recent, reconciling

if TYPE_CHECKING:
    from sakuin.console.gaps import Gaps
    from sakuin.console.pages.operation import Operation
    from sakuin.console.pages.playground import Playground
    from sakuin.explain.ask_mcp import AskMcp
    from sakuin.http.projects import ProjectServices
    from sakuin.knowledge.library import Library
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.upkeep.doctor import Doctor
    from sakuin.upkeep.queues import Queues

# API Gateway ends a request after 30 seconds; there are four calls of vendors.
_CHECK_SECONDS = 5.0
# Monitors expect an answer of `/healthz` at once.
_SCHEMA_SECONDS = 2.0
# So old may the numbers in the console's menu be.
_COUNT_SECONDS = 10.0


def handler(clients: Clients) -> Handler:
    """Returns the handler of the function."""
    from mangum import Mangum

    from sakuin.console.sessions import Sessions
    from sakuin.console.supabase_auth import SupabaseAuth
    from sakuin.explain.ask_mcp import AskMcp
    from sakuin.http.app import explain_router, rest_api, sign_in_router
    from sakuin.http.index_versions import index_router, vector_router
    from sakuin.http.keys import console_router, keys_router
    from sakuin.http.projects import project_routers
    from sakuin.http.unfinished_work import WorkOfMaterials, queue_router, work_router
    from sakuin.http.upkeep import doctor_router, gap_router, reconcile_router
    from sakuin.knowledge.postgres_search import ReadKnowledge
    from sakuin.platform.asgi import Application, at_first_request
    from sakuin.platform.keys import (
        RECORD_SECONDS,
        DeploymentKey,
        KeyUse,
        LibraryKey,
        LibraryKeys,
        StoredKeys,
        record_once_a_day,
    )
    from sakuin.platform.supabase.schema import SchemaCheck
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.tables.admin.postgres import count_request
    from sakuin.upkeep.dead_letters import DeadLetters
    from sakuin.upkeep.index_versions import IndexVersionAdmin, IndexVersions, LiveVectors
    from sakuin.upkeep.queues import Queues

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
        from sakuin.console.app import console_app
        from sakuin.console.pages import agents, keys, operation, playground, projects, sign_in
        from sakuin.console.pages import gaps as gap_pages
        from sakuin.console.pages import library as library_pages
        from sakuin.console.shell import Shell

        counts = recent(lambda: menu_counts(library, unfinished), seconds=_COUNT_SECONDS, clock=clients.clock)
        learns_model = partial(clients.learns_model, at_once=True)
        pages = library_pages.LibraryPages(library, ReadKnowledge(client, settings.base_url), learns_model)
        shell = Shell(sessions, __version__, settings.api_url, counts=counts)
        searches = searching(clients, services.records, ask)
        return console_app(
            shell,
            sign_in.routes(shell, record_use, auth),
            operation.routes(shell, operation_of(clients, library, queues)),
            playground.routes(shell, searches),
            library_pages.routes(shell, pages),
            gap_pages.routes(shell, gaps),
            projects.routes(shell, services),
            keys.routes(shell, deployment_keys, library_keys),
            agents.routes(shell, auth),
        )

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


def menu_counts(library: "Library", unfinished: "UnfinishedWorkStore") -> Mapping[str, int]:
    """Returns the numbers in the menu of an admin."""
    findings = sum(each.findings for each in library.records.finding_counts() if each.severity != "info")
    return {"/work": unfinished.counts().total, "/findings": findings}


def library_of(clients: Clients) -> "Library":
    """Returns the pages and uploads of the deployment."""
    from sakuin.knowledge.library import Library
    from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords

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


def doctor(clients: Clients, secret: NamedSecret) -> "Doctor":
    """Returns the checks of the deployment from inside."""
    from sakuin.upkeep.doctor import Doctor

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


def searching(clients: Clients, records: "ProjectRecords", ask: "AskMcp") -> "Playground":
    """Returns the searches of the console's playground."""
    from sakuin.console.gaps import Places
    from sakuin.console.pages.playground import Playground
    from sakuin.knowledge.postgres_search import ReadKnowledge
    from sakuin.upkeep.index_versions import IndexVersions

    read = ReadKnowledge(clients.supabase, clients.settings.base_url)
    places = Places(records, clients.settings.library_for_users)
    versions = IndexVersions(clients.supabase)

    def other_versions() -> list[str]:
        return [each.settings.id for each in versions.all() if not each.live]

    return Playground(places, ask.playground, read.filter_values, ask.explanation, other_versions)


def operation_of(clients: Clients, library: "Library", queues: "Queues") -> "Operation":
    """Returns what the console's pages of operation read and change."""
    from sakuin.console.pages.operation import Operation
    from sakuin.platform.openai.models import model_facts
    from sakuin.upkeep.counts import DatabaseSize, project_counts
    from sakuin.upkeep.daily_counts import DailyCountRecords
    from sakuin.upkeep.index_versions import IndexVersions
    from sakuin.upkeep.reconcile import ReconciliationRuns

    client, settings = clients.supabase, clients.settings
    embedding, learns = model_facts(settings.embedding_model.name), model_facts(settings.learns_model)
    return Operation(
        library=library,
        unfinished=queues.unfinished,
        queues=queues,
        runs=ReconciliationRuns(client),
        indexes=IndexVersions(client),
        counts=partial(project_counts, client),
        database_percent=DatabaseSize(client, settings.limits.database_bytes).percent,
        usage=DailyCountRecords(client).usage,
        # What learns read and wrote is one number: as if all of it was written.
        usd_per_million=(embedding.usd_read, learns.usd_written),
    )


def gaps_in(clients: Clients, records: "ProjectRecords", ask: "AskMcp") -> "Gaps":
    """Returns the gaps of the library and of Tools."""
    from sakuin.console.gaps import Gaps, Places
    from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions, WatchedGaps

    client, recorded = clients.supabase, clients.settings.record_refused_questions
    asked, said = RefusedQuestions(client).most_frequent, Feedback(client).counts
    watched = None if clients.settings.webhooks == "off" else WatchedGaps(client)
    return Gaps(Places(records), asked, ask.playground, recorded, said, watched)


def project_services(clients: Clients, secret: NamedSecret) -> "ProjectServices":
    """Returns the use cases of projects."""
    from sakuin.http.projects import ProjectServices
    from sakuin.platform.supabase.tokens import tokens_of
    from sakuin.tables.admin.eventbridge import Outbox
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.tables.admin.tables import TableAdmin

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
