"""The function `maintain`, which runs on a schedule."""

import json
import string
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from secrets import choice

from sakuin.knowledge.messages import Announcements
from sakuin.knowledge.postgres import KnowledgeIndex, LearnsRecords, MaterialRecords
from sakuin.platform.aws import Handler
from sakuin.platform.supabase.client import call
from sakuin.platform.waiting import WorkRecords
from sakuin.tables.admin.outbox import Outbox
from sakuin.tables.admin.tables import DeleteOrphanedUploads
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import RestartTables
from sakuin.upkeep.canary import Canary
from sakuin.upkeep.daily_counts import DAYS, DailyCountRecords
from sakuin.upkeep.doctor import DatabaseSize
from sakuin.upkeep.index_versions import BuildIndexVersions, IndexVersions
from sakuin.upkeep.maintain import ROWS_PER_PORTION, DailyRound, Maintain, Portion
from sakuin.upkeep.reconcile import KINDS, DailyComparison
from sakuin.upkeep.schedule import Schedule
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import instrument
from sakuin.wiring.index_versions import Kept, kept_versions, own_index, reconciling, stored_pages_if_any

# Texts that come back within this time are not paid for again.
_UNUSED_SECONDS = 30 * 86_400
_TEXTS_PER_PORTION = 2_000


def handler(clients: Clients) -> Handler:
    return instrument(schedule(clients).handle, clients.telemetry)


def schedule(clients: Clients) -> Schedule:
    """Returns what runs on the schedule."""
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    kept, mcp = kept_versions(clients), clients.mcp_function()

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
        canary,
        WorkRecords(client),
        DatabaseSize(client, settings.limits.database_bytes).percent,
        telemetry.logger,
        telemetry.metrics,
        telemetry.work,
        lambda: call(client, "mark_maintained", {}),
    )


def maintenance(clients: Clients, kept: Kept) -> Maintain:
    settings, client = clients.settings, clients.supabase
    tables, materials, queues_of = clients.table_queues(), clients.material_queue(), queues_by_version(clients)

    def indexes() -> dict[str, TableIndex]:
        return {each.tables: TableIndex(client, each.settings.tables) for each in kept()}

    def has_backlog() -> bool:
        return not (tables.tool_queue.is_empty() and tables.embed_queue.is_empty())

    def write_quotas() -> int:
        """Writes the quotas for SQL, which enforces them also past the API and cannot read the parameter."""
        call(client, "set_quotas", {"p_quotas": asdict(settings.limits)})
        return 0

    def delete_questions() -> int:
        """Deletes old counters and refused questions, or all questions if none are wanted."""
        return DailyCountRecords(client).delete_old(question_days=DAYS if settings.record_refused_questions else 0)

    pages = stored_pages_if_any(clients, kept)

    def sweep_rows() -> int:
        """Deletes a portion of the rows in turbopuffer that no explanation has."""
        stored = pages()
        return stored.sweep() if stored else 0

    bus = clients.event_bus()
    return Maintain(
        Outbox(client, bus).publish,
        TableIndex(client, own_index(settings).tables),
        clients.chunk_store(for_upkeep=True),
        RestartTables(indexes, queues_of, has_backlog),
        DeleteOrphanedUploads(client, clients.tables_bucket(), clients.now),
        partial(LearnsRecords(client).send_due, materials.ask_learns),
        write_quotas,
        delete_questions,
        Announcements(client, lambda: bus).send_missing,
        sweep_words=KnowledgeIndex(client).sweep_words,
        sweep_rows=sweep_rows,
        daily=daily_rounds(clients, kept),
        work=clients.telemetry.work,
    )


def daily_rounds(clients: Clients, kept: Kept) -> dict[str, DailyRound]:
    """Returns what maintenance does once a day, by name."""
    reconcile, telemetry = reconciling(clients, kept), clients.telemetry
    records = MaterialRecords(clients.supabase)

    def readings(place: str) -> tuple[int, str | None]:
        return records.delete_unused_readings(place, limit=ROWS_PER_PORTION)

    def texts(_place: str) -> tuple[int, str | None]:
        """Deletes a portion. There is no place to continue from: the next call finds what is left."""
        deleted = records.delete_unused_texts(seconds=_UNUSED_SECONDS, limit=_TEXTS_PER_PORTION)
        return deleted, "" if deleted else None

    portions: dict[str, Portion] = {"delete_readings": readings, "delete_texts": texts}
    for kind in KINDS:
        portions[f"reconcile_{kind}"] = DailyComparison(reconcile, kind, telemetry.logger, telemetry.metrics)
    return {name: DailyRound(clients.supabase, name, portion) for name, portion in portions.items()}


def building(clients: Clients) -> BuildIndexVersions:
    """Returns what builds the index version of the deployed settings."""
    return BuildIndexVersions(
        indexes=IndexVersions(clients.supabase), deployed=own_index(clients.settings), pages=clients.material_queue()
    )


def queues_by_version(clients: Clients) -> Callable[[str], TableQueues]:
    queues = clients.table_queues()
    return lambda version: replace(queues, index_version=version)


def _new_token() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(12))
