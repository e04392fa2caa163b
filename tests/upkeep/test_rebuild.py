"""All that is derived is gone, from the database and from the store: reconciliation builds it again."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.index_page import IndexPage
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.model import Source
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon
from sakuin.knowledge.queue import MaterialQueue
from sakuin.knowledge.reconcile import ReconcileMaterials
from sakuin.knowledge.search import SearchKnowledge
from sakuin.platform.queue_handler import QueueHandler
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.tables.reconcile import ReconcileTables, TableClaims
from sakuin.upkeep.reconcile import KINDS, Reconcile, ReconciliationRuns
from sakuin_local.database import Database

from tests.builders import a_page
from tests.convergence.delivery import handler_of, silent
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import CALIBRATION, FINGERPRINT, MemoryEmbedder
from tests.doubles.sqs import ModelledSqs
from tests.events import Context
from tests.table_world import FINGERPRINT as OF_TABLES
from tests.table_world import TableWorld, long

# What a backup of the records alone holds; the buckets are the other half.
SOURCES = {"project", "project_member", "context_table", "tool", "mcp", "mcp_binding", "schema_migrations"}
QUEUE = "materials"
A, B = long("二次方程式の解の公式"), long("一次関数の傾き")


@dataclass
class Deployment:
    """Pages and Tables of one deployment, on the real database and the real store's stand-in."""

    tables: TableWorld
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    embedder: MemoryEmbedder = field(default_factory=MemoryEmbedder)

    @property
    def queue(self) -> MaterialQueue:
        return MaterialQueue(SqsQueue(self.sqs, QUEUE))

    @property
    def unfinished(self) -> UnfinishedWorkStore:
        return UnfinishedWorkStore(self.tables.client)

    @property
    def handler(self) -> QueueHandler:
        """The function that indexes materials."""
        index = KnowledgeIndex(self.tables.client)
        pages = IndexPage(
            self.bucket, index, self.embedder, LearnsSources(self.bucket, index, None, ""), FINGERPRINT, 1_000_000
        )
        work = BucketEvents(self.bucket, index, self.queue, pages, "", *silent())
        return handler_of(self.sqs, QUEUE, work, self.unfinished)

    @property
    def reconcile(self) -> Reconcile:
        tables, client = self.tables, self.tables.client
        now = datetime.now(UTC) + timedelta(hours=1)
        return Reconcile(
            ReconcileMaterials(self.bucket, MaterialRecords(client), self.unfinished, self.queue, "", lambda: now),
            ReconcileTables(
                TableClaims(client, OF_TABLES.id),
                tables.index,
                tables.store,
                tables.queues,
                tables.index.namespace_suffix,
            ),
            ReconciliationRuns(client),
            lambda: 0.0,
            lambda: True,
        )

    def settle(self) -> None:
        for body in self.bucket.take_messages():
            self.sqs.send_message(QueueUrl=QUEUE, MessageBody=body)
        while self.sqs.waiting:
            message = self.sqs.receive(0)
            answer = self.handler.handle({"Records": [message.as_record()]}, Context())
            assert answer == {"batchItemFailures": []}
            self.sqs.delete(message.id)
        self.tables.settle()

    def reconciled(self) -> list[tuple[str, str]]:
        """Asks for all parts, page by page, as the command does; what differed."""
        found: list[Any] = []
        for kind in KINDS:
            after = None
            while True:
                walked = self.reconcile.page(kind, after, dry_run=False, seconds=10)
                found += walked.differences
                after = walked.after
                if after is None:
                    break
        self.settle()
        return [(one.rule, one.where) for one in found]

    def answers(self, endpoint: str) -> object:
        """What agents get of both."""
        search = SearchKnowledge(
            KnowledgeSearch(self.tables.client, CALIBRATION),
            Lexicon(self.tables.client),
            self.embedder,
            FINGERPRINT,
            "",
        )
        asked = ("解の公式", "みはじの使い方", "公式で解く方法")
        pages = [[(hit.id, hit.learns) for hit in search(query).results] for query in asked]
        return pages, self.tables.found(endpoint, "解の公式"), self.tables.found(endpoint, "傾き")


@pytest.fixture
def deployment(tables: TableWorld) -> Deployment:
    return Deployment(tables)


def test_an_emptied_index_answers_as_before_once_nothing_differs_any_more(
    deployment: Deployment, database: Database
) -> None:
    tables, bucket = deployment.tables, deployment.bucket
    bucket.write("learns.yml", "二次_教材:\n  rule-a: [公式で解く方法, 係数の読み方, 解の確かめ方]\n".encode())
    bucket.write("synonyms.yml", "- [速さの公式, みはじ]\n".encode())
    bucket.write("二次_教材.html", a_page({"rule-a": "解の公式: 係数を代入する。", "ex-1": "例: 解いてみる。"}))
    bucket.write("速さ_教材.html", a_page({"rule-a": "速さの公式: 道のりを時間で割る。"}))
    bucket.write("gone.html", a_page({"rule-a": "消える: もうない。"}))
    bucket.remove("gone.html")
    table = tables.table({"a": A, "b": B})
    tool = tables.tool(table, "")
    endpoint = tables.endpoint(tool)
    deployment.settle()
    before, rows = deployment.answers(endpoint), tables.rows(table).keys()
    assert deployment.reconciled() == []

    for name in tables.store.namespaces(""):
        tables.store.delete_namespace(name)
    forget_what_is_derived(database)
    assert deployment.answers(endpoint) != before

    first = deployment.reconciled()
    assert first == [
        ("unread", "learns.yml"),
        ("unread", "synonyms.yml"),
        ("missing", "二次_教材.html"),
        ("missing", "速さ_教材.html"),
        ("unbuilt", table),
    ]
    assert deployment.reconciled() == []
    assert (deployment.answers(endpoint), tables.rows(table).keys()) == (before, rows)
    assert tables.status(tool)["state"] == "ready"


def test_a_deployment_whose_emulator_and_store_forgot_everything_follows_again(deployment: Deployment) -> None:
    tables, bucket = deployment.tables, deployment.bucket
    for number in range(3):
        bucket.write("a.html", a_page({"rule-a": f"解の公式: {number}の版。"}))
        bucket.write("b.html", a_page({"rule-a": f"一次関数: {number}の版。"}))
    table = tables.table({"a": A})
    endpoint = tables.endpoint(tables.tool(table, ""))
    deployment.settle()
    bucket.begin_anew()
    for name in tables.store.namespaces(""):
        tables.store.delete_namespace(name)
    bucket.write("a.html", a_page({"rule-a": "解の公式: 新しい版。"}))
    deployment.settle()
    assert deployment.reconciled() == [("gone", "b.html"), ("lost", table)]
    assert deployment.reconciled() == []
    state = KnowledgeIndex(tables.client).state("a")
    assert state is not None
    assert state.source == Source("materials", "a.html", bucket.current_version("a.html"), state.source.sequencer)
    assert tables.found(endpoint, "解の公式") == {"/a"}


def forget_what_is_derived(database: Database) -> None:
    """Leaves what a backup of the records holds."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as connection:
        tables = [row[0] for row in connection.execute("select tablename from pg_tables where schemaname = 'public'")]
        derived = [f"public.{name}" for name in tables if name not in SOURCES]
        connection.execute(f"truncate {', '.join(derived)}".encode())
