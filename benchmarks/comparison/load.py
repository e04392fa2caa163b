"""Callers of MCP servers over HTTP, and how long their calls take."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
    "Authorization": "Bearer right-key",
}
Parameters = Mapping[str, Any]


class Caller:
    """One connection to `/mcp` of a port of this machine, without a handshake: the servers keep no session."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method: str, parameters: Parameters) -> dict[str, Any]:
        """Returns the result; raises RuntimeError for anything else."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        self._connection.request("POST", "/mcp", json.dumps(message).encode(), HEADERS)
        response = self._connection.getresponse()
        body = response.read()
        answer: dict[str, Any] = json.loads(body) if response.status == 200 else {}
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{response.status} {body[:500]!r}")
        return dict(answer["result"])


def milliseconds(port: int, callers: int, calls: int, message: Callable[[int], tuple[str, Parameters]]) -> list[float]:
    """Returns how long each of `calls` calls took that `callers` share; raises the first error of one."""
    times: list[float] = []
    errors: list[Exception] = []
    numbers = iter(range(calls))

    def run() -> None:
        caller = Caller(port)
        for number in numbers:
            began = time.perf_counter()
            try:
                caller.call(*message(number))
            except Exception as error:
                errors.append(error)
                return
            times.append((time.perf_counter() - began) * 1000)

    threads = [threading.Thread(target=run) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return times
