"""Sakuin's MCP endpoint as a server: `prepared`, or over a database, with the vectors of the questions in a file.

`python -m benchmarks.comparison.own_server prepared`, or `library URL KEY FOLDER` with the URL of PostgREST itself.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sakuin.knowledge.model import Hit, KnowledgeAnswer
from sakuin.knowledge.postgres_search import ChunkSearch, Lexicon, PostgresChunks, ReadKnowledge
from sakuin.knowledge.search import SearchKnowledge
from sakuin.language.model import AnalyzedQuery
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel, Vector
from sakuin.platform.supabase.client import Client, connected
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin_local.embeddings.model import NAME
from starlette.applications import Starlette
from starlette.routing import Mount

from benchmarks.comparison.server import KEY, serve
from tests.events import Ring

VERSION = PageIndexVersion(EmbeddingModel(NAME, DIMENSIONS), TEXT_TEMPLATE, ANALYZER, "")
_HIT = Hit("p#a", "p.html#a", "t", "8", "8", ("a", "b", "c"), "rules", 0.9, "rule", "p", "p", None, None, "en", ())


def postgrest_of(folder: Path) -> str:
    """Returns the address of the PostgREST of a database in `folder`.

    It is called without the gateway of Supabase, whose stand-in is Python, and in the process of the callers.
    """
    return f"http://127.0.0.1:{json.loads((folder / 'ports.json').read_text())['postgrest']}"


def client_of(postgrest: str, key: str) -> Client:
    """Returns the product's client of a PostgREST without a gateway."""
    client = connected(postgrest, key)
    client.path = ""
    return client


@dataclass(frozen=True)
class StoredQuestions:
    """An `Embedder` with the vectors of known questions."""

    vectors: dict[str, Vector]

    @classmethod
    def of(cls, folder: Path) -> "StoredQuestions":
        """Those of a folder of `search.write_library`."""
        queries = json.loads((folder / "questions.json").read_text("utf-8"))
        rows = np.load(folder / "questions.npy")
        wide = np.zeros((len(rows), DIMENSIONS), dtype=np.float32)
        wide[:, : rows.shape[1]] = rows
        return cls(dict(zip(queries, wide.tolist(), strict=True)))

    def query(self, text: str) -> Vector:
        return self.vectors[text]


def prepared_search(query: str, **_wanted: Any) -> KnowledgeAnswer:
    """Answers every question with one small result, as the example of the SDK adds two numbers."""
    return KnowledgeAnswer(AnalyzedQuery(query, query, ()), (_HIT,), no_good_match=False)


def library_search(url: str, key: str, embedder: Any) -> tuple[SearchKnowledge, ReadKnowledge]:
    """Returns the search over a database, without any vocabulary."""
    client = client_of(url, key)
    search = SearchKnowledge(
        ChunkSearch(PostgresChunks(client), weights_of(NAME)), Lexicon(client), embedder, VERSION, ""
    )
    return search, ReadKnowledge(client, "")


def application_of(search: Any, read: Any) -> McpApp:
    """Returns the application of the function `mcp`, with this search alone and without a rate limit."""
    searches: Any = SimpleNamespace(knowledge_search=lambda version=None: search)
    ring: Any = Ring(KEY)
    return McpApp(knowledge_server(KnowledgeTools(searches, read), "0"), ring)


def main(kind: str, *where: str) -> None:
    """Serves until the process ends."""
    if kind == "prepared":
        # A search alone asks no database.
        no_client: Any = None
        app = application_of(prepared_search, ReadKnowledge(no_client, "https://example.test"))
    else:
        url, key, folder = where
        app = application_of(*library_search(url, key, StoredQuestions.of(Path(folder))))
    serve(Starlette(routes=[Mount("/", app)], lifespan=lambda _app: app.run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
