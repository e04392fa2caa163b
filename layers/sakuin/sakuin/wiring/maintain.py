"""The function `maintain`, which runs on a schedule."""

import json
import string
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from secrets import choice

from sakuin.knowledge.messages import send_pending_learns
from sakuin.knowledge.postgres import KnowledgeIndex, LearnsRecords, MaterialRecords
from sakuin.mcp.changes.due_subscriptions import send_due
from sakuin.platform.aws import Handler
from sakuin.platform.supabase.client import call
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.tables.admin.eventbridge import Outbox
from sakuin.tables.admin.tables import DeleteOrphanedUploads
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import RestartTables
from sakuin.upkeep.canary import Canary
from sakuin.upkeep.daily_counts import DAYS, DailyCountRecords
from sakuin.upkeep.doctor import DatabaseSize
from sakuin.upkeep.index_versions import BuildIndexVersions, IndexVersions
from sakuin.upkeep.maintain import CHANGES_DAYS, ROWS_PER_PORTION, WEBHOOKS_PER_RUN, Maintain, ResumeWork
from sakuin.upkeep.schedule import Schedule
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import instrument
from sakuin.wiring.index_versions import Kept, kept_or_own, own_index, reconciling, stored_pages, table_indexes


def handler(clients: Clients) -> Handler:
    return instrument(schedule(clients).handle, clients.telemetry)


def schedule(clients: Clients) -> Schedule:
    """Returns what runs on the schedule."""
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    kept, mcp = kept_or_own(clients), clients.mcp_function()

    def ask(token: str) -> str | None:
        missing: str | None = json.loads(mcp.invoke({"canary": token})["body"])["missing"]
        return missing

    canary = Canary(
        clients.material_bucket(),
        MaterialRecords(client),
        ask,
        settings.material_prefix,
        _new_token,
        clients.clock,
        clients.sleep,
    )
    return Schedule(
        maintenance(clients, kept),
        building(clients),
        reconciling(clients, kept),
        canary,
        UnfinishedWorkStore(client),
        DatabaseSize(client, settings.limits.database_bytes).percent,
        telemetry.logger,
        telemetry.metrics,
        telemetry.work,
    )


def maintenance(clients: Clients, kept: Kept) -> Maintain:
    settings, client = clients.settings, clients.supabase
    tables, materials, queues_of = clients.table_queues(), clients.material_queue(), queues_by_version(clients)
    indexes = table_indexes(client, kept)

    def has_backlog() -> bool:
        return not (tables.tool_queue.is_empty() and tables.embed_queue.is_empty())

    def write_quotas() -> int:
        """Writes the quotas for SQL, which enforces them also past the API and cannot read the parameter."""
        call(client, "set_quotas", {"p_quotas": asdict(settings.limits)})
        return 0

    def delete_questions() -> int:
        """Deletes old counters and refused questions, or all questions if none are wanted."""
        return DailyCountRecords(client).delete_old(question_days=DAYS if settings.record_refused_questions else 0)

    def delete_changes() -> int:
        """Deletes changes of what has been gone for long."""
        seconds = CHANGES_DAYS * 86_400
        return int(call(client, "delete_old_changes", {"p_seconds": seconds, "p_limit": ROWS_PER_PORTION}))

    def send_webhooks() -> int:
        """Sends messages for subscriptions whose feed has moved, also where the change's worker sent none."""
        return 0 if settings.webhooks == "off" else send_due(client, clients.webhook_queue(), WEBHOOKS_PER_RUN)

    pages = stored_pages(clients, kept, for_upkeep=True)

    def sweep_rows() -> int:
        """Deletes a portion of the rows in turbopuffer that no explanation has."""
        stored = pages()
        return stored.sweep() if stored else 0

    return Maintain(
        Outbox(client, clients.event_bus()).publish,
        TableIndex(client, own_index(settings).tables),
        clients.chunk_store(for_upkeep=True),
        RestartTables(indexes, queues_of, has_backlog),
        ResumeWork(
            UnfinishedWorkStore(client),
            {"material": materials.queue, "tool": tables.tool_queue, "embed": tables.embed_queue},
        ),
        DeleteOrphanedUploads(client, clients.tables_bucket(), clients.now),
        partial(send_pending_learns, LearnsRecords(client), materials),
        write_quotas,
        delete_questions,
        delete_changes,
        send_webhooks,
        sweep_words=KnowledgeIndex(client).sweep_words,
        sweep_rows=sweep_rows,
        work=clients.telemetry.work,
    )


def building(clients: Clients) -> BuildIndexVersions:
    """Returns what builds the index version of the deployed settings."""
    return BuildIndexVersions(
        indexes=IndexVersions(clients.supabase),
        deployed=own_index(clients.settings),
        pages=clients.material_queue(),
        activates=clients.settings.activate_when_built,
    )


def queues_by_version(clients: Clients) -> Callable[[str], TableQueues]:
    queues = clients.table_queues()
    return lambda version: replace(queues, index_version=version)


def _new_token() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(12))
