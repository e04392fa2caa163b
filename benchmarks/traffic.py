"""Authors, platforms and agents at work on a stack, and what must be true of it when they rest."""

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from sakuin.errors import SakuinError
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings

from benchmarks.stack import Stack

SUBJECTS = ("二次方程式", "三平方の定理", "一次関数", "確率", "平方根", "因数分解", "円周角", "連立方程式", "相似")
PAGE = (
    '<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>{title}</title></head><body><h1>{title}</h1>'
    "{boxes}</body></html>"
)
BOX = '<div class="rule-box" id="rule-{box}"><strong>{subject}の規則{box}</strong><p>{text}</p></div>'
BOXES = 2
QUEUES = ("MaterialQueue", "ToolQueue", "EmbedQueue", "MaterialDeadLetters", "ToolDeadLetters", "EmbedDeadLetters")


@dataclass
class Seen:
    """What went wrong for the users."""

    errors: list[str] = field(default_factory=list)

    @contextmanager
    def watched(self, kind: str) -> Iterator[None]:
        """Notes the failure of a call."""
        try:
            yield
        except (SakuinError, httpx.HTTPError, KeyError, ValueError, OSError) as error:
            self.errors.append(f"{kind}: {type(error).__name__} {str(error)[:160]}")


@dataclass
class Traffic:
    """One run of users. `name` keeps its pages apart from all others; the same seed does the same."""

    stack: Stack
    name: str
    seed: int = 0
    seen: Seen = field(default_factory=Seen)
    # What the bucket was last told: a page's versions by box, or None once it is deleted.
    pages: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    # The version of each string of the Table, at most as many as there are subjects.
    nodes: list[int] = field(default_factory=lambda: [0] * len(SUBJECTS))
    table: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._client = deployment_of(CommandSettings.read(self.stack.environment))

    def upload(self) -> str:
        """A new page, or another text in one box of a page that was there before; gives its material."""
        number = self._random.randrange(len(self.pages) + 1)
        material = f"{self.name}/page-{number:04}"
        before = self.pages.get(material) or (0,) * BOXES
        changed = self._random.randrange(BOXES)
        versions = tuple(version + (box == changed) for box, version in enumerate(before))
        with self.seen.watched("upload"):
            self.stack.put(f"{material}.html", _page(number, versions))
            self.pages[material] = versions
        return material

    def delete(self) -> None:
        """A page goes."""
        there = [material for material, versions in self.pages.items() if versions]
        if there:
            material = self._random.choice(there)
            with self.seen.watched("delete"):
                self.stack.delete(f"{material}.html")
                self.pages[material] = None

    def make_table(self) -> None:
        """Creates a Table with a Search Tool at an endpoint, in a project of its own."""
        place = ("POST", "projects", self._client.call("POST", "projects", json={"name": self.name})["id"])
        members = {"name": "columns"}
        table = self._client.store_table(*place, "tables", members=members, document=self._document(), seconds=60)["id"]
        request = {"type": "search", "table_id": table, "json_path": "/columns", "name": "search_columns"}
        tool = self._client.call(*place, "tools", json=request)["id"]
        endpoint = self._client.call(*place, "mcps", json={"name": "load", "tool_ids": [tool]})
        self.table = {"id": table, "tool": tool, "mcp": endpoint["mcp"]["id"], "key": endpoint["key"]}

    def edit_table(self) -> None:
        """One string of the Table says something else."""
        with self.seen.watched("table edit"):
            nodes = list(self.nodes)
            nodes[self._random.randrange(len(nodes))] += 1
            place = ("PUT", "tables", self.table["id"])
            self._client.store_table(*place, members={}, document=self._document(nodes), seconds=60)
            self.nodes = nodes

    def search(self) -> None:
        """An agent asks for something that is there."""
        subject = self._random.choice(SUBJECTS)
        with self.seen.watched("search"):
            self._searched(self.stack.mcp("tools/call", _call("search_knowledge", f"{subject}の規則を知りたい")))

    def search_table(self) -> None:
        """An agent asks the Search Tool."""
        subject = self._random.choice(SUBJECTS)
        with self.seen.watched("tool search"):
            self._searched(self._ask_tool(f"{subject}のコラム"))

    def waiting(self) -> dict[str, int]:
        """How many messages each queue holds, those in hand among them; empty queues are left out."""
        sqs, counts = self.stack.client("sqs"), {}
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        for queue, url in self._queues().items():
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
            counts[queue] = sum(map(int, attributes.values()))
        return {queue: count for queue, count in counts.items() if count}

    def _queues(self) -> dict[str, str]:
        sqs = self.stack.client("sqs")
        urls = sqs.list_queues(QueueNamePrefix=self.stack.environment["SAKUIN_STACK"]).get("QueueUrls", [])
        return {name: url for url in urls for name in QUEUES if f"-Sakuin{name}-" in url}

    def hidden_seconds(self, queue: str) -> list[float]:
        """For how long the queue still hides each message that it has delivered, as the emulator says."""
        url = self._queues()[queue]
        endpoint = self.stack.environment["AWS_ENDPOINT_URL"]
        answer = httpx.get(f"{endpoint}/_ministack/sqs/messages", params={"QueueUrl": url})
        answer.raise_for_status()
        regions = [region for account in answer.json()["messages"].values() for region in account.values()]
        messages = [message for region in regions for listed in region.values() for message in listed]
        return [one["VisibleAt"] - time.time() for one in messages if one["ReceiveCount"] and not one["IsVisible"]]

    def unfinished(self) -> dict[str, int]:
        """How much work waits, and how many dead letters there are."""
        dead = sum(queue["dead_letters"] for queue in self._client.call("GET", "queues")["queues"] or ())
        return {"waiting": self._client.call("GET", "status")["work"]["count"], "failed": dead}

    def differences(self) -> list[str]:
        """What a user would find wrong now: pages and strings that answer with another version than the newest."""
        wrong = [told for material, versions in self.pages.items() for told in self._page_differs(material, versions)]
        if self.table:
            wrong += self._table_differs()
        return wrong

    def rested(self, seconds: float, tell: Callable[[str], None] = lambda _said: None) -> float | None:
        """Waits until nothing differs; how long it took, or None if it was not so within `seconds`."""
        started, wrong = time.perf_counter(), ["not looked"]
        while time.perf_counter() - started < seconds:
            try:
                wrong = self.differences()
            except (SakuinError, httpx.HTTPError, KeyError) as error:
                wrong = [str(error)]
            if not wrong:
                return time.perf_counter() - started
            time.sleep(0.5)
        for told in wrong[:10]:
            tell(told)
        return None

    def _page_differs(self, material: str, versions: tuple[int, ...] | None) -> Iterator[str]:
        answer = self.stack.mcp("tools/call", {"name": "list_concepts", "arguments": {"material": material}})
        # A page without chunks is no value of the filter.
        listed = [] if answer.get("isError") else answer["structuredContent"]["concepts"]
        wanted = {f"{material}#rule-{box}" for box in range(BOXES)} if versions else set()
        if {concept["id"] for concept in listed} != wanted:
            yield f"{material}: {len(listed)} chunks instead of {len(wanted)}"
            return
        for box, version in enumerate(versions or ()):
            call = {"name": "get_chunk_by_id", "arguments": {"id": f"{material}#rule-{box}"}}
            content = self.stack.mcp("tools/call", call)["structuredContent"]["chunk"]["content"]
            if f"第{version}版" not in content:
                yield f"{material}#rule-{box}: not version {version}"

    def _table_differs(self) -> Iterator[str]:
        status: Any = self._client.call("GET", "tools", self.table["tool"])["metadata"]["search_index"]
        if status["state"] != "ready":
            yield f"the tool is {status['state']}: {status.get('last_error')}"
            return
        for node, version in enumerate(self.nodes):
            results = self._ask_tool(f"{SUBJECTS[node]}のコラム", top_k=4)["structuredContent"]["results"]
            chunks = [hit["chunk"] for hit in results if hit["chunk"]["json_pointer"] == f"/columns/{node}"]
            if not any(f"第{version}版" in chunk["chunk_text"] for chunk in chunks):
                yield f"/columns/{node}: not version {version}"

    def _document(self, nodes: list[int] | None = None) -> bytes:
        columns = [_column(node, version) for node, version in enumerate(nodes or self.nodes)]
        return json.dumps({"columns": columns}).encode()

    def _ask_tool(self, query: str, *, top_k: int = 5) -> dict[str, Any]:
        call = _call("search_columns", query, top_k=top_k)
        return self.stack.mcp("tools/call", call, path=f"/mcp/{self.table['mcp']}", key=self.table["key"])

    def _searched(self, result: dict[str, Any]) -> None:
        if result.get("isError"):
            raise ValueError(json.dumps(result.get("content"), ensure_ascii=False))


def _page(number: int, versions: tuple[int, ...]) -> str:
    subject = SUBJECTS[number % len(SUBJECTS)]
    texts = (f"{subject}の規則その{box}、第{version}版です。" for box, version in enumerate(versions))
    boxes = "".join(BOX.format(box=box, subject=subject, text=text) for box, text in enumerate(texts))
    return PAGE.format(title=f"{subject} {number}", boxes=boxes)


def _column(node: int, version: int) -> str:
    subject = SUBJECTS[node % len(SUBJECTS)]
    # Long enough to be indexed, short enough for one chunk: what is measured is not the local model.
    return (f"{subject}のコラム、第{version}版です。" + f"{subject}を身近な例で考えます。" * 100)[:300]


def _call(name: str, query: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": {"query": query, **arguments}}
