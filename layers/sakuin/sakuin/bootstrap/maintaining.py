"""The function that runs on a schedule."""

import json
import string
from collections.abc import Mapping
from dataclasses import replace
from secrets import choice
from typing import TYPE_CHECKING

from sakuin.bootstrap.aws import aws, bucket_of_pages, material_queue, table_queues
from sakuin.bootstrap.fingerprints import table_fingerprint
from sakuin.bootstrap.indexes import kept_or_own, own_index, table_indexes
from sakuin.bootstrap.instrumented import instrument
from sakuin.bootstrap.watching import chunk_store, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler
from sakuin.settings import Settings

if TYPE_CHECKING:
    from sakuin.adapters.sqs_tables import TableQueues
    from sakuin.knowledge.canary import CanaryAnswer


def maintainer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that runs on a schedule."""
    import time
    from datetime import UTC, datetime

    from sakuin.adapters.eventbridge import EventBridgeBus
    from sakuin.adapters.lambda_function import LambdaFunction
    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.supabase_indexes import SupabaseIndexes
    from sakuin.adapters.supabase_left_bodies import SupabaseLeftBodies
    from sakuin.adapters.supabase_outbox import SupabaseOutbox
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.bootstrap.reconciling import reconciling
    from sakuin.knowledge.canary import CanaryAnswer
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.services.build_indexes import BuildIndexes
    from sakuin.services.every_index import RestartEverywhere
    from sakuin.services.give_up_table import GiveUpTable
    from sakuin.services.maintain import Maintain
    from sakuin.services.remove_bodies import RemoveBodies
    from sakuin.services.restart_tables import RestartTables
    from sakuin.services.resume_work import ResumeWork
    from sakuin.services.send_events import SendEvents
    from sakuin.upkeep.canary import Canary
    from sakuin.upkeep.schedule import Schedule

    settings, observed = Settings.read(environ), watch("Maintain")
    secrets = secret_of(settings, observed).now()
    client = supabase(settings, secrets, observed)
    send = SendEvents(SupabaseOutbox(client), EventBridgeBus(aws("events"), settings.event_bus_name))
    index = SupabaseTableIndex(client, table_fingerprint(settings))
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
        SupabaseLeftBodies(client), S3Bucket(aws("s3"), settings.tables_bucket), lambda: datetime.now(UTC)
    )
    maintain = Maintain(send, index, store, RestartEverywhere(restarts), resume, remove_bodies)
    build = BuildIndexes(
        indexes=SupabaseIndexes(client),
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
        SupabaseRecords(client),
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
