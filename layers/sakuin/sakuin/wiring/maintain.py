"""The function `maintain`, which runs on a schedule."""

import json
import string
from dataclasses import asdict, replace
from secrets import choice
from typing import TYPE_CHECKING

from sakuin.platform.aws import Handler
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import instrument
from sakuin.wiring.index_versions import kept_or_own, own_index, table_indexes

if TYPE_CHECKING:
    from sakuin.knowledge.canary import CanaryAnswer
    from sakuin.tables.messages import TableQueues
    from sakuin.upkeep.schedule import Schedule


def handler(clients: Clients) -> Handler:
    """Returns the handler of the function."""
    return instrument(schedule(clients).handle, clients.telemetry)


def schedule(clients: Clients) -> "Schedule":
    """Returns what runs on the schedule."""
    from sakuin.knowledge.canary import CanaryAnswer
    from sakuin.knowledge.learns.postgres import LearnsRecords, SendPendingLearns
    from sakuin.knowledge.postgres_records import MaterialRecords
    from sakuin.platform.supabase.client import call
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.retrieval.refused_questions import DAYS, RefusedQuestions
    from sakuin.tables.admin.orphaned_uploads import DeleteOrphanedUploads, OrphanedUploads
    from sakuin.tables.admin.outbox import Outbox, PublishOutbox
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.recovery import RecordTableFailure, RestartTables
    from sakuin.upkeep.canary import Canary
    from sakuin.upkeep.index_versions import BuildIndexVersions, IndexVersions
    from sakuin.upkeep.maintain import Maintain, ResumeWork
    from sakuin.upkeep.schedule import Schedule
    from sakuin.wiring.reconciliation import reconciling

    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    own = own_index(settings)
    publish = PublishOutbox(Outbox(client), clients.event_bus())
    index = TableIndex(client, own.tables)
    store, tables, materials = clients.chunk_store(), clients.table_queues(), clients.material_queue()
    indexes = table_indexes(client, kept_or_own(clients))
    unfinished = UnfinishedWorkStore(client)

    def queues_of(fingerprint: str) -> "TableQueues":
        return replace(tables, fingerprint=fingerprint)

    def has_backlog() -> bool:
        return not (tables.tool_queue.is_empty() and tables.embed_queue.is_empty())

    resume = ResumeWork(unfinished, materials, queues_of)
    delete_uploads = DeleteOrphanedUploads(OrphanedUploads(client), clients.tables_bucket(), clients.now)
    send_learns = SendPendingLearns(LearnsRecords(client), materials)
    restart = RestartTables(indexes, queues_of, has_backlog, RecordTableFailure(indexes))

    def write_quotas() -> int:
        """Writes the quotas for SQL, which enforces them also past the API and cannot read the parameter."""
        call(client, "set_quotas", {"p_quotas": asdict(settings.limits)})
        return 0

    def delete_questions() -> int:
        """Deletes old refused questions, or all of them if none are wanted."""
        return RefusedQuestions(client).delete(keep_days=DAYS if settings.record_refused_questions else 0)

    maintain = Maintain(
        *(publish, index, store, restart, resume, delete_uploads, send_learns, write_quotas, delete_questions)
    )
    build = BuildIndexVersions(
        indexes=IndexVersions(client),
        deployed=own,
        pages=materials,
        queues_of=queues_of,
        activates=settings.activate_when_built,
    )
    mcp = clients.mcp_function()

    def ask(token: str) -> "CanaryAnswer":
        return CanaryAnswer(**json.loads(mcp.invoke({"canary": token})["body"]))

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
        maintain,
        build,
        reconciling(clients),
        canary,
        unfinished,
        telemetry.logger,
        telemetry.metrics,
        telemetry.work,
    )


def _new_token() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(12))
