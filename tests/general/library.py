"""A folder of pages through the real services, on the real database, without Lambda."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sakuin.explain.ask_mcp import ExplanationAsked
from sakuin.explain.explain import ExplainKnowledge
from sakuin.explain.explanation import SearchExplanation
from sakuin.knowledge.index_page import IndexPage, PageVersion
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.model import Source, padded
from sakuin.knowledge.page import titles_text
from sakuin.knowledge.postgres import KnowledgeIndex, LearnsRecords
from sakuin.knowledge.postgres_search import ChunkSearch, Lexicon, PostgresChunks, ReadKnowledge
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.knowledge.search import SearchedPages, SearchKnowledge
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.supabase.client import connected
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin_local.supabase.database import Database, running_database

from tests.doubles.bucket import MemoryBucket
from tests.general.cached_model import WIDTH, CachedModel

_MAX_PAGE_BYTES = 10_000_000


@dataclass(frozen=True)
class Library:
    """Indexed pages: `texts` are titles and content by the ids of their chunks."""

    texts: dict[str, str]
    explanations: ExplainKnowledge

    def explain(self, query: str, *, depth: int = 10) -> SearchExplanation:
        """How the library answers a question."""
        return self.explanations(ExplanationAsked(query=query, top_k=1, depth=depth))


@dataclass(frozen=True)
class OneSearch:
    """The searches of a deployment with one index version."""

    search: SearchKnowledge

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        return self.search


@contextmanager
def indexed(folder: Path, model: CachedModel, *, vocabulary: str = "school-mathematics") -> Iterator[Library]:
    """Every page of a folder, in a database of its own."""
    with TemporaryDirectory() as data, running_database(Path(data)) as database:
        yield library_in(database, folder, model, vocabulary=vocabulary)


def library_in(database: Database, folder: Path, model: CachedModel, *, vocabulary: str) -> Library:
    """Every page of a folder, indexed in an empty database as the function of the material queue indexes it."""
    bucket = MemoryBucket()
    for file in filter(Path.is_file, folder.rglob("*")):
        bucket.write(file.relative_to(folder).as_posix(), file.read_bytes())
    client = connected(database.rest_url, database.service_key)
    index = KnowledgeIndex(client)
    learns = LearnsSources(bucket, LearnsRecords(client), None, "")
    fingerprint = PageIndexVersion(EmbeddingModel(model.name, WIDTH), TEXT_TEMPLATE, ANALYZER, vocabulary)
    pages = IndexPage(bucket, index, lambda _model: model, learns, fingerprint, _MAX_PAGE_BYTES)
    texts: dict[str, str] = {}
    for number, key in enumerate(key for key in bucket.keys("") if key.endswith(".html")):
        material = key.removesuffix(".html")
        version = str(bucket.current_version(key))
        source = Source("materials", key, version, padded(f"{number:06X}"))
        pages(PageVersion(material, key, version, source))
        texts |= _texts(bucket, learns, key, material)
    search = ChunkSearch(PostgresChunks(client), weights_of(model.name))
    pages = SearchedPages(search, model, fingerprint)
    searches = OneSearch(SearchKnowledge(lambda _live: pages, Lexicon(client), ""))
    return Library(texts, ExplainKnowledge(searches, ReadKnowledge(client, "")))


def _texts(bucket: MemoryBucket, learns: LearnsSources, key: str, material: str) -> dict[str, str]:
    page = read_page(bucket.read(key, max_bytes=_MAX_PAGE_BYTES).body)
    written = learns(key, material, page).learns
    return {
        f"{material}#{item.anchor}": f"{titles_text(item, written[item.anchor].items, page.title)}\n{item.content}"
        for item in page.explanations
    }
