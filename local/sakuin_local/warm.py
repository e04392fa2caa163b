"""The functions' first calls, which load their code, made before a person waits for them."""

import http.client
from urllib.parse import urlsplit

from sakuin_local.errors import LocalError
from sakuin_local.stack import Stack


def warm_api(stack: Stack) -> None:
    """Have `api` answer once; a function that cannot start is an error."""
    _expect(stack, "GET", "/healthz", 200)


def warm_mcp(stack: Stack) -> None:
    """Have `mcp` answer once; without a key that is a 401, from the function itself."""
    _expect(stack, "POST", "/mcp", 401)


def _expect(stack: Stack, method: str, path: str, wanted: int) -> None:
    address = urlsplit(stack.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=90)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        status, body = response.status, response.read().decode(errors="replace")
    finally:
        connection.close()
    if status != wanted:
        raise LocalError(
            f"{method} {path} answered {status} instead of {wanted}: {body[:500]}\n"
            "see logs/emulator.log in the data folder"
        )
