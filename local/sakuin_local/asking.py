"""One question over MCP, as an agent asks it."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from sakuin_local.errors import LocalError
from sakuin_local.stack import Stack

# A revision without a handshake to carry over: a single request is a whole conversation.
REVISION = "2025-06-18"


def asked(stack: Stack, question: str) -> dict[str, Any]:
    """What `search_knowledge` answers; anything but an answer is an error."""
    address = urlsplit(stack.url)
    call = {"name": "search_knowledge", "arguments": {"query": question}}
    headers = {
        "Authorization": f"Bearer {stack.api_key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
    }
    # The function's code is loaded by its first call.
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=90)
    try:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        connection.request("POST", "/mcp", body, headers)
        response = connection.getresponse()
        said = response.read().decode(errors="replace")
    finally:
        connection.close()
    result = json.loads(said).get("result", {}) if response.status == 200 else {}
    if result.get("isError", True):
        raise LocalError(
            f"a search answered {response.status}: {said[:1000]}\nsee logs/emulator.log in the data folder"
        )
    answer: dict[str, Any] = result["structuredContent"]
    return answer
