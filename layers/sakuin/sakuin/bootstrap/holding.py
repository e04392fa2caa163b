"""How workers hold what they have in hand, and how `maintain` sends again what nobody holds."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sakuin.adapters.supabase_work import SupabaseWork, connected_beside
from sakuin.bootstrap.watching import Watch, renewing
from sakuin.domain.work import About, Taken, WorkQueueName
from sakuin.services.work_in_hand import WorkInHand
from sakuin.settings import Secrets, Settings, configured

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.adapters.sqs_work import SqsWorkQueues
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.ports.tables import TableQueues
    from sakuin.services.restart_tables import RestartTables
    from sakuin.services.send_due_work import SendDueWork


def holding(settings: Settings, secrets: Secrets, watch: Watch) -> Callable[[Sequence[Taken]], WorkInHand]:
    """Has rows say what a worker has in hand, until it lets go."""
    client = renewing(connected_beside(settings.supabase_url, secrets.supabase_service_key), settings, secrets)
    rows = SupabaseWork(client)
    return lambda taken: WorkInHand(rows, taken, watch.logger.warning)


def sending_due(settings: Settings, client: "Client", index: "SupabaseTableIndex") -> "SendDueWork":
    """Sends again what stopped or waited long enough."""
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.services.give_up_page import GiveUpPage
    from sakuin.services.give_up_table import GiveUpTable
    from sakuin.services.send_due_work import SendDueWork

    page, table = GiveUpPage(SupabaseIndex(client), settings.material_prefix), GiveUpTable(index)

    def gave_up(queue: WorkQueueName, about: About, reason: str) -> None:
        if queue == "material":
            page(about, reason)
        elif about.subject is not None:
            table(about.subject, reason)

    return SendDueWork(SupabaseWork(client), _work_queues(settings), gave_up)


def restarting(
    settings: Settings, client: "Client", index: "SupabaseTableIndex", asks: "TableQueues"
) -> "RestartTables":
    """Walks Tables anew that stand still."""
    from sakuin.services.give_up_table import GiveUpTable
    from sakuin.services.restart_tables import RestartTables

    return RestartTables(index, asks, SupabaseWork(client), _work_queues(settings), GiveUpTable(index))


def _work_queues(settings: Settings) -> "SqsWorkQueues":
    from sakuin.adapters.aws import client
    from sakuin.adapters.sqs_work import SqsWorkQueues

    example = "https://sqs.…"
    # Not the client of the other queues: a copy carries the id of the work that it is a copy of.
    return SqsWorkQueues(
        client("sqs"),
        {
            "material": settings.queue_url,
            "tool": configured(settings.tool_queue_url, "TOOL_QUEUE_URL", example),
            "embed": configured(settings.embed_queue_url, "EMBED_QUEUE_URL", example),
        },
        {
            "material": configured(settings.material_dead_letters_url, "MATERIAL_DEAD_LETTERS_URL", example),
            "tool": configured(settings.tool_dead_letters_url, "TOOL_DEAD_LETTERS_URL", example),
            "embed": configured(settings.embed_dead_letters_url, "EMBED_DEAD_LETTERS_URL", example),
        },
    )
