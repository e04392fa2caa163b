"""The functions of the queues of Tables, over the double of SQS."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sakuin.platform.embedding import Embedder
from sakuin.platform.queue_handler import QueueHandler
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore
from sakuin.tables.embed_chunks import EmbedChunks, EmbedInEachVersion, EmbedWork
from sakuin.tables.index_table import IndexTable
from sakuin.tables.messages import TableQueues, embed_message, tool_message
from sakuin.tables.postgres import TableIndex
from sakuin.tables.recovery import RecordTableFailure
from sakuin.tables.work import IndexInEachVersion, ToolWork
from sakuin.upkeep.maintain import MaintenanceResult

from tests.convergence.delivery import handler_of, silent
from tests.convergence.passing import time_passes
from tests.database_server import connection_to
from tests.doubles.sqs import Message, ModelledSqs
from tests.events import Context
from tests.table_world import FINGERPRINT, TableWorld, maintenance

TOOLS, EMBEDS = "tools", "embeds"


@dataclass
class TableFunctions:
    """Both functions, as `bootstrap` puts them together.

    `scans`, `embeds` and `indexes` are those that are kept, by fingerprint, the one that answers last.
    """

    client: Client
    scans: Callable[[], Mapping[str, IndexTable]]
    embeds: Callable[[], Mapping[str, EmbedChunks]]
    indexes: Callable[[], Mapping[str, TableIndex]]
    sqs: Any = field(default_factory=ModelledSqs)

    @property
    def unfinished(self) -> UnfinishedWorkStore:
        return UnfinishedWorkStore(self.client)

    @property
    def waiting(self) -> list[Message]:
        """Returns the messages that can be received now."""
        found: list[Message] = self.sqs.waiting
        return found

    def queues(self, fingerprint: str = "") -> TableQueues:
        return TableQueues(SqsQueue(self.sqs, TOOLS), SqsQueue(self.sqs, EMBEDS), fingerprint)

    def has_backlog(self) -> bool:
        queues = self.queues()
        return not (queues.tool_queue.is_empty() and queues.embed_queue.is_empty())

    def take(self, which: int = 0, *, doubled: bool = False) -> bool:
        """Has a function receive one of the waiting messages; returns whether it is done, and deleted.

        `doubled`: SQS delivers it once more, whatever came of it.
        """
        message = self.sqs.receive(which, doubled=doubled)
        answer = self.handler(message.queue).handle({"Records": [message.as_record()]}, Context())
        is_done = not answer["batchItemFailures"]
        if is_done and not doubled:
            self.sqs.delete(message.id)
        return is_done

    def settle(self) -> None:
        """Works until no message can be received now."""
        while self.waiting:
            self.take()

    def rows(self, table: str) -> list[UnfinishedWork]:
        return list(self.unfinished.rows(subjects=[table]))

    def handler(self, queue: str) -> QueueHandler:
        """Returns a worker of one of the functions."""
        give_up = RecordTableFailure(self.indexes)
        if queue == EMBEDS:
            return handler_of(
                self.sqs, queue, EmbedWork(EmbedInEachVersion(self.embeds), give_up, *silent()), self.unfinished
            )
        nobody: Any = None
        scan = ToolWork(IndexInEachVersion(self.scans), nobody, give_up, *silent())
        return handler_of(self.sqs, queue, scan, self.unfinished)


@dataclass
class RunningTables:
    """A world whose queues are SQS's double, the functions that receive its messages, and a clock."""

    world: TableWorld
    functions: TableFunctions

    def passes(self, seconds: int) -> None:
        """Lets so many seconds pass."""
        time_passes(connection_to(self.world.dsn), seconds)
        self.functions.sqs.passes(seconds)

    def minute(self) -> MaintenanceResult:
        """Lets a minute pass and runs maintenance."""
        self.passes(60)
        queues, has_backlog = self.functions.queues(FINGERPRINT.id), self.functions.has_backlog()
        return maintenance(self.world, queues=queues, has_backlog=has_backlog)()

    def minutes(self, many: int) -> None:
        """Lets so many minutes pass, with maintenance and deliveries."""
        for _ in range(many):
            self.minute()
            self.functions.settle()


def running(world: TableWorld, *, embedder: Embedder | None = None, sqs: Any = None) -> RunningTables:
    """Makes changes of `world` messages to the functions.

    `embedder` is that of the functions, if another than the world's; `sqs` the double that they use.
    """

    def embeds() -> dict[str, EmbedChunks]:
        embed = world.embed
        return {FINGERPRINT.id: embed if embedder is None else replace(embed, embedder=embedder)}

    functions = TableFunctions(
        world.client,
        lambda: {FINGERPRINT.id: world.scan},
        embeds,
        lambda: {FINGERPRINT.id: world.index},
        sqs or ModelledSqs(),
    )
    queues: Any = functions.queues(FINGERPRINT.id)
    world.queues = queues
    return RunningTables(world, functions)


def fingerprint_of(message: Message) -> str | None:
    """Returns the index of a message; None means all."""
    read = embed_message if message.queue == EMBEDS else tool_message
    asked: Any = read(json.loads(message.body))
    fingerprint: str | None = asked.fingerprint
    return fingerprint
