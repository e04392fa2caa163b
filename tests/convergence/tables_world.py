"""The services over Tables, as `bootstrap` puts them together, for one schedule."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import call
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.retrieval.index_version import TableCut, TableIndexVersion
from sakuin.tables.admin.database_changes import HandleDatabaseChange
from sakuin.tables.admin.eventbridge import EventBridgeBus
from sakuin.tables.admin.outbox import Outbox, PublishOutbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.embed_chunks import EmbedChunks, EmbedInEachVersion, EmbedWork
from sakuin.tables.index_table import IndexTable
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex, ToolSearch
from sakuin.tables.reconcile import ReconcileTables, TableSummaries
from sakuin.tables.recovery import RecordTableFailure, RestartTables
from sakuin.tables.search import SearchTable
<<<<<<< HEAD
from sakuin.tables.work import IndexInEachVersion, ToolWork
from sakuin.upkeep.maintain import Maintain
from sakuin.upkeep.resume_work import ResumeWork
=======
from sakuin.tables.work import EmbedInEachVersion, EmbedWork, IndexInEachVersion, RecordTableFailure, ToolWork
from sakuin.upkeep.maintain import Maintain, ResumeWork
>>>>>>> dba56d79da8a7c063c9e1c41997b4238b536b058

from tests.convergence.bus import ModelledBus
from tests.convergence.delivery import Delivery, Surprises, handler_of, silent
from tests.convergence.gates import Gate, away, aws_failure, shunned
from tests.convergence.passing import time_passes
from tests.convergence.tables_house import TablesHouse
from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.doubles.sqs import ModelledSqs

# Small, so that short texts have several chunks.
CUT = TableCut(threshold=12, chunk_size=16, overlap=4)
FINGERPRINT = TableIndexVersion(MODEL, CUT)
_TOOLS, _EMBEDS = "tools", "embeds"


@dataclass(frozen=True)
class FewAMessage:
    """`TableQueues` that makes two messages of a batch of four: batches of one Table overtake each other."""

    real: TableQueues

    def index(self, project_id: str, table_id: str, **asked: Any) -> None:
        self.real.index(project_id, table_id, **asked)

    def embed(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]], *, resumed: bool = False) -> None:
        small = [batch[at : at + 2] for batch in batches for at in range(0, len(batch), 2)]
        self.real.embed(project_id, table_id, small, resumed=resumed)

    def import_document(self, key: str) -> None:
        self.real.import_document(key)


@dataclass
class TablesWorld:
    """The services of one schedule. `store` may be swapped for one that is broken on purpose."""

    house: TablesHouse
    store: Any = None
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.store = self.store or self.house.store
        self.bus = ModelledBus(self.sqs, _TOOLS)
        self.index = TableIndex(self.house.client, FINGERPRINT)
        sqs = Gate(self.sqs, "sqs", aws_failure)
        self.tool_queue, self.embed_queue = SqsQueue(sqs, _TOOLS), SqsQueue(sqs, _EMBEDS)
        self.queues = FewAMessage(TableQueues(self.tool_queue, self.embed_queue, FINGERPRINT.id))
        embedder = Gate(MemoryEmbedder(), "openai", away("openai"), shunned("openai"))
        summaries = TableSummaries(self.house.client, FINGERPRINT.id)
        bodies = Gate({}, "s3", away("s3"))
        self.walk = IndexTable(self.index, bodies, self.store, self.queues, CUT, chunks_a_page=2)
        self.embed = EmbedChunks(self.index, self.store, embedder)
        self.reconcile = ReconcileTables(summaries, self.index, self.store, self.queues, lambda: "")
        bus = EventBridgeBus(Gate(self.bus, "bus", aws_failure), "bus")
        self.send_events = PublishOutbox(Outbox(self.house.client), bus)
        self.unfinished = UnfinishedWorkStore(self.house.client)
        self.give_up = RecordTableFailure(lambda: {FINGERPRINT.id: self.index})
        self.maintain = self._maintenance()
        self.handle = self._delivery(sqs)
        self.hear = HandleDatabaseChange(ProjectRecords(self.house.client))
        self.records = ToolSearch(self.house.client, FINGERPRINT.id)
        self.search = SearchTable(self.records, self.house.store, MemoryEmbedder())

    def _maintenance(self) -> Maintain:
        """As `bootstrap` puts it together."""
        nowhere: Any = None

        def has_backlog() -> bool:
            return not (self.tool_queue.is_empty() and self.embed_queue.is_empty())

        return Maintain(
            self.send_events,
            self.index,
            self.store,
            RestartTables(FINGERPRINT.id, self.index, self.queues, has_backlog, self.give_up),
            ResumeWork(self.unfinished, nowhere, lambda _fingerprint: self.queues),
            lambda: 0,
        )

    def _delivery(self, sqs: Gate) -> Delivery:
        """The functions of the two queues, as `bootstrap` puts them together."""
        surprises = Surprises()
        scan: Any = surprises.of(IndexInEachVersion(lambda: {FINGERPRINT.id: self.walk}))
        embed: Any = surprises.of(EmbedInEachVersion(lambda: {FINGERPRINT.id: self.embed}))
        nobody: Any = None
        handlers = {
            _TOOLS: handler_of(sqs, _TOOLS, ToolWork(scan, nobody, self.give_up, *silent()), self.unfinished),
            _EMBEDS: handler_of(sqs, _EMBEDS, EmbedWork(embed, self.give_up, *silent()), self.unfinished),
        }
        return Delivery(handlers, surprises, self.counts)

    def call(self, function: str, **arguments: Any) -> Any:
        """One of the functions that the API calls, for an admin."""
        return call(self.house.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def each_minute(self) -> bool:
        """What the schedule's function does each minute; whether there was anything to do."""
        done = self.maintain()
        return bool(done.sent or done.restarted or done.resumed)

    def each_night(self) -> bool:
        """What the schedule's function does at night; whether anything differed."""
        return bool(self.reconcile.page(None, dry_run=False, is_over=lambda: False).differences)

    def clear(self) -> None:
        """Leaves nothing of this schedule to the next."""
        for name in self.house.stand_in.listed("", "", 1000)["namespaces"]:
            self.house.stand_in.delete(name["id"])
        self.house.sql.execute("delete from project")
        self.house.sql.execute("delete from outbox")
        self.house.sql.execute("delete from table_namespace")
        self.house.sql.execute("delete from unfinished_work")

    def write_elsewhere(self, table: str, data: str, *, told: int) -> None:
        """A platform writes the record in the database itself; its webhook says so, so many times."""
        written = "update context_table set data = %s where id = %s returning id::text, project_id::text, generation"
        (found,) = self.house.sql.execute(written, [data, table]).fetchall()
        row = dict(zip(("id", "project_id", "generation"), found, strict=True))
        payload = {"type": "UPDATE", "table": "context_table", "record": row | {"data": data}, "old_record": row}
        for _ in range(told):
            self.hear(payload)

    def time_passes(self, seconds: int) -> None:
        """So many seconds, in the database."""
        time_passes(self.house.sql, seconds)
