"""Materials on the real adapters: each call of a worker stops at a gate, each event waits for the schedule."""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
from sakuin.adapters.sqs import SqsWorkQueue
from sakuin.adapters.supabase_client import connected
from sakuin.adapters.supabase_index import SupabaseIndex
from sakuin.adapters.supabase_reconciliation import SupabaseLibraryRecords
from sakuin.adapters.supabase_search import SupabaseSearch
from sakuin.entrypoints.material_messages import changes
from sakuin.errors import Unavailable
from sakuin.services.apply_page import ApplyPage
from sakuin.services.follow_bucket import FollowBucket
from sakuin.services.learns_sources import LearnsSources
from sakuin.services.reconcile_materials import ReconcileMaterials
from sakuin_local.database import Database
from supabase import Client

from tests.convergence.gates import Gate, aws_failure, gated
from tests.convergence.queues import Message, ModelledSqs
from tests.in_memory.bucket import MemoryBucket
from tests.in_memory.embedder import CALIBRATION, FINGERPRINT, MemoryEmbedder

_QUEUE = "materials"
_TABLES = (
    *("knowledge_chunks", "chunk_words", "posting", "reading", "waiting_source", "receipt", "site_synonyms"),
    *("followed_file", "material"),
)


@dataclass(frozen=True)
class MaterialsHouse:
    """What all schedules share."""

    client: Client
    sql: psycopg.Connection


@contextmanager
def materials_house(database: Database) -> Iterator[MaterialsHouse]:
    """Opens the house."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        client = connected(database.rest_url, database.service_key)
        gated(client.session, "supabase")
        yield MaterialsHouse(client, sql)


def _no_answer() -> Exception:
    return Unavailable("as the schedule has it")


@dataclass
class MaterialsWorld:
    """The services of one schedule over a bucket of its own."""

    house: MaterialsHouse
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)

    def __post_init__(self) -> None:
        bucket = Gate(self.bucket, "s3", _no_answer)
        self.index = SupabaseIndex(self.house.client)
        queue = SqsWorkQueue(Gate(self.sqs, "sqs", aws_failure), _QUEUE)
        embedder = Gate(MemoryEmbedder(), "openai", _no_answer)
        learns = LearnsSources(bucket, self.index, None, "")
        apply_page = ApplyPage(bucket, self.index, embedder, learns, FINGERPRINT, 1_000_000)
        self.follow = FollowBucket(bucket, self.index, queue, apply_page, "")
        records = SupabaseLibraryRecords(self.house.client)
        self.reconcile = ReconcileMaterials(bucket, records, queue, "", lambda: datetime.now(UTC))
        self.search = SupabaseSearch(self.house.client, CALIBRATION)

    def notify(self) -> None:
        """S3 tells the queue what happened in the bucket."""
        for body in self.bucket.take_messages():
            self.sqs.send_message(QueueUrl=_QUEUE, MessageBody=body)

    def ask_again(self, key: str) -> None:
        """Somebody asks for a page to be applied again."""
        name = unicodedata.normalize("NFC", key).removesuffix(".html")
        SqsWorkQueue(self.sqs, _QUEUE).reapply([name], reason="asked")

    def handle(self, message: Message) -> None:
        """What the queue's function does with a message."""
        for change in changes(message.body):
            self.follow(change)

    def look_at_bucket(self) -> bool:
        """What the schedule's function does in the end; whether anything differed."""
        return bool(self.reconcile.keys(None, dry_run=False, settling=timedelta(0)).differences)

    def clear(self) -> None:
        """Leaves nothing of this schedule to the next."""
        for table in _TABLES:
            self.house.sql.execute(f"delete from {table}".encode())  # noqa: S608
