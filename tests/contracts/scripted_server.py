"""A loopback server that answers what a test wrote down, to whoever asks."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Said:
    """One answer; `cut` closes the connection in the middle of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    cut: bool = False


@dataclass
class ScriptedServer:
    """`answers` are given one a request, then the last again; None closes the connection without a word."""

    answers: list[Said | None]
    url: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def scripted_server(*answers: Said | None) -> Iterator[ScriptedServer]:
    """The server on a free port, for as long as the block runs."""
    told = ScriptedServer(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            told.asked.append(self.path)
            said = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            self.close_connection = True
            if said is None:
                return
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body[: len(said.body) // 2] if said.cut else said.body)

        do_GET = do_POST
        do_DELETE = do_POST
        do_PATCH = do_POST

        def log_message(self, format: str, *arguments: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
