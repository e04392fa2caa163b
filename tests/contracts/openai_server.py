"""A loopback server that answers as OpenAI does, well or badly, as told."""

import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai import OpenAI

from tests.doubles.embedder import vector_of


@dataclass
class OpenAIServer:
    """`statuses` are given first, one a request, then 200; `width` and `dropped` make vectors wrong or too few.

    `tokens` is what an embedding answer says it cost, `headers` and `error` go along with what is no 200. `wrongs`
    answer first of all, one a request: bytes are a body with a status of 200, a number is the part of a body that comes
    before the connection is closed, None is no answer at all until the server ends. `bends` changes an answer's items.
    """

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    width: int | None = None
    dropped: int = 0
    said: str = "{}"
    tokens: int | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, str] = field(default_factory=dict)
    # What the client would otherwise wait before it tries again.
    headers: dict[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})
    wrongs: list[bytes | float | None] = field(default_factory=list)
    bends: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def client(self) -> OpenAI:
        return OpenAI(api_key="sk-test", base_url=self.url, max_retries=2, timeout=5)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "messages" in request:
            message = {"role": "assistant", "content": self.said}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
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
            "usage": self._usage(),
        }

    def _usage(self) -> dict[str, int]:
        return {} if self.tokens is None else {"prompt_tokens": self.tokens, "total_tokens": self.tokens}


def _encoded(vector: Any, request: dict[str, Any]) -> Any:
    if request.get("encoding_format") != "base64":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@contextmanager
def openai_server() -> Iterator[OpenAIServer]:
    """The server on a free port, for as long as the block runs."""
    told = OpenAIServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.requests.append(request)
            if told.wrongs:
                self.go_wrong(told.wrongs.pop(0), json.dumps(told.answer(request)).encode())
                return
            status = told.statuses.pop(0) if told.statuses else 200
            body = (
                told.answer(request) if status == 200 else {"error": {"message": f"told to say {status}", **told.error}}
            )
            sent = json.dumps(body).encode()
            self.send_response(status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def go_wrong(self, how: bytes | float | None, right: bytes) -> None:
            if how is None:
                told.ended.wait()
                return
            sent = how if isinstance(how, bytes) else right
            self.send_response(200)
            kind = "text/html" if sent.startswith(b"<") else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent if isinstance(how, bytes) else sent[: int(len(sent) * how)])
            self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield told
        finally:
            told.ended.set()
            server.shutdown()
            thread.join()
