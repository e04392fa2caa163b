"""The library of one schedule."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.sqs import SqsQueue
from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.wiring.index_versions import reconciling

from tests.convergence.world import MATERIALS, Backend, Scheduled
from tests.worlds import World

# So few that some pages are staged.
_TERMS = 60
_TABLES = (
    *("knowledge_chunks", "chunk_words", "posting", "reading", "competing_key", "upload_result", "site_synonyms"),
    *("authored_file", "pending_learns", "learns_cache", "material", "knowledge_vector"),
)


@dataclass
class MaterialsWorld(Scheduled, World):
    """The services of one schedule over a bucket of its own."""

    @classmethod
    def over(cls, backend: Backend, **parts: object) -> "MaterialsWorld":
        return cls(backend.database, backend.client, backend.sql, backend=backend, **parts)

    def __post_init__(self) -> None:
        World.__post_init__(self)
        Scheduled.__post_init__(self)
        events = self.events
        self.index = replace(events.index, terms_per_request=_TERMS)
        pages = replace(events.pages, index=self.index)
        asking = replace(events.ask_model, pages=pages)
        self.employ(MATERIALS, replace(events, index=self.index, pages=pages, ask_model=asking))
        self.compared = replace(reconciling(self.clients, self.kept)().materials, now=lambda: self.bucket.now)

    def kept(self) -> Sequence[StoredIndexVersion]:
        return ()

    def notify(self) -> None:
        """Sends the bucket's events to the queue."""
        for body in self.bucket.take_messages():
            self.sqs.send_message(QueueUrl=MATERIALS, MessageBody=body)

    def ask_again(self, key: str) -> None:
        """Requests that a page is indexed again."""
        name = unicodedata.normalize("NFC", key).removesuffix(".html")
        MaterialQueue(SqsQueue(self.sqs, MATERIALS)).reindex([name], reason="asked")

    def each_minute(self) -> bool:
        """Runs the maintenance of each minute; returns whether there was anything to do."""
        parts = self.maintenance
        return bool(parts.send_learns()) | bool(parts.announce_pages()) | bool(self.index.sweep_words())

    def waits_for_model(self) -> bool:
        """Returns whether any page waits for the language model."""
        return self.sql.execute("select 1 from pending_learns").fetchone() is not None

    def each_night(self) -> bool:
        """Runs the nightly maintenance; returns whether anything differed."""
        return bool(self.compared.keys(None, dry_run=False).differences)

    def look_at_bucket(self) -> bool:
        """Reconciles on command; returns whether anything differed."""
        return bool(self.compared.keys(None, dry_run=False, grace=timedelta(0)).differences)

    def time_passes(self, seconds: int) -> None:
        """Moves the clocks of the database and the bucket."""
        super().time_passes(seconds)
        self.bucket.now += timedelta(seconds=seconds)

    def clear(self) -> None:
        self.sql.execute("; ".join(f"delete from {table}" for table in _TABLES).encode())
