"""The Tables of one schedule."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from sakuin.retrieval.index_version import IndexVersion, TableCut
from sakuin.upkeep.maintain import Maintain
from sakuin.wiring import maintain
from sakuin.wiring.index_versions import reconciling

from tests.convergence.world import Backend, Scheduled
from tests.events import s3_message
from tests.worlds import EMBEDS, SETTINGS, TOOLS, Doubles, TableWorld

# Small, so that short texts have several chunks.
CUT = TableCut(chunk_size=16, overlap=4)
THRESHOLD = 12
# The index version that answers, and the deployed one, which is built beside it.
LIVE = replace(SETTINGS, cut=CUT)
BESIDE = replace(LIVE, cut=TableCut(chunk_size=24, overlap=6))
_TABLES = (
    *("context_table", "node", "chunks", "chunk_vector", "table_reading", "table_object", "project", "index_version"),
    *("orphaned_upload", "outbox", "table_namespace", "deletion"),
)
_NOT_OF_TABLES = ("delete_uploads", "send_learns", "write_quotas", "delete_questions")


@dataclass(kw_only=True)
class TablesWorld(Scheduled, TableWorld):
    """The services of one schedule.

    `two_versions`: another index version is kept beside the one that answers. `processed` are the keys of the uploads
    whose event was processed.
    """

    settings: IndexVersion = LIVE
    chunks_a_page: int = 2
    two_versions: bool = False
    # The endpoint of the project.
    mcp: str = ""
    processed: set[str] = field(default_factory=set)

    @classmethod
    def over(cls, backend: Backend, **parts: Any) -> "TablesWorld":
        return cls(backend.client, backend.store, dsn=backend.database.dsn, backend=backend, **parts)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.build = maintain.building(self.clients)
        self.record(*(LIVE, BESIDE)[: 1 + self.two_versions])
        stored = self.kept()
        self.versions = lambda: stored
        self.compared = reconciling(self.clients, self.kept)().tables
        tool: Any = self.work(TOOLS)
        self.import_document = tool.import_document
        self.employ(TOOLS, replace(tool, import_document=self._import))
        self.employ(EMBEDS, self.work(EMBEDS))

    @property
    def clients(self) -> Doubles:
        return self.clients_with(table_cut=BESIDE.cut)

    def _import(self, table_id: str, upload: int, key: str) -> bool:
        imported: bool = self.import_document(table_id, upload, key)
        self.processed.add(key)
        return imported

    @property
    def maintenance(self) -> Maintain:
        """Returns the maintenance of Tables alone."""
        parts: dict[str, Any] = dict.fromkeys(_NOT_OF_TABLES, lambda: 0)
        return replace(super().maintenance, **parts)

    def send_events(self) -> int:
        return self.maintenance.publish_events()

    def upload(self, table: str, body: bytes) -> str:
        """Somebody uploads a document to the bucket; its event is in the queue. Returns its key."""
        upload = self.call("begin_upload", table=table, bytes=len(body))["upload"]
        key = f"tables/{self.project}/{table}/{upload}.json"
        self.bodies.write(key, body)
        self.sqs.send_message(QueueUrl=TOOLS, MessageBody=json.dumps(s3_message(key, bucket="tables")))
        return key

    def each_minute(self) -> bool:
        """Runs the maintenance of each minute; returns whether there was anything to do."""
        if self.two_versions:
            self.build()
        done = self.maintain()
        return any(done[part] for part in ("events", "restarted", "completed"))

    def each_night(self) -> bool:
        """Runs the nightly maintenance; returns whether anything differed."""
        differed, after = False, None
        while True:
            page = self.compared.page(after, dry_run=False, is_over=lambda: False)
            differed |= bool(page.differences)
            if page.after is None:
                return differed
            after = page.after

    def clear(self) -> None:
        for name in self.backend.stand_in.listed("", "", 1000)["namespaces"]:
            self.backend.stand_in.delete(name["id"])
        self.sql("; ".join(f"delete from {table}" for table in _TABLES))

    def write_elsewhere(self, table: str, data: str) -> None:
        """A platform writes the record in the database itself."""
        self.sql("update context_table set data = %s where id = %s", data, table)
