"""A deployment that keeps two indexes over Tables: real messages, rows of work, workers that may die, and a clock."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from sakuin.adapters.sqs_tables import SqsTableQueues
from sakuin.adapters.supabase_indexes import SupabaseIndexes
from sakuin.adapters.supabase_tables import SupabaseTableIndex, SupabaseToolSearch
from sakuin.adapters.supabase_work import SupabaseWork
from sakuin.bootstrap.giving_up import giving_up_tables
from sakuin.bootstrap.holding import restarting
from sakuin.domain.chunking import CHUNKER
from sakuin.domain.index_settings import IndexSettings, KeptIndex, named_index
from sakuin.domain.index_state import IndexState
from sakuin.domain.recipe import ANALYZER, RECIPE
from sakuin.domain.table_cut import TableCut
from sakuin.domain.table_index import tables_of
from sakuin.domain.work import Done, DueWork, Ended, Taken, WorkQueueName
from sakuin.entrypoints.sqs_tables import about_chunks, about_walk
from sakuin.entrypoints.tool_messages import IndexAsked, embed_work, tool_work
from sakuin.services.build_indexes import BuildIndexes
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.every_index import EmbedEverywhere, IndexEverywhere
from sakuin.services.give_up_work import GiveUpWork
from sakuin.services.index_table import IndexTable
from sakuin.services.maintain import Maintain, Maintained
from sakuin.services.search_table import SearchTable, TableAnswer
from sakuin.services.send_due_work import SendDueWork
from sakuin_local.database import Database

from tests.database_server import DatabaseServer
from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.doubles.queue import MemoryQueue
from tests.tables.conftest import TableWorld

BLUE = IndexSettings(MODEL, RECIPE, ANALYZER, TableCut(), CHUNKER)
GREEN = replace(BLUE, model=replace(MODEL, passage_prefix="passage: "), cut=TableCut(chunk_size=400, overlap=50))
# Lets time pass over all that says when something was heard of.
_PASSES = (
    "update work set until = until - {0}, heartbeat_at = heartbeat_at - {0}, since = since - {0}",
    "update table_plan set heartbeat_at = heartbeat_at - {0}",
    "update table_restart set at = at - {0}",
    "update context_table set updated_at = updated_at - {0}",
    "update tool set metadata = jsonb_set(metadata, '{{search_index}}', metadata->'search_index' || ("
    " select coalesce(jsonb_object_agg(m.key, to_jsonb((m.value #>> '{{}}')::timestamptz - {0})), '{{}}')"
    " from jsonb_each(metadata->'search_index') m where m.key in ('heartbeat_at', 'configured_at')))",
)


class Died(BaseException):
    """A worker that was killed: nothing in it goes on."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of one of the two queues. A copy has its `id`."""

    id: str
    queue: WorkQueueName
    body: str

    @property
    def fingerprint(self) -> str | None:
        """The index that it is for; None: for all."""
        return self.taken.about.fingerprint

    @property
    def taken(self) -> Taken:
        about = about_walk(self.body) if self.queue == "tool" else about_chunks(self.body)
        return Taken(self.id, self.queue, self.body, "", about, 1, 0.0)


@dataclass
class Line:
    """Both queues in one line: SQS as `TableQueues` write to it, and `WorkQueues`. `dead` are the dead letters."""

    waiting: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)
    names: Iterator[int] = field(default_factory=count)

    def send_message(self, *, QueueUrl: WorkQueueName, MessageBody: str) -> None:
        self.waiting.append(Message(f"m{next(self.names)}", QueueUrl, MessageBody))

    def send(self, work: DueWork) -> None:
        self.waiting.append(Message(work.id, work.queue, work.body))

    def bury(self, work: DueWork) -> None:
        self.dead.append(Message(work.id, work.queue, work.body))

    def lines_are_empty(self, *_queues: WorkQueueName) -> bool:
        return not self.waiting


@dataclass
class Deployment:
    """The functions over one project, wired as `bootstrap` does. `own` are the settings that are deployed."""

    world: TableWorld
    own: IndexSettings = BLUE
    line: Line = field(default_factory=Line)
    embedders: dict[str, MemoryEmbedder] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Message]:
        return self.line.waiting

    @property
    def indexes(self) -> SupabaseIndexes:
        return SupabaseIndexes(self.world.client)

    @property
    def rows(self) -> SupabaseWork:
        return SupabaseWork(self.world.client)

    def asks(self, fingerprint: str = "") -> SqsTableQueues:
        return SqsTableQueues(self.line, "tool", "embed", fingerprint)

    def embedder(self, settings: IndexSettings) -> MemoryEmbedder:
        return self.embedders.setdefault(settings.id, MemoryEmbedder(settings.model))

    def index(self, settings: IndexSettings) -> SupabaseTableIndex:
        return SupabaseTableIndex(self.world.client, tables_of(settings))

    def build(self) -> Maintained:
        """The schedule's turn."""
        client = self.world.client
        restart = restarting(client, self.kept, self.asks, self.line)
        nowhere: Any = None
        gave_up = GiveUpWork(nowhere, giving_up_tables(client, self.kept))
        send_due = SendDueWork(SupabaseWork(client), self.line, gave_up)
        maintain = Maintain(
            # Events are sent by `edit`.
            lambda: 0,
            self.index(self.own),
            self.world.store,
            restart,
            send_due,
            lambda: 0,
        )
        done = maintain()
        BuildIndexes(self.indexes, self.own, MemoryQueue(), self.asks)()
        return done

    def kept(self) -> list[KeptIndex]:
        return sorted(self.indexes.kept(), key=lambda each: each.live)

    def state(self, settings: IndexSettings) -> IndexState:
        return next(each for each in self.indexes.states() if each.settings == settings)

    def passes(self, seconds: float) -> None:
        """So long nothing is heard of anybody."""
        for statement in _PASSES:
            self.world.sql(statement.format(f"interval '{seconds} seconds'"))

    def lose(self, settings: IndexSettings) -> None:
        """The queues forget what waits for one index."""
        self.line.waiting = [each for each in self.waiting if each.fingerprint != tables_of(settings).id]

    def deliver(self) -> None:
        """The oldest message to its worker, twice."""
        message = self.waiting.pop(0)
        for _ in range(2):
            self.work(message)
        self.rows.end([Ended(message.taken, Done())])

    def work(self, message: Message) -> None:
        if message.queue == "embed":
            asked = embed_work(message.body)
            EmbedEverywhere(self.embeds)(asked.project_id, asked.table_id, asked.chunks, fingerprint=asked.fingerprint)
            return
        for each in tool_work(message.body):
            assert isinstance(each, IndexAsked)
            IndexEverywhere(self.walks)(
                each.project_id,
                each.table_id,
                generation=each.generation,
                skip=each.skip,
                fingerprint=each.fingerprint,
            )

    def settle(self) -> None:
        while self.waiting:
            self.deliver()

    def walks(self) -> dict[str, IndexTable]:
        world = self.world
        return {
            each.tables: IndexTable(
                self.index(each.settings),
                world.bodies,
                world.store,
                self.asks(each.tables),
                each.settings.cut,
                each.suffix,
            )
            for each in self.kept()
        }

    def embeds(self) -> dict[str, EmbedChunks]:
        return {
            each.tables: EmbedChunks(
                self.index(each.settings), self.world.store, self.embedder(each.settings), each.suffix
            )
            for each in self.kept()
        }

    def edit(self, table: str, document: object) -> None:
        """A new body, and its event."""
        self.world.replace(table, document)
        self.asks().index(self.world.project, table)

    def search(self, endpoint: str, query: str = "説明", name: str | None = None) -> TableAnswer:
        """What an agent gets, or would get of the index `name`."""
        asked = named_index(self.indexes.kept(), name)
        records = SupabaseToolSearch(self.world.client, asked.tables)
        found = records.endpoint(endpoint)
        assert found is not None
        search = SearchTable(records, self.world.store, self.embedder(asked.settings), asked.suffix)
        return search(endpoint, found.tools[0], query, top_k=50)

    def pointers(self, endpoint: str, name: str | None = None) -> set[str]:
        return {hit.chunk.json_pointer for hit in self.search(endpoint, name=name).results}


@pytest.fixture(scope="session")
def database(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One of its own: an index is whole when every Table of the database is built, whoever made it."""
    with database_server.copy(tmp_path_factory.mktemp("indexes")) as running:
        yield running


@pytest.fixture
def deployment(world: TableWorld) -> Iterator[Deployment]:
    """A deployment whose first index answers; Tables and work of other tests are none of its own."""
    world.sql("delete from project where id <> %s", world.project)
    world.sql("delete from work")
    deployment = Deployment(world)
    deployment.build()
    yield deployment
    world.sql("delete from search_index")


@pytest.fixture
def both(deployment: Deployment) -> Deployment:
    """The same, with a second index beside the one that answers."""
    deployment.own = GREEN
    deployment.build()
    return deployment


@dataclass(frozen=True, slots=True)
class Asked:
    """A Table with a tool, indexed."""

    table: str
    tool: str
    endpoint: str


def indexed(deployment: Deployment, document: object) -> Asked:
    table = deployment.world.table(document)
    tool = deployment.world.tool(table, "")
    deployment.world.queues.asked.clear()
    deployment.asks().index(deployment.world.project, table)
    deployment.settle()
    assert deployment.world.status(tool)["state"] == "ready"
    return Asked(table, tool, deployment.world.endpoint(tool))
