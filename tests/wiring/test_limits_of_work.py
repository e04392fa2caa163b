"""What a page, a question and chunks cost: the counts of `limits_of_work.toml`, measured on the product's wiring.

A count that rises fails here, also one that no other test looks at. There are no times: they depend on the machine.
"""

import json
import os
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import boto3
import botocore.endpoint
import httpx
import httpx2
import pytest
from sakuin.knowledge.reading import parsing
from sakuin.language import morphemes
from sakuin.platform import queue_handler
from sakuin.platform.aws import Handler
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.tables import document
from sakuin.upkeep import daily_counts
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.wiring import embed_chunks, index_material, index_tool
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import own_index
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.events import Context, queue_event, s3_message
from tests.isolation.stack import Stack, stack_of
from tests.worlds import long

LIMITS: Mapping[str, Mapping[str, int]] = tomllib.loads(
    (Path(__file__).parent / "limits_of_work.toml").read_text("utf-8")
)
# Bytes may differ by so much from their limit: timestamps differ a little.
SLACK = 0.05
BOXES = {
    "rule-formula": "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。",
    "method-cross": "たすき掛け: 二次式を二つの因数に分ける。",
    "ex-1": "噴水の高さ: 水の高さを時刻で表した式を調べる。",
}
# Chunks of one message.
CHUNKS = 32
SENDS = (httpx.HTTPTransport.handle_request, httpx2.HTTPTransport.handle_request)
# The responses of these have their whole body.
ANSWERS = (httpx.Client.send, httpx2.Client.send)
PARSES: Mapping[CodeType, str] = {
    parsing.parsed.__code__: "pages parsed",
    queue_handler.parsed_message.__code__: "messages parsed",
    document.parsed_table.__code__: "documents parsed",
    morphemes.morphemes.__code__: "texts analyzed",
}


@dataclass
class Counts:
    """Counts what runs while it is `on`: requests by vendor, their bytes in both directions, and parses.

    `vendors` has the name of each host with its port.
    """

    vendors: Mapping[str, str]
    on: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def trace(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """Sees each call. Returns what sees the result of a request."""
        if not self.on:
            return None
        code = frame.f_code
        if code in PARSES:
            self.counts[PARSES[code]] += 1
        elif code in (each.__code__ for each in SENDS):
            request = frame.f_locals["request"]
            self.counts[self.vendors[f"{request.url.host}:{request.url.port}"]] += 1
            self.counts["bytes"] += len(request.content)
        elif code in (each.__code__ for each in ANSWERS):
            return self._answer
        elif code is botocore.endpoint.Endpoint._do_get_response.__code__:
            service = frame.f_locals["operation_model"].service_model.service_name
            self.counts[service] += 1
            if service == "events":
                # The page is searchable then.
                self.counts["postgres before the event"] = self.counts["postgres"]
        return None

    def _answer(self, _frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        # A stream is read afterwards, by whom it is meant for.
        if event == "return" and argument is not None and argument.is_stream_consumed:
            self.counts["bytes"] += len(argument.content)
        return self._answer

    def measured(self, act: Callable[[], object]) -> dict[str, int]:
        """Returns what `act` does."""
        self.counts.clear()
        self.on = True
        sys.settrace(self.trace)
        try:
            act()
        finally:
            sys.settrace(None)
            self.on = False
        return dict(self.counts)


@contextmanager
def threads_traced(counts: Counts) -> Iterator[None]:
    """Has the threads that start in the block traced; the product keeps some."""
    threading.settrace(counts.trace)
    try:
        yield
    finally:
        threading.settrace(None)  # type: ignore[arg-type]  # Typeshed lacks the None that the documents name.


def violations(name: str, measured: Mapping[str, int]) -> list[str]:
    """Returns what differs from the limits: a count that rose, or one that fell and needs a lower limit."""
    limits = LIMITS[name]
    found = []
    for what in sorted(limits.keys() | measured.keys()):
        count, limit = measured.get(what, 0), limits.get(what, 0)
        slack = limit * SLACK if what == "bytes" else 0
        if count > limit + slack:
            found.append(f"{name}: {what} rose to {count} from {limit}")
        elif count < limit - slack:
            found.append(f"{name}: {what} fell to {count} from {limit}; lower the limit")
    return found


@dataclass
class Product:
    """The functions over one database, each built once, as in its worker."""

    stack: Stack
    counts: Counts
    material: Handler
    tool: Handler
    embed: Handler

    def page(self, key: str, sequencer: str = "01") -> dict[str, Any]:
        """Uploads a page of three explanations, two folders deep; returns the event."""
        boxes = {name: f"{text}{key}の説明。" for name, text in BOXES.items()}
        stored = boto3.client("s3", "us-east-1").put_object(Bucket="materials", Key=key, Body=a_page(boxes))
        return queue_event(s3_message(key, version=None, sequencer=sequencer, etag=stored["ETag"].strip('"')))

    def index_page(self, key: str) -> None:
        assert self.material(self.page(key), Context()) == {"batchItemFailures": []}

    def messages(self, queue: str) -> list[dict[str, Any]]:
        """Takes the messages of a queue, as events for its function."""
        sqs, url = boto3.client("sqs", "us-east-1"), os.environ[queue]
        taken = []
        while received := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in received:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                taken.append(queue_event(json.loads(message["Body"])))
        return taken

    def table(self, words: str) -> tuple[str, str]:
        """Makes a project with a Table of 32 chunks, and a Tool with an endpoint; returns endpoint and key."""
        world, key = self.stack.workers.beside(), new_key()
        self.project, self.tables = world.project, world
        strings = [long(f"{words}その{number}", 300) for number in range(1, CHUNKS)]
        strings.append(long("三平方の定理と直角三角形", 300))
        self.table_id = world.table(strings)
        tool = world.tool(self.table_id, "")
        made = world.call("create_mcp", project=world.project, name="e", key_hash=hash_of_key(key), tools=[tool])
        return str(made["id"]), key

    def scan_event(self) -> dict[str, Any]:
        request = {"project_id": self.project, "table_id": self.table_id, "generation": None, "skip": 0}
        return queue_event({"index": request})


@pytest.fixture(scope="module")
def product(database: Database, stand_in: str) -> Iterator[Product]:
    counts = Counts({})
    with pytest.MonkeyPatch.context() as patch, threads_traced(counts), stack_of(database, stand_in) as stack:
        # Counters of the day are written once, by a call that is not measured: also where calls take many seconds.
        patch.setattr(daily_counts, "_SECONDS_BETWEEN", 3600.0)
        addresses = {
            "postgres": os.environ["SUPABASE_URL"],
            "openai": os.environ["OPENAI_BASE_URL"],
            "turbopuffer": stand_in,
        }
        hosts = {name: httpx2.URL(address) for name, address in addresses.items()}
        counts.vendors = {f"{url.host}:{url.port}": name for name, url in hosts.items()}
        clients = Clients.of(os.environ, "Index")
        IndexVersions(clients.supabase).add(own_index(clients.settings))
        workers = (index_material.handler(clients), index_tool.handler(clients), embed_chunks.handler(clients))
        yield Product(stack, counts, *workers)


def test_a_page(product: Product) -> None:
    product.index_page("warm/up/one.html")
    uploaded = product.page("warm/up/two.html")
    measured = product.counts.measured(lambda: product.material(uploaded, Context()))
    assert violations("page", measured) == []


def test_a_question_about_pages(product: Product) -> None:
    product.index_page("warm/up/three.html")

    def ask() -> None:
        arguments = {"name": "search_knowledge", "arguments": {"query": "二次方程式の解の公式"}}
        answer = product.stack.rpc(None, "tools/call", product.stack.knowledge_key, **arguments)
        assert answer.json["result"]["structuredContent"]["results"]

    for _ in range(2):
        # The second one writes the counters of the first, and no other one does.
        ask()
    measured = product.counts.measured(ask)
    assert violations("question_about_pages", measured) == []


def test_chunks_and_a_question_about_a_table(product: Product) -> None:
    def scan() -> None:
        assert product.tool(product.scan_event(), Context()) == {"batchItemFailures": []}

    def embed() -> None:
        for message in messages:
            assert product.embed(message, Context()) == {"batchItemFailures": []}

    def ask() -> None:
        arguments = {"name": "search", "arguments": {"query": "三平方の定理と直角三角形"}}
        answer = product.stack.rpc(endpoint, "tools/call", key, **arguments)
        assert answer.json["result"]["structuredContent"]["results"]

    product.table("最初の数列")
    scan()
    messages = product.messages("EMBED_QUEUE_URL")
    embed()
    endpoint, key = product.table("次の数列")
    found = violations("scan_of_32_chunks", product.counts.measured(scan))
    messages = product.messages("EMBED_QUEUE_URL")
    found += violations("message_of_32_chunks", product.counts.measured(embed))
    ask()
    found += violations("question_about_a_table", product.counts.measured(ask))
    assert found == []


def test_the_same_page_again(product: Product) -> None:
    product.index_page("warm/up/again.html")
    uploaded = product.page("warm/up/again.html", "02")
    measured = product.counts.measured(lambda: product.material(uploaded, Context()))
    assert violations("same_page", measured) == []
