"""A client of MCP endpoints. They keep no sessions: a request needs no handshake, and has one JSON answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, getproxies, proxy_bypass

from sakuin.errors import Invalid, Misconfigured, Unavailable

REVISION = "2025-06-18"
# The protocol's code for an unknown tool. Wrong arguments of a tool are an answer with `isError`.
_INVALID_PARAMS = -32602


@dataclass(frozen=True, slots=True)
class AgentClient:
    """One MCP endpoint; `url` ends with `/mcp` or `/mcp/<id>`."""

    url: str
    key: str = field(repr=False)
    seconds: float = 35.0

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, Any]:
        """Calls a tool and returns its structured answer; arguments that are None are not sent.

        An error of the tool is `Invalid` with the tool's message.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._result("tools/call", {"name": tool, "arguments": given})
        if result.get("isError"):
            raise Invalid("\n".join(item["text"] for item in result["content"]) or f"{tool} failed without a message")
        answer = result.get("structuredContent")
        if not isinstance(answer, dict):
            raise Invalid(f"{tool} returned no structured answer")
        return answer

    def pages(self, tool: str, arguments: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
        """Calls a tool as `call` does, and again with each `next_cursor`; yields the answers."""
        cursor: str | None = None
        while True:
            answer = self.call(tool, {**arguments, "cursor": cursor})
            yield answer
            cursor = answer.get("next_cursor")
            if not cursor:
                return

    def searches(self) -> list[str]:
        """Returns the names of the tools that take a `query`."""
        tools = self._result("tools/list", {})["tools"]
        return [tool["name"] for tool in tools if "query" in tool["inputSchema"].get("properties", {})]

    def _result(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION}
        headers |= {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        try:
            if not self.url.startswith(("http://", "https://")):
                raise ValueError(self.url)
            body = self._answer(Request(self.url, message, headers))  # noqa: S310 - the scheme is checked
            if error := body.get("error"):
                where = f". {self.url} does not have it: `sakuin endpoint list` shows what has, `change` adds it"
                raise Invalid(error["message"] + (where if error["code"] == _INVALID_PARAMS else ""))
            result: dict[str, Any] = body["result"]
        except (OSError, HTTPException) as error:
            raise Unavailable(no_answer(self.url)) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Misconfigured(f"There is no MCP endpoint at {self.url}. Correct SAKUIN_URL") from error
        return result

    def _answer(self, request: Request) -> dict[str, Any]:
        """Returns the JSON of an answer, also of one that is an error."""
        # Without redirects, which would take the key to another host. httpx takes twice as long to import.
        opener = build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=self.seconds) as answer:
                content = answer.read()
        except HTTPError as error:
            if error.code in (401, 403):
                advice = "Correct SAKUIN_API_KEY; `sakuin up` writes it to its env file"
                raise Misconfigured(f"The key is not valid. {advice}") from error
            if error.code >= 500:
                raise Unavailable(f"Sakuin could not answer ({error.code}). Try again in a moment") from error
            content = error.read()
        body: dict[str, Any] = json.loads(content)
        return body


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follows none: the redirect is an error with its status."""


def no_answer(url: str) -> str:
    """Returns the sentence about an address that does not answer. It names a proxy if the environment has one."""
    proxies = getproxies()
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
    if scheme in proxies and not proxy_bypass(host):
        name = f"{scheme.upper()}_PROXY"
        return f"The proxy of {name} does not reach {url}. Unset {name}, or add {host} to NO_PROXY"
    return f"Sakuin does not answer at {url}. Start it with `sakuin up`, or correct SAKUIN_URL"
