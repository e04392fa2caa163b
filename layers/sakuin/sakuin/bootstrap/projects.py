"""What keeps projects, their Tables, Tools and endpoints, for the REST function."""

from typing import TYPE_CHECKING

from sakuin.adapters.secrets_manager import NamedSecret
from sakuin.bootstrap.aws import aws
from sakuin.settings import Settings

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.entrypoints.http_projects import ProjectServices


def project_services(settings: Settings, secret: NamedSecret, client: "Client") -> "ProjectServices":
    """What the routes of projects ask."""
    from sakuin.adapters.eventbridge import EventBridgeBus
    from sakuin.adapters.s3_table_bodies import S3TableBodies
    from sakuin.adapters.supabase_members import acting_with
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

    now = secret.now
    acting = acting_with(client, lambda: now().supabase_publishable_key)
    records = SupabaseProjects(client, acting)
    return ProjectServices(
        projects=KeepProjects(records, settings.limits),
        tables=KeepTables(records, S3TableBodies(aws("s3"), settings.tables_bucket), settings.limits),
        tools=KeepTools(records, settings.limits.tools),
        endpoints=KeepEndpoints(records, settings.limits),
        hear=HearOfChanges(records),
        send=SendEvents(SupabaseOutbox(client), EventBridgeBus(aws("events"), settings.event_bus_name)),
        user_of=tokens_of(settings.supabase_url, lambda: now().jwt_secrets).user_of,
        hook_secrets=lambda: now().hook_secrets,
    )
