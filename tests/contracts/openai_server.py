"""A loopback server that answers as OpenAI does, right or wrong, as its fields say."""

import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from openai import OpenAI
from openai.resources import Embeddings
from sakuin.platform.openai.client import connected

from tests.contracts.scripted_server import serving
from tests.doubles.embedder import vector_of


@dataclass
class OpenAIServer:
    """`statuses` are given first, one a request, then 200; `width` and `dropped` make vectors wrong or too few.

    `tokens` is the usage of an answer, `finish` why a language model ended it; `headers` and `error` belong to every
    other status than 200. `wrongs` answer first, one a request: bytes are a body with status 200, a number is the part
    of a body that is sent before the connection is closed, None is no answer until the server ends. `bends` changes an
    answer's items.
    """

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    width: int | None = None
    dropped: int = 0
    said: str = "{}"
    finish: str = "stop"
    tokens: int | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    priorities: list[str | None] = field(default_factory=list)
    error: dict[str, str] = field(default_factory=dict)
    # What the client would otherwise wait before it tries again.
    headers: dict[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})
    wrongs: list[bytes | float | None] = field(default_factory=list)
    bends: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list
    # What `GET /models/{model}` answers.
    unknown_models: set[str] = field(default_factory=set)
    key_status: int = 200
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def embeddings(self) -> Embeddings:
        return connected(self.url, "sk-test").embeddings

    @property
    def client(self) -> OpenAI:
        return OpenAI(api_key="sk-test", base_url=self.url, max_retries=2, timeout=5)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        usage = {} if self.tokens is None else {"prompt_tokens": self.tokens, "total_tokens": self.tokens}
        if "messages" in request:
            message = {"role": "assistant", "content": self.said}
            choices = [{"index": 0, "finish_reason": self.finish, "message": message}]
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices}
            return answer | ({"usage": usage} if usage else {})
        vectors = [vector_of(text)[: self.width or request["dimensions"]] for text in request["input"]]
        items = [
            {"object": "embedding", "index": place, "embedding": _encoded(vector, request)}
            for place, vector in enumerate(vectors)
        ]
        # OpenAI promises an index, not an order.
        return {
            "object": "list",
            "model": request["model"],
            "data": self.bends(items[::-1][self.dropped :]),
            "usage": usage,
        }


def _encoded(vector: Any, request: dict[str, Any]) -> Any:
    if request.get("encoding_format") != "base64":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@contextmanager
def openai_server() -> Iterator[OpenAIServer]:
    """Serves on a free port while the block runs."""
    script = OpenAIServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.requests.append(request)
            script.priorities.append(self.headers["Priority"])
            script.keys.append(self.headers["Authorization"].removeprefix("Bearer "))
            if script.wrongs:
                self.go_wrong(script.wrongs.pop(0), json.dumps(script.answer(request)).encode())
                return
            status = script.statuses.pop(0) if script.statuses else 200
            error = {"error": {"message": f"status {status}", **script.error}}
            sent = json.dumps(script.answer(request) if status == 200 else error).encode()
            self.reply(status, sent, {**script.headers, "Content-Type": "application/json"})

        def do_GET(self) -> None:
            model = self.path.rpartition("/")[2]
            status = 404 if model in script.unknown_models else script.key_status
            self.reply(status, json.dumps({"id": model, "object": "model"}).encode(), {})

        def go_wrong(self, how: bytes | float | None, right: bytes) -> None:
            if how is None:
                script.ended.wait()
                return
            body = how if isinstance(how, bytes) else right
            kind = "text/html" if body.startswith(b"<") else "application/json"
            part = len(body) if isinstance(how, bytes) else int(len(body) * how)
            self.reply(200, body, {"Content-Type": kind}, part=part)
            self.close_connection = True

        def reply(self, status: int, body: bytes, headers: dict[str, str], *, part: int | None = None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:part])

        def log_message(self, format: str, *arguments: Any) -> None:
            """Logs nothing."""

    with serving(Handler) as url:
        script.url = f"{url}/v1"
        try:
            yield script
        finally:
            script.ended.set()
