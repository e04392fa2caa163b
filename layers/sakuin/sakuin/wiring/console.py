"""The console of the function `api`."""

from collections.abc import Mapping

from sakuin.console.app import console_app
from sakuin.console.sessions import Sessions
from sakuin.console.shell import Shell
from sakuin.http.access import RestServices
from sakuin.knowledge.library import Library
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.platform.asgi import Application
from sakuin.platform.openai.models import model_facts
from sakuin.platform.supabase.auth import SupabaseAuth
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import recent

# So old may the numbers in the menu be.
_COUNT_SECONDS = 10.0


def console(clients: Clients, rest: RestServices, sessions: Sessions, auth: SupabaseAuth) -> Application:
    return console_app(shell_of(clients, rest, sessions, auth))


def shell_of(clients: Clients, rest: RestServices, sessions: Sessions, auth: SupabaseAuth) -> Shell:
    """Returns what the pages use."""
    settings = clients.settings
    embedding, learns = model_facts(settings.embedding_model.name), model_facts(settings.learns_model)
    return Shell(
        rest=rest,
        sessions=sessions,
        auth=auth,
        read=ReadKnowledge(clients.supabase, settings.base_url),
        api_url=settings.api_url,
        counts=recent(lambda: menu_counts(rest.library), seconds=_COUNT_SECONDS, clock=clients.clock),
        most_bytes=settings.limits.database_bytes,
        # What learns read and wrote is one number: as if all of it was written.
        usd_per_million=(embedding.usd_read, learns.usd_written),
    )


def menu_counts(library: Library) -> Mapping[str, int]:
    """Returns the numbers in the menu of an admin."""
    findings = sum(count.findings for count in library.records.finding_counts() if count.severity != "info")
    return {"/findings": findings}
