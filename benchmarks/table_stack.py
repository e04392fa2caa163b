"""What Tables need, without Lambda: the database and the store's stand-in as programs, and an embedder in memory."""

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from postgrest import SyncPostgrestClient as Client
from sakuin.platform.embedding import Embedder, EmbeddingModel, Vector
from sakuin.platform.supabase.client import call, connected
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.retrieval.index_version import TableCut, TableIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin.tables.embed_chunks import EmbedChunks
from sakuin.tables.index_table import IndexTable
from sakuin.tables.model import BoundTool, Endpoint, PendingUpload
from sakuin.tables.postgres import TableIndex, ToolSearch
from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
from sakuin_local.addresses import free_port
from sakuin_local.processes import Programs
from sakuin_local.supabase.database import running_database
from sakuin_local.vendors import start_turbopuffer

from tests.doubles.queue import MemoryQueues

MODEL = EmbeddingModel("hashed", 1536)
WEIGHTS = replace(weights_of("hashed"), mean=0.0, spread=0.03, known=1_000)
CUT = TableCut()
FINGERPRINT = TableIndexVersion(MODEL, CUT)
# The kind of a worker, and its arguments.
Message = tuple[Any, ...]
_SENTENCES = (
    "二次方程式 ax^2 + bx + c = 0 は、解の公式 x = (-b ± √(b^2 - 4ac)) / 2a で解くことができます。",
    "The slope of y = ax + b は、x が 1 増えたときに y がどれだけ増えるかを表す数です。",
    "三平方の定理によると、直角三角形の斜辺の 2 乗は、ほかの 2 辺の 2 乗の和に等しくなります。",
    "確率は、起こりうるすべての場合が同じ程度に期待できるとき、(case count) / (all cases) で求めます。",
    "方程式の両辺に同じ数を足しても、同じ数を掛けても、等しいという関係 (equality) は変わりません。\n\n",
)


def large_string(number: int) -> str:
    """About 2.5 kB, different for each number: between 1,140 and 1,210 characters, so two chunks."""
    text = f"記事 {number} 番 (article no. {number})。"
    turn = number
    while len(text) < 1140:
        turn = (turn * 1103515245 + 12345) % 2**31
        text += f"[{number}-{turn % 997}] " + _SENTENCES[turn // 65536 % len(_SENTENCES)]
    return text


@dataclass
class HashedEmbedder:
    """An `Embedder` with vectors out of a text's hash. `calls` has the number of texts of each call."""

    calls: list[int] = field(default_factory=list)

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(len(texts))
        seeds = (np.random.default_rng(zlib.crc32(text.encode())) for text in texts)
        return [seed.standard_normal(MODEL.dimensions).tolist() for seed in seeds]


@dataclass(frozen=True)
class Stack:
    """Where everything is; what speaks to it is built once in each process."""

    folder: Path
    rest_url: str
    service_key: str
    store_url: str

    def __reduce__(self) -> tuple[Any, ...]:
        return _stack, (self.folder, self.rest_url, self.service_key, self.store_url)

    @cached_property
    def client(self) -> Client:
        return connected(self.rest_url, self.service_key)

    @cached_property
    def index(self) -> TableIndex:
        return TableIndex(self.client, FINGERPRINT)

    @cached_property
    def records(self) -> ToolSearch:
        return ToolSearch(self.client, FINGERPRINT.id)

    @cached_property
    def store(self) -> TurbopufferChunkStore:
        return TurbopufferChunkStore(store_connected(self.store_url, "any"))

    @cached_property
    def embedder(self) -> HashedEmbedder:
        return HashedEmbedder()

    def call(self, function: str, **arguments: Any) -> Any:
        """An SQL function, on behalf of an admin."""
        return call(self.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def upload(self, project: str, table: str, document: object) -> None:
        """Stores the next version of a Table's document."""
        upload = self.call("begin_upload", table=table)["upload"]
        key = PendingUpload(project, table, upload).key
        file = self.folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        self.call("finish_upload", table=table, upload=upload, key=key, error=None)

    def work(self, message: Message, embedder: Embedder) -> list[Message]:
        """Gives a message to its worker; returns the messages that the worker sent."""
        kind, project, table, *rest = message
        queues: Any = MemoryQueues()
        if kind == "index":
            bodies: Any = SimpleNamespace(read=lambda key, max_bytes: (self.folder / key).read_bytes())
            IndexTable(self.index, bodies, self.store, queues, CUT)(project, table, generation=rest[0], skip=rest[1])
        else:
            EmbedChunks(self.index, self.store, embedder)(project, table, rest[0])
        asked: list[Message] = queues.asked
        return asked

    def index_document(self, project: str, table: str, document: object, embedder: Embedder) -> None:
        """Indexes the next version of a Table's document, one message after the other."""
        self.upload(project, table, document)
        messages: list[Message] = [("index", project, table, None, 0)]
        while messages:
            messages += self.work(messages.pop(0), embedder)

    def tool_over(self, project: str, table: str, json_path: str) -> tuple[Endpoint, BoundTool]:
        """A new tool, bound to a new endpoint."""
        place = {"project": project, "table": table, "json_path": json_path}
        tool = self.call("create_tool", **place, name="search", description="d")["id"]
        made = self.call("create_mcp", project=project, name="e", key_hash="0" * 64, tools=[tool])
        endpoint = self.records.endpoint(made["id"])
        if endpoint is None:
            raise LookupError("The endpoint that was just made is not there")
        return endpoint, endpoint.tools[0]


@cache
def _stack(*places: Any) -> Stack:
    return Stack(*places)


@contextmanager
def running() -> Iterator[Stack]:
    """The stack in a folder of its own, gone when the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="sakuin-benchmark-"))
    programs = Programs(folder)
    try:
        store = free_port()
        start_turbopuffer(folder, programs, port=store)
        with running_database(folder / "supabase") as database:
            yield Stack(folder, database.rest_url, database.service_key, f"http://127.0.0.1:{store}")
    finally:
        programs.stop()
        shutil.rmtree(folder, ignore_errors=True)
