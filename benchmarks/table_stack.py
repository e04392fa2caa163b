"""The world of Tables that the tests have, without Lambda: the database and the store's stand-in are programs."""

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sakuin.platform.embedding import DIMENSIONS, Vector
from sakuin.platform.s3 import StoredObject
from sakuin.platform.supabase.client import connected
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.tables.model import BoundTool, Endpoint, PendingUpload
from sakuin.tables.turbopuffer import ChunkStore
from sakuin_local.addresses import free_port
from sakuin_local.processes import Programs
from sakuin_local.supabase.database import Database, running_database
from sakuin_local.vendors import start_turbopuffer

from tests.doubles.queue import MemoryQueues
from tests.worlds import TableWorld

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
        return [seed.standard_normal(DIMENSIONS).tolist() for seed in seeds]


@dataclass(frozen=True, slots=True)
class FileBodies:
    """The documents of large Tables in a folder."""

    folder: Path

    def read(self, key: str, *, max_bytes: int) -> StoredObject:
        return StoredObject((self.folder / key).read_bytes(), None)

    def write(self, key: str, text: str) -> None:
        file = self.folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@dataclass
class TableStack(TableWorld):
    """One project; `place` has what another process builds the same from, once."""

    place: tuple[Path, Database, str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _stack_at, (self.place, self.project)

    def upload(self, table: str, document: object) -> None:
        """Stores the next version of a Table's document."""
        upload = self.call("begin_upload", table=table)["upload"]
        key = PendingUpload(self.project, table, upload).key
        self.bodies.write(key, json.dumps(document, ensure_ascii=False))
        self.call("finish_upload", table=table, upload=upload, key=key, error=None)

    def work(self, message: Message) -> list[Message]:
        """Gives a message to its worker; returns the messages that the worker sent."""
        self.queues = MemoryQueues()
        self.deliver(message)
        messages: list[Message] = self.queues.asked
        return messages

    def index_document(self, table: str, document: object) -> None:
        """Indexes the next version of a Table's document, one message after the other."""
        self.upload(table, document)
        self.queues.index(self.project, table)
        self.settle()

    def tool_over(self, table: str, json_path: str) -> tuple[Endpoint, BoundTool]:
        """A new tool, bound to a new endpoint."""
        endpoint = self.bound(self.endpoint(self.tool(table, json_path)))
        return endpoint, endpoint.tools[0]


@cache
def _stack_at(place: tuple[Path, Database, str], project: str) -> TableStack:
    folder, database, store = place
    return TableStack(
        connected(database.rest_url, database.service_key),
        ChunkStore(store_connected(store, "any")),
        project,
        database.dsn,
        embedder=HashedEmbedder(),
        bodies=FileBodies(folder),
        place=place,
    )


@contextmanager
def running() -> Iterator[TableStack]:
    """The stack in a folder of its own, gone when the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="sakuin-benchmark-"))
    programs = Programs(folder)
    try:
        store = free_port()
        start_turbopuffer(folder, programs, port=store)
        with running_database(folder / "supabase") as database:
            stack = _stack_at((folder, database, f"http://127.0.0.1:{store}"), "")
            stack.project = stack.call("create_project", name="p")["id"]
            yield stack
    finally:
        programs.stop()
        shutil.rmtree(folder, ignore_errors=True)
