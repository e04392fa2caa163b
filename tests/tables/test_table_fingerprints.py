"""Another model or chunker builds its index beside the old one, and never searches the other's vectors."""

from dataclasses import dataclass, field

from sakuin.adapters.supabase_tables import SupabaseTableIndex
from sakuin.domain.search_index_names import namespace
from sakuin.domain.table_cut import TableCut
from sakuin.domain.table_index import TableFingerprint
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.index_table import IndexTable
from sakuin.services.maintain import Maintain

from tests.in_memory.embedder import MODEL
from tests.tables.conftest import FINGERPRINT, TableWorld, long

SMALLER = TableCut(chunk_size=400, overlap=50)
OTHER = TableFingerprint(MODEL, SMALLER)


@dataclass
class Other(TableWorld):
    """The same project after the deployment's chunk size has changed."""

    cut: TableCut = field(default_factory=lambda: SMALLER)

    @property
    def index(self) -> SupabaseTableIndex:
        return SupabaseTableIndex(self.client, OTHER.id)

    @property
    def walk(self) -> IndexTable:
        return IndexTable(self.index, self.bodies, self.store, self.queues, self.cut, self.index.suffix())

    @property
    def embed(self) -> EmbedChunks:
        return EmbedChunks(self.index, self.store, self.embedder, self.index.suffix())

    @property
    def maintain(self) -> Maintain:
        return Maintain(lambda: 0, self.index, self.queues, self.store)  # type: ignore[arg-type]


def test_a_changed_chunk_size_builds_beside_the_old_index_and_then_takes_its_place(world: TableWorld) -> None:
    assert world.index.suffix() == ""
    table = world.table({"a": long("二次方程式の解の公式")})
    tool = world.tool(table, "")
    world.settle()
    other = Other(world.client, world.store, project=world.project)
    other.maintain()
    assert world.status(tool)["state"] == "pending"
    other.queues.index(world.project, table)
    other.settle()
    assert world.status(tool)["state"] == "ready"
    old, new = namespace(world.project, table), namespace(world.project, table, OTHER.id)
    assert set(world.store.namespaces(old)) == {old, new}
    other.maintain()
    assert list(world.store.namespaces(old)) == [new]
    assert world.index.work(table).whole == {}  # type: ignore[union-attr]


def test_a_whole_index_is_wanted_anew_once_only(world: TableWorld) -> None:
    table = world.table({"a": long("一次関数の傾き")})
    world.tool(table, "")
    world.settle()
    other = Other(world.client, world.store, project=world.project)
    assert other.index.want_outdated() >= 1
    assert other.index.want_outdated() == 0
    assert FINGERPRINT.id != OTHER.id
