"""Sakuin's MCP endpoint as a server over a database, with the stored vectors of the questions.

`python -m benchmarks.comparison.own_server PORT KEY` with the port of PostgREST itself.
"""

import json
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sakuin.knowledge.postgres_search import ChunkSearch, Lexicon, PostgresChunks, ReadKnowledge
from sakuin.knowledge.search import SearchedPages, SearchKnowledge
from sakuin.mcp.admission import Admission
from sakuin.mcp.app import mcp_app
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel
from sakuin.platform.supabase.client import connected
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin_local.embeddings.model import NAME
from starlette.applications import Starlette

from benchmarks.comparison.server import KEY, serve
from benchmarks.general import VECTORS
from tests.events import Ring
from tests.general.cached_model import CachedModel
from tests.rest_prefix import served_below_prefix

VERSION = PageIndexVersion(EmbeddingModel(NAME, DIMENSIONS), TEXT_TEMPLATE, ANALYZER, "")


def postgrest_of(folder: Path) -> int:
    """Returns the port of the PostgREST of a database in `folder`, for `served_below_prefix`.

    It is called without the gateway of Supabase, whose stand-in is Python, and in the process of the callers.
    """
    return int(json.loads((folder / "ports.json").read_text())["postgrest"])


def library_search(url: str, key: str, embedder: Any) -> tuple[SearchKnowledge, ReadKnowledge]:
    """Returns the search over a database, without any vocabulary."""
    client = connected(url, key)
    pages = SearchedPages(ChunkSearch(PostgresChunks(client), weights_of(NAME)), embedder, VERSION)
    return SearchKnowledge(lambda _live: pages, Lexicon(client), ""), ReadKnowledge(client, "")


def application_of(search: Any, read: Any) -> Starlette:
    """Returns the application of the function `mcp`, with this search alone and without a rate limit."""
    searches: Any = SimpleNamespace(knowledge_search=lambda version=None: search)
    ring: Any = Ring(KEY)
    nothing: Any = None
    return mcp_app(Admission(ring), KnowledgeTools(searches, read), SearchTools(nothing))


def main(port: str, key: str) -> None:
    """Serves until the process ends."""
    # After the first run no vector is read from the file again.
    embedded = cache(CachedModel.in_file(VECTORS).questions)
    embedder = SimpleNamespace(questions=lambda texts: embedded(tuple(texts)))
    with served_below_prefix(int(port)) as url:
        serve(application_of(*library_search(url, key, embedder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
