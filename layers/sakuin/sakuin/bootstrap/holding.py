"""How workers hold what they have in hand, and how `maintain` sends again what nobody holds."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sakuin.adapters.supabase_work import SupabaseWork, connected_beside
from sakuin.bootstrap.aws import bucket_of_pages
from sakuin.bootstrap.giving_up import giving_up_tables
from sakuin.bootstrap.indexes import Kept, live_last
from sakuin.bootstrap.watching import Watch, renewing
from sakuin.domain.work import Taken
from sakuin.services.work_in_hand import WorkInHand
from sakuin.settings import Secrets, Settings, configured

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.adapters.sqs_work import SqsWorkQueues
    from sakuin.ports.tables import TableQueues
    from sakuin.ports.work import WorkQueues
    from sakuin.services.every_index import RestartEverywhere
    from sakuin.services.restart_tables import RestartTables
    from sakuin.services.send_due_work import SendDueWork


def holding(settings: Settings, secrets: Secrets, watch: Watch) -> Callable[[Sequence[Taken]], WorkInHand]:
    """Has rows say what a worker has in hand, until it lets go."""
    client = renewing(connected_beside(settings.supabase_url, secrets.supabase_service_key), settings, secrets, watch)
    rows = SupabaseWork(client)
    return lambda taken: WorkInHand(rows, taken, watch.logger.warning)


def sending_due(settings: Settings, client: "Client", kept: Kept, queues: "WorkQueues") -> "SendDueWork":
    """Sends again what stopped or waited long enough."""
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.services.give_up_page import GiveUpPage
    from sakuin.services.give_up_work import GiveUpWork
    from sakuin.services.send_due_work import SendDueWork

    page = GiveUpPage(SupabaseIndex(client), settings.material_prefix, bucket_of_pages(settings))
    gave_up = GiveUpWork(page, giving_up_tables(client, kept))
    return SendDueWork(SupabaseWork(client), queues, gave_up)


def restarting(
    client: "Client", kept: Kept, asks: "Callable[[str], TableQueues]", queues: "WorkQueues"
) -> "RestartEverywhere":
    """Walks Tables anew that stand still, each index its own. `asks` gives the queues of one index."""
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.domain.table_index import tables_of
    from sakuin.services.every_index import RestartEverywhere
    from sakuin.services.give_up_table import GiveUpTable
    from sakuin.services.restart_tables import RestartTables

    def restarts() -> "dict[str, RestartTables]":
        indexes = {each.tables: SupabaseTableIndex(client, tables_of(each.settings)) for each in live_last(kept)}
        return {
            name: RestartTables(name, index, asks(name), SupabaseWork(client), queues, GiveUpTable(index))
            for name, index in indexes.items()
        }

    return RestartEverywhere(restarts)


def work_queues(settings: Settings) -> "SqsWorkQueues":
    """The queues that `maintain` sends work to again."""
    from sakuin.adapters.aws import client
    from sakuin.adapters.sqs_work import SqsWorkQueues

    address = partial(configured, example="https://sqs.…")
    # Not the client of the other queues: a copy carries the id of the work that it is a copy of.
    return SqsWorkQueues(
        client("sqs"),
        {
            "material": settings.queue_url,
            "tool": address(settings.tool_queue_url, "TOOL_QUEUE_URL"),
            "embed": address(settings.embed_queue_url, "EMBED_QUEUE_URL"),
        },
        {
            "material": address(settings.material_dead_letters_url, "MATERIAL_DEAD_LETTERS_URL"),
            "tool": address(settings.tool_dead_letters_url, "TOOL_DEAD_LETTERS_URL"),
            "embed": address(settings.embed_dead_letters_url, "EMBED_DEAD_LETTERS_URL"),
        },
    )
