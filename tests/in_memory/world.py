"""The whole product on in-memory adapters: what `bootstrap` is to the cloud."""

from dataclasses import dataclass, field

from sakuin.domain.page import DEFAULT_BOX_SELECTORS
from sakuin.entrypoints.material_messages import changes
from sakuin.services.apply_page import ApplyPage
from sakuin.services.follow_bucket import FollowBucket, Followed
from sakuin.services.learns_sources import LearnsSources
from sakuin.services.library import Library
from sakuin.services.read_knowledge import ReadKnowledge
from sakuin.services.search_knowledge import SearchKnowledge

from tests.in_memory.bucket import MemoryBucket
from tests.in_memory.embedder import FINGERPRINT, MemoryEmbedder
from tests.in_memory.index import MemoryIndex
from tests.in_memory.learns_model import MemoryLearnsModel
from tests.in_memory.lexicon import MemoryLexicon
from tests.in_memory.projects import MemoryBodies, MemoryBus, MemoryProjects
from tests.in_memory.queue import MemoryQueue
from tests.in_memory.records import MemoryRecords
from tests.in_memory.search import MemorySearch
from tests.in_memory.secret import MemorySecret


@dataclass
class World:
    """Adapters that remember, and the services over them. `model` None means that no language model is asked."""

    model: MemoryLearnsModel | None = None
    prefix: str = ""
    base_url: str = ""
    max_page_bytes: int = 1_000_000
    box_selectors: tuple[str, ...] = DEFAULT_BOX_SELECTORS
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    embedder: MemoryEmbedder = field(default_factory=MemoryEmbedder)
    projects: MemoryProjects = field(default_factory=MemoryProjects)
    bodies: MemoryBodies = field(default_factory=MemoryBodies)
    bus: MemoryBus = field(default_factory=MemoryBus)
    secret: MemorySecret = field(default_factory=MemorySecret)
    key_days: dict[str, str] = field(default_factory=dict)

    @property
    def apply_page(self) -> ApplyPage:
        learns = LearnsSources(self.bucket, self.index, self.model, self.prefix)
        return ApplyPage(self.bucket, self.index, self.embedder, learns, FINGERPRINT, self.max_page_bytes)

    @property
    def follow(self) -> FollowBucket:
        return FollowBucket(self.bucket, self.index, self.queue, self.apply_page, self.prefix)

    @property
    def records(self) -> MemoryRecords:
        return MemoryRecords(self.index)

    @property
    def search(self) -> SearchKnowledge:
        return SearchKnowledge(
            MemorySearch(self.index), MemoryLexicon(self.index), self.embedder, FINGERPRINT, self.base_url
        )

    @property
    def read(self) -> ReadKnowledge:
        return ReadKnowledge(MemorySearch(self.index), self.base_url)

    @property
    def library(self) -> Library:
        return Library(
            records=self.records,
            index=self.index,
            bucket=self.bucket,
            queue=self.queue,
            prefix=self.prefix,
            fingerprint=FINGERPRINT.id,
            max_page_bytes=self.max_page_bytes,
            box_selectors=self.box_selectors,
        )

    def put(self, key: str, body: bytes) -> str:
        """Uploads a file and follows everything that comes of it; gives the version."""
        version = self.bucket.write(key, body)
        self.settle()
        return version

    def settle(self) -> list[Followed]:
        """Follows the messages of bucket and queue, oldest first, until there are none; delays pass at once."""
        done: list[Followed] = []
        while messages := [*self.bucket.take_messages(), *self.queue.take_messages()]:
            done += [self.follow(change) for body in messages for change in changes(body)]
        return done
