"""Signed POSTs to addresses that clients name: to public ones only, connected to the address that was checked.

The signatures are those of Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks). The rules about
addresses are "Webhook Security" of the document that `sakuin.mcp.changes.events` names.
"""

import json
import re
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import anyio
import httpx2
from standardwebhooks import Webhook

from sakuin.errors import Invalid, SakuinError

# "Delivery profile": a receiver may refuse more.
MOST_BYTES = 262_144
# For the look-up, the connection and the answer together.
_SECONDS = 10.0
# Of the answer: a challenge is short.
_READ_BYTES = 8_192
_LONGEST_URL = 2_000
_PLAIN = re.compile("[!-~]+")
# Global as Python's `ipaddress` knows them, but with another address inside, or of one network alone.
_NOT_PUBLIC = [ip_network(each) for each in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16")]
_UNICAST = ip_network("2000::/3")
# Reads the certificates of the authorities once.
_tls = cache(httpx2.create_ssl_context)


class CallbackFailed(SakuinError):
    """A receiver did not accept a message. `reason` is one of the categories of "Webhook Delivery Status"."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(f"The address did not accept the message ({reason})")
        self.reason = reason
        self.status = status


@dataclass(frozen=True, slots=True)
class Callback:
    """The address of a subscription. With two `secrets`, one of them is being replaced: both sign."""

    url: str
    subscription: str
    secrets: Sequence[str]


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Sends messages. `to_private`: also to private addresses, and without TLS, on the local stack alone."""

    to_private: bool = False

    def check(self, url: str) -> None:
        """Raises `Invalid` for an address to which nothing is ever sent. Its name is looked up with each message."""
        try:
            parts = httpx2.URL(url)
        except httpx2.InvalidURL:
            parts = httpx2.URL("")
        is_plain = len(url) <= _LONGEST_URL and _PLAIN.fullmatch(url) is not None and (parts.port or 1) < 65_536
        if not is_plain or not parts.host or parts.userinfo or parts.fragment:
            raise Invalid("'delivery.url' must be an https address without a user and a fragment")
        if parts.scheme != "https" and not (self.to_private and parts.scheme == "http"):
            raise Invalid("'delivery.url' must begin with https://")
        if not self.to_private and _is_ip(parts.host) and not is_public(ip_address(parts.host)):
            raise Invalid("'delivery.url' must have a public address")

    async def challenge(self, to: Callback) -> None:
        """Raises `CallbackFailed` unless the receiver proves that it wants the messages of this subscription."""
        nonce = secrets.token_urlsafe(32)
        answer = await self.send(to, new_id("verification"), {"type": "verification", "challenge": nonce})
        try:
            echoed = json.loads(answer)["challenge"]
        except (ValueError, TypeError, KeyError):
            echoed = None
        if not isinstance(echoed, str) or not compare_digest(echoed.encode("utf-8", "replace"), nonce.encode()):
            raise CallbackFailed("challenge_failed")

    async def send(self, to: Callback, id: str, message: Mapping[str, Any]) -> bytes:
        """Returns the beginning of the answer to a message. Raises `CallbackFailed` for anything but a 2xx."""
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        if len(body) > MOST_BYTES:
            raise CallbackFailed("http_4xx", 413)
        try:
            with anyio.fail_after(_SECONDS):
                return await self._post(to, id, body)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise CallbackFailed("timeout") from error
        except (OSError, httpx2.HTTPError, ValueError) as error:
            is_tls = "CERTIFICATE" in str(error) or "SSL" in str(error)
            raise CallbackFailed("tls_error" if is_tls else "connection_refused") from error

    async def _post(self, to: Callback, id: str, body: bytes) -> bytes:
        url = httpx2.URL(to.url)
        address = await self._address(url)
        host = url.netloc.decode("ascii")
        headers = {"Host": host, "Content-Type": "application/json", "X-MCP-Subscription-Id": to.subscription}
        # The certificate is compared with the name. No redirect, and no proxy of the environment.
        named = {"sni_hostname": url.host}
        client = httpx2.AsyncClient(verify=_tls(), timeout=_SECONDS, trust_env=False, follow_redirects=False)
        request = client.build_request(
            "POST",
            url.copy_with(host=address),
            content=body,
            headers=headers | signed(to.secrets, id, body),
            extensions=named,
        )
        async with client:
            answer = await client.send(request, stream=True)
            if not answer.is_success:
                raise CallbackFailed("http_5xx" if answer.is_server_error else "http_4xx", answer.status_code)
            read = b""
            async for part in answer.aiter_raw():
                read += part
                if len(read) > _READ_BYTES:
                    break
            return read[:_READ_BYTES]

    async def _address(self, url: httpx2.URL) -> str:
        """Returns the address of the name; an error if one of its addresses is not public."""
        port = url.port or (443 if url.scheme == "https" else 80)
        names = await anyio.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in names]
        if not addresses or not (self.to_private or all(is_public(ip_address(each)) for each in addresses)):
            raise CallbackFailed("connection_refused")
        return addresses[0]


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Returns whether an address is one of the public internet, and of one machine."""
    if any(address in network for network in _NOT_PUBLIC if network.version == address.version):
        return False
    is_unicast = address.version == 4 or address in _UNICAST
    return address.is_global and is_unicast and not address.is_multicast and not address.is_reserved


def new_id(kind: str) -> str:
    """Returns the id of a message that is no event ("Non-event webhook bodies")."""
    return f"msg_{kind}_{secrets.token_hex(16)}"


def signed(keys: Sequence[str], id: str, body: bytes) -> dict[str, str]:
    """Returns the headers of a message that is sent now."""
    now = datetime.now(UTC).replace(microsecond=0)
    signatures = " ".join(Webhook(key).sign(id, now, body.decode()) for key in keys)
    return {"webhook-id": id, "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signatures}


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
