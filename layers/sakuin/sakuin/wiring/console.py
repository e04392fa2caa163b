"""The console of the function `api`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sakuin import __version__
from sakuin.console.app import console_app
from sakuin.console.attention import project_counts
from sakuin.console.gaps import Gaps, Places
from sakuin.console.pages import agents, library, operation, playground, projects, sign_in
from sakuin.console.pages import gaps as gap_pages
from sakuin.console.pages import keys as key_pages
from sakuin.console.pages.library import LibraryPages
from sakuin.console.pages.operation import Operation
from sakuin.console.pages.playground import Playground
from sakuin.console.sessions import Sessions
from sakuin.console.shell import Shell
from sakuin.console.supabase_auth import SupabaseAuth
from sakuin.explain.ask_mcp import AskMcp
from sakuin.http.projects import ProjectServices
from sakuin.knowledge.library import Library
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.platform.asgi import Application
from sakuin.platform.keys import DeploymentKey, LibraryKeys, RecordUse
from sakuin.platform.openai.models import model_facts
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.upkeep.daily_counts import DailyCountRecords
from sakuin.upkeep.doctor import DatabaseSize
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.queues import Queues
from sakuin.upkeep.reconcile import ReconciliationRuns
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import recent

# So old may the numbers in the menu be.
_COUNT_SECONDS = 10.0


def console(
    clients: Clients,
    pages: Library,
    queues: Queues,
    services: ProjectServices,
    ask: AskMcp,
    gaps: Gaps,
    sessions: Sessions,
    auth: SupabaseAuth,
    keys: tuple[Callable[[], Sequence[DeploymentKey]], LibraryKeys],
    record_use: RecordUse,
) -> Application:
    """Returns the application. `keys` are all valid keys, and those that the console makes."""
    settings = clients.settings
    counts = recent(lambda: menu_counts(pages, queues.unfinished), seconds=_COUNT_SECONDS, clock=clients.clock)
    shell = Shell(sessions, __version__, settings.api_url, counts=counts)
    read = ReadKnowledge(clients.supabase, settings.base_url)
    return console_app(
        shell,
        sign_in.routes(shell, record_use, auth),
        operation.routes(shell, operation_of(clients, pages, queues)),
        playground.routes(shell, searching(clients, services.records, ask)),
        library.routes(shell, LibraryPages(pages, read, partial(clients.learns_model, at_once=True))),
        gap_pages.routes(shell, gaps),
        projects.routes(shell, services),
        key_pages.routes(shell, *keys),
        agents.routes(shell, auth),
    )


def menu_counts(library: Library, unfinished: UnfinishedWorkStore) -> Mapping[str, int]:
    """Returns the numbers in the menu of an admin."""
    findings = sum(each.findings for each in library.records.finding_counts() if each.severity != "info")
    return {"/work": unfinished.counts().total, "/findings": findings}


def searching(clients: Clients, records: ProjectRecords, ask: AskMcp) -> Playground:
    """Returns the searches of the console's playground."""
    read = ReadKnowledge(clients.supabase, clients.settings.base_url)
    places = Places(records, clients.settings.library_for_users)
    versions = IndexVersions(clients.supabase)

    def other_versions() -> list[str]:
        return [each.settings.id for each in versions.all() if not each.live]

    return Playground(places, ask.playground, read.filter_values, ask.explanation, other_versions)


def operation_of(clients: Clients, library: Library, queues: Queues) -> Operation:
    """Returns what the console's pages of operation read and change."""
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
