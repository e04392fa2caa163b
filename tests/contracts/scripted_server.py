"""A loopback server that gives the replies of a test to every client."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Said:
    """One reply; `cut` closes the connection in the middle of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    cut: bool = False


@dataclass
class ScriptedServer:
    """Gives `answers` one a request, then the last again; None closes the connection without a reply.

    `asked`, `headers` (names in lower case) and `bodies` are what the requests sent.
    """

    answers: list[Said | None]
    url: str = ""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serves on a free port while the block runs; yields the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def scripted_server(*answers: Said | None) -> Iterator[ScriptedServer]:
    """Serves on a free port while the block runs."""
    script = ScriptedServer(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            script.asked.append(self.path)
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            script.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            reply = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            self.close_connection = True
            if reply is None:
                return
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)

        do_GET = do_DELETE = do_PATCH = do_POST

        def log_message(self, format: str, *arguments: object) -> None:
            """Logs nothing."""

    with serving(Handler) as script.url:
        yield script
