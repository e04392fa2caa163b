"""A library in turbopuffer is filled, maintained and reconciled by `maintain` with its own layers, and searched.

`make test` takes 200 explanations; `make proofs` takes 100,000 (EFFORT=20), EFFORT=2 takes 10,000.
"""

import json
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from sakuin.platform.turbopuffer.client import TurbopufferRows, connected

from tests.builders import a_page
from tests.built_layers import built_layers, run_function, runtime_packages
from tests.doubles.chunk_store import WatchedStore
from tests.doubles.embedder import MODEL
from tests.effort import EFFORT
from tests.knowledge.test_pages_on_turbopuffer import ELSEWHERE, current, found, stored
from tests.worlds import DEPLOYED, World, Worlds

EXPLANATIONS = 200 if EFFORT == 1 else 5_000 * EFFORT
A_PAGE = 100
QUESTIONS = 20
# Lets minutes pass until everything is reconciled.
MAINTAIN = """
import json
import app

class Context:
    function_name = invoked_function_arn = aws_request_id = "maintain"
    memory_limit_in_mb = 512
    def get_remaining_time_in_millis(self): return 290_000

results = [app.handler({}, Context())]
while results[-1]["rows"] or results[-1]["reconcile_rows"]: results.append(app.handler({}, Context()))
results.append(app.handler({}, Context()))
print(json.dumps(results))
"""


class Outside(ThreadingHTTPServer):
    """Supabase below `/rest/v1`, and Secrets Manager, SQS and EventBridge as far as `maintain` asks them.

    `bodies` are the messages that it sent.
    """

    def __init__(self, secret: dict[str, Any], database: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.secret, self.database, self.bodies = secret, database, list[str]()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/rest/v1/"):
            own = ("host", "content-length", "connection", "accept-encoding")
            headers = {name: value for name, value in self.headers.items() if name.lower() not in own}
            url = f"{server.database}{self.path}"
            answer = httpx.request(self.command, url, content=body, headers=headers, timeout=60)
            self._send(answer.content, answer.status_code, answer.headers)
            return
        answers: dict[str, Any] = {"SecretString": json.dumps(server.secret), "Name": "sakuin"}
        if self.headers["X-Amz-Target"] == "AmazonSQS.GetQueueAttributes":
            answers = {"Attributes": dict.fromkeys(json.loads(body)["AttributeNames"], "0")}
        if self.headers["X-Amz-Target"] == "AmazonSQS.SendMessageBatch":
            server.bodies += [entry["MessageBody"] for entry in json.loads(body)["Entries"]]
            answers = {"Successful": [], "Failed": []}
        if self.headers["X-Amz-Target"] == "AWSEvents.PutEvents":
            entries = json.loads(body)["Entries"]
            answers = {"FailedEntryCount": 0, "Entries": [{"EventId": "any"} for _ in entries]}
        # S3 has nothing.
        empty = b"<ListVersionsResult><IsTruncated>false</IsTruncated></ListVersionsResult>"
        self._send(json.dumps(answers).encode() if self.command == "POST" else empty)

    do_GET = do_PATCH = do_DELETE = do_POST

    def _send(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name in ("Content-Type", "Content-Range", "Proxy-Status"):
            if headers and name in headers:
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def outside(world: World) -> Iterator[Outside]:
    secret = dict.fromkeys(("openai_api_key", "turbopuffer_api_key"), "any")
    secret["supabase_service_key"] = world.database.service_key
    keys: dict[str, Any] = {"knowledge_key_hashes": [], "admin_key_hashes": []}
    with Outside(secret | keys, world.database.rest_url) as server:
        yield server
        server.shutdown()


@pytest.fixture
def world(a_world: Worlds, stand_in: str) -> World:
    world = a_world(settings=ELSEWHERE, store=WatchedStore(TurbopufferRows(connected(stand_in, "any"))))
    world.indexes.add(ELSEWHERE)
    return world


def filled(world: World) -> list[str]:
    """Fills the library; returns a word of each explanation that no other has."""
    numbers = random.Random(1)
    words = [f"kz{number:06}" for number in range(EXPLANATIONS)]
    for start in range(0, EXPLANATIONS, A_PAGE):
        boxes = {f"rule-{number}": _text(numbers, words[number]) for number in range(start, start + A_PAGE)}
        world.put(f"p{start // A_PAGE}.html", a_page(boxes))
        world.embedder.embedded.clear()
    return words


def _text(numbers: random.Random, word: str) -> str:
    return f"{word}: " + " ".join(f"語{numbers.randrange(2_000)}" for _ in range(12))


def missing(world: World, words: Sequence[str]) -> list[str]:
    """Returns those of some words, not of the first page, whose explanation is not found first."""
    numbers = random.Random(2).sample(range(A_PAGE, EXPLANATIONS), QUESTIONS)
    ids = {words[number]: f"p{number // A_PAGE}#rule-{number}" for number in numbers}
    return [word for word, id in ids.items() if found(world, word)[:1] != [id]]


def test_a_large_library_is_maintained_and_reconciled_with_the_layers_of_the_function(
    world: World, outside: Outside, stand_in: str, tmp_path: Path, summary: set[str]
) -> None:
    began = time.monotonic()
    words = filled(world)
    seconds = [time.monotonic() - began]
    # A page is replaced, and rows of another one are lost.
    world.put("p0.html", a_page({"rule-0": f"{words[0]}: 別の説明"}))
    world.sql.execute("update stored_row set changed_at = changed_at - interval '16 minutes'")
    last = f"p{EXPLANATIONS // A_PAGE - 1}"
    lost = [
        row for (row,) in world.sql.execute("select row_id from stored_row where id like %s limit 3", [f"{last}#%"])
    ]
    world.store.delete(*world.store.namespaces("pages_"), lost)
    (tmp_path / "layers").mkdir()
    (tmp_path / "runtime").mkdir()
    printed = run_function(
        "SakuinMaintain",
        built_layers(tmp_path / "layers"),
        runtime_packages(tmp_path / "runtime"),
        MAINTAIN,
        timeout=3_000,
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{outside.server_port}",
        SUPABASE_URL=f"http://127.0.0.1:{outside.server_port}",
        TURBOPUFFER_BASE_URL=stand_in,
        KNOWLEDGE_STORE="turbopuffer",
        EMBEDDING_MODEL=MODEL.name,
        MATERIALS_BUCKET=DEPLOYED.bucket,
        # The bucket of this library is elsewhere: no key is compared.
        MATERIAL_PREFIX="~",
        POWERTOOLS_TRACE_DISABLED="true",
    )
    results = json.loads(printed.splitlines()[-1])
    assert sum(result["reconcile_rows"] for result in results) == 1
    for body in outside.bodies:
        world.deliver(body)
    seconds.append(time.monotonic() - began - sum(seconds))
    assert set(stored(world)) == current(world)
    assert len(current(world)) == EXPLANATIONS - A_PAGE + 1
    assert len(world.indexes.all()) == 1
    assert missing(world, words) == []
    seconds.append(time.monotonic() - began - sum(seconds))
    filling, upkeep, searching = seconds
    summary.add(
        f"pages at turbopuffer: {EXPLANATIONS:,} explanations filled in {filling:.0f} s, maintained and reconciled in "
        f"{upkeep:.0f} s, {QUESTIONS} questions in {searching:.1f} s"
    )
