"""Which web pages may call: the origin of a request, and the answer to a browser that asks first."""

from collections.abc import Iterable, Mapping

from sakuin.platform.asgi import Message, Send

# What clients of either era send. API Gateway is given no CORS of its own, so that this is the only place.
_HEADERS = (
    "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id"
)
_SECONDS = "7200"


def is_foreign(headers: Mapping[str, str], allowed: Iterable[str]) -> bool:
    """Whether a page calls that is not allowed to; programs send no origin. Header names are lower case."""
    origin = headers.get("origin")
    return origin is not None and origin not in allowed


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser asks, before its page's own request, if that may come."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def preflight_headers() -> dict[str, str]:
    """What the page of an allowed origin may send."""
    return {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": _HEADERS,
        "Access-Control-Max-Age": _SECONDS,
    }


def readable(send: Send, origin: str | None) -> Send:
    """`send`, whose answers the page of that origin may read; an answer to a program stays as it is."""
    if origin is None:
        return send
    added = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sent
