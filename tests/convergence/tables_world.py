"""The services over Tables, as `bootstrap` puts them together, for one schedule."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.adapters.eventbridge import EventBridgeBus
from sakuin.adapters.sqs import SqsWorkQueue
from sakuin.adapters.sqs_tables import SqsTableQueues
from sakuin.adapters.sqs_work import SqsWorkQueues
from sakuin.adapters.supabase_client import call
from sakuin.adapters.supabase_outbox import SupabaseOutbox
from sakuin.adapters.supabase_projects import SupabaseProjects
from sakuin.adapters.supabase_reconciliation import SupabaseTableClaims
from sakuin.adapters.supabase_tables import SupabaseTableIndex, SupabaseToolSearch
from sakuin.adapters.supabase_work import SupabaseWork
from sakuin.bootstrap.aws import postponing, sending_again
from sakuin.domain.table_cut import TableCut
from sakuin.domain.table_index import TableFingerprint
from sakuin.domain.work import WorkQueueName
from sakuin.entrypoints.sqs_tables import embed_handler, tool_handler
from sakuin.services.compare_store import CountTable
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.every_index import EmbedEverywhere, IndexEverywhere
from sakuin.services.give_up_table import GiveUpTable
from sakuin.services.give_up_work import GiveUpWork
from sakuin.services.hear_of_changes import HearOfChanges
from sakuin.services.index_table import IndexTable
from sakuin.services.maintain import Maintain
from sakuin.services.reconcile_tables import ReconcileTables
from sakuin.services.restart_tables import RestartTables
from sakuin.services.search_table import SearchTable
from sakuin.services.send_due_work import SendDueWork, SentWork
from sakuin.services.send_events import SendEvents

from tests.convergence.delivery import Delivery, Holding, Surprises, unwatched
from tests.convergence.gates import Gate, away, aws_failure, shunned
from tests.convergence.passing import time_passes
from tests.convergence.queues import DEAD_LETTERS, ModelledBus, ModelledSqs
from tests.convergence.tables_house import TablesHouse
from tests.in_memory.embedder import MODEL, MemoryEmbedder

# Small, so that short texts have several chunks.
CUT = TableCut(threshold=12, chunk_size=16, overlap=4)
FINGERPRINT = TableFingerprint(MODEL, CUT)
_TOOLS, _EMBEDS = "tools", "embeds"


@dataclass(frozen=True)
class FewAMessage:
    """`TableQueues` that makes two messages of a batch of four: batches of one Table overtake each other."""

    real: SqsTableQueues

    def index(self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0) -> None:
        self.real.index(project_id, table_id, generation=generation, skip=skip)

    def embed(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        small = [batch[at : at + 2] for batch in batches for at in range(0, len(batch), 2)]
        self.real.embed(project_id, table_id, small)


@dataclass
class TablesWorld:
    """The services of one schedule. `store` and what sends due work may be swapped for what is broken on purpose."""

    house: TablesHouse
    store: Any = None
    send_due: Callable[[SendDueWork], Callable[[], SentWork]] = lambda whole: whole
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.store = self.store or self.house.store
        self.bus = ModelledBus(self.sqs, _TOOLS)
        self.index = SupabaseTableIndex(self.house.client, FINGERPRINT)
        sqs = Gate(self.sqs, "sqs", aws_failure)
        self.queues = FewAMessage(SqsTableQueues(sqs, _TOOLS, _EMBEDS))
        embedder = Gate(MemoryEmbedder(), "openai", away("openai"), shunned("openai"))
        claims = SupabaseTableClaims(self.house.client, FINGERPRINT.id)
        count = CountTable(self.store, claims)
        bodies = Gate({}, "s3", away("s3"))
        self.walk = IndexTable(self.index, bodies, self.store, self.queues, CUT, nodes_a_page=2, count=count)
        self.embed = EmbedChunks(self.index, self.store, embedder, count=count)
        self.reconcile = ReconcileTables(claims, self.index, self.store, self.queues, lambda: "")
        bus = EventBridgeBus(Gate(self.bus, "bus", aws_failure), "bus")
        self.send_events = SendEvents(SupabaseOutbox(self.house.client), bus)
        self.rows = SupabaseWork(self.house.client)
        self.maintain = self._maintenance(sqs)
        self.handle = self._delivery(SqsWorkQueue(sqs, _TOOLS), SqsWorkQueue(sqs, _EMBEDS))
        self.hear = HearOfChanges(SupabaseProjects(self.house.client))
        self.records = SupabaseToolSearch(self.house.client, FINGERPRINT.id)
        self.search = SearchTable(self.records, self.house.store, MemoryEmbedder())

    def _maintenance(self, sqs: Gate) -> Maintain:
        """As `bootstrap` puts it together."""
        queues: dict[WorkQueueName, str] = {"tool": _TOOLS, "embed": _EMBEDS}
        letters: dict[WorkQueueName, str] = {name: queue + DEAD_LETTERS for name, queue in queues.items()}
        work_queues = SqsWorkQueues(sqs, queues, letters)
        nowhere: Any = None
        return Maintain(
            self.send_events,
            self.index,
            self.store,
            RestartTables(FINGERPRINT.id, self.index, self.queues, self.rows, work_queues, GiveUpTable(self.index)),
            self.send_due(SendDueWork(self.rows, work_queues, GiveUpWork(nowhere, self._give_up))),
            lambda: 0,
        )

    def _delivery(self, tools: SqsWorkQueue, embeds: SqsWorkQueue) -> Delivery:
        """The functions of the two queues, as `bootstrap` puts them together."""
        surprises, hold = Surprises(), Holding(self.rows, self.counts)
        walk: Any = surprises.of(IndexEverywhere(lambda: {FINGERPRINT.id: self.walk}))
        embed: Any = surprises.of(EmbedEverywhere(lambda: {FINGERPRINT.id: self.embed}))
        nobody: Any = None
        handlers = {
            _TOOLS: tool_handler(
                walk, nobody, self._give_up, postponing(tools), *unwatched(), hold=hold, send_again=sending_again(tools)
            ),
            _EMBEDS: embed_handler(
                embed, self._give_up, postponing(embeds), *unwatched(), hold=hold, send_again=sending_again(embeds)
            ),
        }
        return Delivery(handlers, surprises)

    def _give_up(self, table_id: str, reason: str, _fingerprint: str | None) -> None:
        GiveUpTable(self.index)(table_id, reason)

    def call(self, function: str, **arguments: Any) -> Any:
        """One of the functions that the API calls, for an admin."""
        return call(self.house.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def each_minute(self) -> bool:
        """What the schedule's function does each minute; whether there was anything to do."""
        done = self.maintain()
        found = self.reconcile.counted(limit=10, is_over=lambda: False)
        return bool(done.sent or done.restarted or done.resent or done.buried or found)

    def clear(self) -> None:
        """Leaves nothing of this schedule to the next."""
        for name in self.house.stand_in.listed("", "", 1000)["namespaces"]:
            self.house.stand_in.delete(name["id"])
        self.house.sql.execute("delete from project")
        self.house.sql.execute("delete from outbox")
        self.house.sql.execute("delete from table_namespace")
        self.house.sql.execute("delete from work")

    def write_elsewhere(self, table: str, data: str, *, told: int) -> None:
        """A platform writes the record in the database itself; its webhook says so, so many times."""
        written = "update context_table set data = %s where id = %s returning id::text, project_id::text, generation"
        (found,) = self.house.sql.execute(written, [data, table]).fetchall()
        row = dict(zip(("id", "project_id", "generation"), found, strict=True))
        payload = {"type": "UPDATE", "table": "context_table", "record": row | {"data": data}, "old_record": row}
        for _ in range(told):
            self.hear(payload)

    def in_rows(self) -> set[str]:
        """The names of the rows of work."""
        return {row.id for row in self.rows.rows()}

    def time_passes(self, seconds: int) -> None:
        """So many seconds, in the database and over the messages."""
        time_passes(self.house.sql, seconds)
        self.sqs.passes(seconds)
