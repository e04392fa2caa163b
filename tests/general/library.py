"""A folder of pages in a world of pages, with a model that may be a real one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sakuin.explain.ask_mcp import ExplanationAsked
from sakuin.explain.explain import ExplainKnowledge
from sakuin.explain.explanation import SearchExplanation
from sakuin.knowledge.page import titles_text
from sakuin.knowledge.postgres_search import ChunkSearch, PostgresChunks
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.supabase.client import connected
from sakuin.retrieval.weights import weights_of
from sakuin.wiring.index_versions import own_index
from sakuin_local.supabase.database import Database, running_database

from tests.database_server import connection_to
from tests.general.cached_model import WIDTH, CachedModel
from tests.worlds import DEPLOYED, World

_MAX_PAGE_BYTES = 10_000_000


@dataclass(frozen=True)
class Library:
    """Indexed pages: `texts` are titles and content by the ids of their chunks."""

    texts: dict[str, str]
    explanations: ExplainKnowledge

    def explain(self, query: str, *, depth: int = 10) -> SearchExplanation:
        """How the library answers a question."""
        return self.explanations(ExplanationAsked(query=query, top_k=1, depth=depth))


@contextmanager
def indexed(
    folder: Path, model: CachedModel, *, vocabulary: str = "school-mathematics", learns: Path | None = None
) -> Iterator[Library]:
    """Every page of a folder, in a database of its own."""
    with TemporaryDirectory() as data, running_database(Path(data)) as database:
        yield library_in(database, folder, model, vocabulary=vocabulary, learns=learns)


def library_in(
    database: Database, folder: Path, model: CachedModel, *, vocabulary: str, learns: Path | None = None
) -> Library:
    """Every page of a folder, indexed in an empty database as the function of the material queue indexes it.

    `learns`: a file to use instead of the folder's own.
    """
    deployed = replace(DEPLOYED, embedding_model=EmbeddingModel(model.name, WIDTH), vocabulary=vocabulary)
    client = connected(database.rest_url, database.service_key)
    world = World(
        *(database, client, connection_to(database.dsn_postgres)),
        settings=own_index(deployed),
        vocabulary=vocabulary,
        embedders={deployed.embedding_model: model},
        max_page_bytes=_MAX_PAGE_BYTES,
    )
    world.searched = ChunkSearch(PostgresChunks(client), weights_of(model.name))
    for file in filter(Path.is_file, folder.rglob("*")):
        world.bucket.write(file.relative_to(folder).as_posix(), file.read_bytes())
    if learns:
        world.bucket.write("learns.yml", learns.read_bytes())
    world.settle()
    texts: dict[str, str] = {}
    for key in world.bucket.keys(""):
        if key.endswith(".html"):
            texts |= _texts(world, key)
    return Library(texts, ExplainKnowledge(world, world.read))


def _texts(world: World, key: str) -> dict[str, str]:
    material, page = key.removesuffix(".html"), read_page(world.bucket.read(key, max_bytes=_MAX_PAGE_BYTES).body)
    learns = {chunk.anchor: chunk.learns.items for chunk in world.chunks(material)}
    return {
        f"{material}#{item.anchor}": f"{titles_text(item, page.title, learns[item.anchor])}\n{item.content}"
        for item in page.explanations
    }
