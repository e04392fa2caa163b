"""The function that runs on a schedule."""

import json
import string
from collections.abc import Mapping
from dataclasses import replace
from secrets import choice
from typing import TYPE_CHECKING

from sakuin.platform.redaction import Handler
from sakuin.settings import Settings
from sakuin.wiring.clients import (
    aws,
    bucket_of_pages,
    chunk_store,
    material_queue,
    secret_of,
    supabase,
    table_queues,
    watch,
)
from sakuin.wiring.handlers import instrument
from sakuin.wiring.index_versions import kept_or_own, own_index, table_fingerprint, table_indexes

if TYPE_CHECKING:
    from sakuin.knowledge.canary import CanaryAnswer
    from sakuin.tables.queues import TableQueues


def maintainer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that runs on a schedule."""
    import time
    from datetime import UTC, datetime

    from sakuin.knowledge.canary import CanaryAnswer
    from sakuin.knowledge.postgres_records import MaterialRecords
    from sakuin.platform.aws_lambda import LambdaFunction
    from sakuin.platform.s3 import S3Bucket
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.tables.admin.eventbridge import EventBridgeBus
    from sakuin.tables.admin.orphaned_uploads import LeftBodies, RemoveBodies
    from sakuin.tables.admin.outbox import Outbox, SendEvents
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.restart import RestartTables
    from sakuin.tables.work import GiveUpTable, RestartEverywhere
    from sakuin.upkeep.build_indexes import BuildIndexes
    from sakuin.upkeep.canary import Canary
    from sakuin.upkeep.index_versions import Indexes
    from sakuin.upkeep.maintain import Maintain
    from sakuin.upkeep.resume_work import ResumeWork
    from sakuin.upkeep.schedule import Schedule
    from sakuin.wiring.reconciliation import reconciling

    settings, observed = Settings.read(environ), watch("Maintain")
    secrets = secret_of(settings, observed).now()
    client = supabase(settings, secrets, observed)
    send = SendEvents(Outbox(client), EventBridgeBus(aws("events"), settings.event_bus_name))
    index = TableIndex(client, table_fingerprint(settings))
    store = chunk_store(settings, secrets, observed)
    tables, materials = table_queues(settings, observed), material_queue(settings, observed)
    indexes = table_indexes(client, kept_or_own(client, settings))
    give_up_table, unfinished = GiveUpTable(indexes), UnfinishedWorkStore(client)

    def queues_of(fingerprint: str) -> "TableQueues":
        return replace(tables, fingerprint=fingerprint)

    def has_backlog() -> bool:
        return not (tables.tool_queue.is_empty() and tables.embed_queue.is_empty())

    def restarts() -> "dict[str, RestartTables]":
        return {
            name: RestartTables(name, index, queues_of(name), has_backlog, give_up_table)
            for name, index in indexes().items()
        }

    resume = ResumeWork(unfinished, materials, queues_of)
    remove_bodies = RemoveBodies(
        LeftBodies(client), S3Bucket(aws("s3"), settings.tables_bucket), lambda: datetime.now(UTC)
    )
    maintain = Maintain(send, index, store, RestartEverywhere(restarts), resume, remove_bodies)
    build = BuildIndexes(
        indexes=Indexes(client),
        own=own_index(settings),
        pages=materials,
        queues=queues_of,
        flips=settings.flip_when_built,
    )
    mcp = LambdaFunction(aws("lambda"), settings.mcp_function)

    def ask(token: str) -> "CanaryAnswer":
        return CanaryAnswer(**json.loads(mcp.invoke({"canary": token})["body"]))

    canary = Canary(
        bucket_of_pages(settings),
        MaterialRecords(client),
        ask,
        settings.material_prefix,
        _new_token,
        time.monotonic,
        time.sleep,
    )
    schedule = Schedule(
        maintain,
        build,
        reconciling(settings, secrets, observed, client),
        canary,
        unfinished,
        observed.logger,
        observed.metrics,
        observed.work,
    )
    return instrument(schedule.handle, observed)


def _new_token() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(12))
