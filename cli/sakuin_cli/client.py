"""A client of a deployment's REST API, with an admin key."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from sakuin.errors import Invalid, Misconfigured, Unavailable
from sakuin.knowledge.page import Finding, IndexedChunk

from sakuin_cli.rest import Record, answer_of, put_to_bucket
from sakuin_cli.waiting import Version, poll

# The API's limit of one request.
_A_REQUEST, _LETTERS = 500, 100
# What these requests ask has a body.
_QUESTIONS = ("anchors", "explain", "results")
# Lambda accepts requests of 6 MB.
REQUEST_BYTES = 4_000_000
_BOM = b"\xef\xbb\xbf"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class DeploymentClient:
    """Methods over REST. `http` has the deployment's URL and key (`rest.session`).

    Every method raises one of `sakuin.errors`: `Misconfigured` for a wrong key or URL, `Unavailable` for no answer,
    otherwise the API's message. `tools_mcp_id` is the endpoint with the Search Tools of `explain`. Without `may_change`
    it sends no request that changes something: that is a mistake in the command.
    """

    http: httpx.Client = field(repr=False)
    tools_mcp_id: str = ""
    may_change: bool = True

    # Pages

    def materials(self, *, prefix: str = "", status: str | None = None, limit: int = _A_REQUEST) -> Iterator[Record]:
        """Yields the materials that begin with `prefix`, by name, all of a status, or all but deleted ones.

        A request has `limit` of them.
        """
        asked = given(prefix=prefix, status=status, limit=limit)
        for page in pages_of(lambda after: self.call("GET", "materials", params=asked | given(after=after))):
            yield from page["materials"]

    def material(self, name: str) -> Record | None:
        """Returns one material, None if it does not exist or is deleted."""
        # Among all names with this prefix, the name itself is the first.
        first = next(self.materials(prefix=name, limit=1), None)
        return first if first is not None and first["material"] == name else None

    def upload_results(self, versions: Sequence[Version]) -> tuple[list[Record], dict[str, str]]:
        """Returns the results of uploads, and by key why a file without a result waits."""
        results: list[Record] = []
        reasons: dict[str, str] = {}
        for some in portions(versions, _A_REQUEST):
            request = [{"key": key, "version_id": version_id} for key, version_id in some]
            answer = self.call("POST", "files", "results", json={"versions": request})
            results += answer["results"]
            reasons |= {row["subject"]: row["reason"] for row in answer["waiting"]}
        return results, reasons

    def indexed(self, materials: Collection[str]) -> dict[str, Sequence[IndexedChunk]]:
        """Returns the indexed anchors of these materials; those not indexed are left out."""
        found: dict[str, Sequence[IndexedChunk]] = {}
        for some in portions(sorted(materials), _A_REQUEST):
            chunks_of = self.call("POST", "anchors", json=some)["materials"]
            found |= {name: list(map(_indexed_chunk, chunks)) for name, chunks in chunks_of.items()}
        return found

    def findings(self, *, prefix: str, strict: bool, limit: int) -> Iterator[list[Finding]]:
        """Yields the findings about the materials that begin with `prefix`, those of `limit` materials at a time."""
        asked = given(prefix=prefix, strict=strict, limit=limit)
        for page in pages_of(lambda after: self.call("GET", "validation", params=asked | given(after=after))):
            yield [Finding(**item) for item in page["findings"]]

    def change_dead_letters(
        self, action: str, queue: str | None, *, ids: Sequence[str] | None = None, limit: int | None = None
    ) -> list[Record]:
        """Sends dead letters again (`send_again`) or deletes them (`discard`), those of `ids` or the first `limit`."""
        asked = {"action": action, **given(queue=queue, ids=ids and list(ids), limit=limit)}
        return list(self.call("POST", "dead-letters", json=asked)["dead_letters"])

    def change_all_dead_letters(self, action: str, queue: str | None) -> list[Record]:
        """Changes as many dead letters as there are now: one that fails again at once is not sent twice."""
        letters: list[Record] = []
        states = self.call("GET", "queues")["queues"]
        if states is None:
            raise Unavailable("SQS does not answer. Try again in a moment")
        for state in states:
            left = state["dead_letters"] if queue in (None, state["queue"]) else 0
            while left > 0 and (some := self.change_dead_letters(action, state["queue"], limit=min(left, _LETTERS))):
                letters += some
                left -= len(some)
        return letters

    def reconcile(self, kind: str, *, dry_run: bool) -> Iterator[list[Record]]:
        """Compares one part page by page and, unless `dry_run`, repairs it; yields the differences of each page."""
        asked = {"kind": kind, "dry_run": dry_run}
        for page in pages_of(
            lambda after: self.call("POST", "reconcile", json={**asked, "after": after}), cursor="next"
        ):
            yield page["differences"]

    # Questions

    def explain(
        self,
        query: str,
        *,
        tool: str | None = None,
        expected: str | None = None,
        top_k: int = 5,
        depth: int = 10,
        filters: Mapping[str, Any] | None = None,
        legs: str = "both",
        index: str | None = None,
    ) -> Mapping[str, Any]:
        """Returns how the deployment analyzes and answers a question, with `depth` results. Thread-safe.

        `tool` names a Search Tool, None is `search_knowledge`. `index` names an index version, None is the live one.
        A question that is not valid raises `Invalid`.
        """
        if tool is not None and not self.tools_mcp_id:
            raise Misconfigured(
                "SAKUIN_TOOLS_MCP_URL is not set: it is the URL of the endpoint with the Search Tool, "
                "for example SAKUIN_TOOLS_MCP_URL=https://…/mcp/<mcp id>"
            )
        asked: dict[str, object] = {"query": query, "expected": expected, "top_k": top_k, "depth": depth}
        asked |= {"filters": dict(filters or {}), "legs": legs}
        asked |= given(index=index) | ({"tool": tool, "mcp_id": self.tools_mcp_id} if tool is not None else {})
        return self.call("POST", "explain", json=asked)

    # Tables

    def store_table(
        self, method: str, *place: str, members: Mapping[str, Any], document: bytes, seconds: float
    ) -> Record:
        """Stores a JSON text as a new Table (POST) or the next version of one (PUT).

        A document that is too large for a request is uploaded to the bucket; it waits at most `seconds` for the import.
        """
        sent = {name: value for name, value in members.items() if value is not None}
        if len(document) <= REQUEST_BYTES:
            # The document is sent unchanged: decoding and encoding it might change it.
            head = json.dumps(sent).removesuffix("}") + ("," if sent else "") + '"data":'
            content = head.encode() + document.removeprefix(_BOM) + b"}"
            return self.call(method, *place, content=content, headers={"Content-Type": "application/json"})
        announced = self.call("POST", *place, "uploads", json={**sent, "size": len(document)})
        self.upload(announced["upload"], document)
        table: Record = announced["table"]
        for _ in poll(seconds):
            table = self.call("GET", "tables", table["id"])
            if not table["pending_upload"]:
                break
        if table["pending_upload"]:
            raise Unavailable(f"The table {table['id']} is uploaded, but was not imported within {seconds:g} seconds")
        if table["import_error"]:
            raise Invalid(f"The table {table['id']} was not imported: {table['import_error']}")
        return table

    def upload(self, target: Record, body: bytes) -> str:
        """Uploads an announced document or file, and returns the id of its version."""
        return put_to_bucket(target["url"], dict(target["headers"]), body)

    def call(self, method: str, *segments: str, **sent: Any) -> Record:
        """Sends one request below `/v1` and returns its answer; `sent` are httpx's arguments of a request."""
        if not self.may_change and _changes(method, segments, sent.get("json")):
            raise AssertionError(f"{method} {segments} in a command that changes nothing")
        # Quoted, because a person may have typed any text.
        path = "/".join(("/v1", *(quote(segment, safe="") for segment in segments)))
        answer: Record = answer_of(self.http, self.http.build_request(method, path, **sent))
        return answer


def portions(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yields portions of at most `size`; no items are one empty portion, since an empty request checks the key."""
    for start in range(0, len(items) or 1, size):
        yield items[start : start + size]


def _changes(method: str, segments: Sequence[str], body: object) -> bool:
    is_dry_run = isinstance(body, dict) and body.get("dry_run")
    return method != "GET" and segments[-1] not in _QUESTIONS and not is_dry_run


def _indexed_chunk(item: Mapping[str, Any]) -> IndexedChunk:
    given = item["learns_given"]
    return IndexedChunk(item["anchor"], tuple(item["learns"]), None if given is None else tuple(given))


def pages_of(ask: Callable[[str | None], Any], *, cursor: str = "next_cursor") -> Iterator[Any]:
    """Yields the pages of a list. `ask` returns the page after the `cursor` of the one before."""
    page = ask(None)
    yield page
    while (after := page[cursor]) is not None:
        page = ask(after)
        yield page


def given(**parameters: Any) -> dict[str, Any]:
    """Returns the parameters without None and empty lists."""
    return {name: value for name, value in parameters.items() if value is not None and value != []}
