"""OAuth clients: dynamic registration (RFC 7591), and how a client proves at the token endpoint who it is."""

import base64
import hashlib
import hmac
import secrets
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse

from sakuin_local.supabase.auth.records import Client
from sakuin_local.supabase.auth.sessions import Refused, Sessions, json_body

AUTH_METHODS = ("client_secret_basic", "client_secret_post", "none")
GRANT_TYPES = ("authorization_code", "refresh_token")
_SCHEMES_OF_SCRIPTS = ("javascript", "data", "file", "vbscript", "about", "blob")
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")


async def register(sessions: Sessions, request: Request) -> JSONResponse:
    """Registers the client of a request, of which nobody is asked for a key."""
    fields = await json_body(request)
    if problem := _problem(fields):
        # The service puts the status into the sentence.
        raise Refused(400, "validation_failed", f"400: {problem}")
    client = Client(
        name=str(fields.get("client_name") or ""),
        redirect_uris=fields["redirect_uris"],
        grant_types=fields.get("grant_types") or list(GRANT_TYPES),
        auth_method=fields.get("token_endpoint_auth_method") or "client_secret_basic",
    )
    secret = {} if client.is_public else {"client_secret": secrets.token_urlsafe(32)}
    client.secret_hash = _hash(secret["client_secret"]) if secret else ""
    sessions.records.clients[client.id] = client
    sessions.records.save()
    return JSONResponse({**_view(client), **secret}, 201)


def authenticated_client(sessions: Sessions, request: Request, fields: dict[str, Any]) -> Client:
    """Returns the client of a request to the token endpoint, which has to use the method that it registered."""
    client_id, secret, method = _credentials(request, fields)
    try:
        client = sessions.records.clients.get(str(UUID(client_id)))
    except ValueError as error:
        raise Refused(400, "invalid_credentials", "Invalid client_id format") from error
    if client is None:
        raise Refused(400, "invalid_credentials", "Invalid client credentials")
    if method != client.auth_method:
        registered = f"client is registered for '{client.auth_method}' but '{method}' was used"
        raise Refused(400, "invalid_credentials", f"invalid authentication method: {registered}")
    if not client.is_public and not hmac.compare_digest(_hash(secret), client.secret_hash):
        raise Refused(400, "invalid_credentials", "invalid client credentials")
    return client


def _credentials(request: Request, fields: dict[str, Any]) -> tuple[str, str, str]:
    """Returns id, secret and method."""
    kind, _, encoded = request.headers.get("authorization", "").partition(" ")
    if kind == "Basic":
        try:
            client_id, colon, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError as error:
            raise _no_credentials("invalid basic auth encoding") from error
        if not colon:
            raise _no_credentials("invalid basic auth format")
        return client_id, secret, "client_secret_basic"
    client_id, secret = str(fields.get("client_id") or ""), str(fields.get("client_secret") or "")
    if not client_id:
        raise _no_credentials("client_id is required")
    return client_id, secret, "client_secret_post" if secret else "none"


def _no_credentials(reason: str) -> Refused:
    return Refused(400, "invalid_credentials", f"Invalid client credentials: {reason}")


def _problem(fields: dict[str, Any]) -> str:
    """Returns what is wrong with a registration; empty if nothing is."""
    uris, grants = fields.get("redirect_uris"), fields.get("grant_types") or []
    method = fields.get("token_endpoint_auth_method") or ""
    if "client_type" in fields:
        return "client_type: this stand-in takes token_endpoint_auth_method alone"
    if not isinstance(uris, list) or not uris:
        return "redirect_uris is required"
    if len(uris) > 10:
        return "redirect_uris cannot exceed 10 items"
    for uri in uris:
        if reason := _problem_of_redirect(uri):
            return f"400: invalid redirect_uri '{uri}': {reason}"
    if not set(grants) <= set(GRANT_TYPES):
        return "grant_types must only contain 'authorization_code' and/or 'refresh_token'"
    if len(str(fields.get("client_name") or "")) > 1024:
        return "client_name cannot exceed 1024 characters"
    if method and method not in AUTH_METHODS:
        return "token_endpoint_auth_method must be one of: [none client_secret_basic client_secret_post]"
    return ""


def _problem_of_redirect(uri: object) -> str:
    try:
        parts = urlsplit(str(uri))
    except ValueError:
        return "invalid URL format"
    if not parts.scheme or not parts.netloc:
        return "must have scheme and host"
    if parts.scheme in _SCHEMES_OF_SCRIPTS:
        return f"scheme '{parts.scheme}' is not allowed for security reasons"
    if parts.scheme == "http" and parts.hostname not in _OWN_HOSTS:
        return "HTTP scheme only allowed for localhost"
    return "fragment not allowed in redirect URI" if parts.fragment else ""


def _view(client: Client) -> dict[str, Any]:
    members = {
        "client_id": client.id,
        "client_type": "public" if client.is_public else "confidential",
        "redirect_uris": client.redirect_uris,
        "token_endpoint_auth_method": client.auth_method,
        "grant_types": client.grant_types,
        "response_types": ["code"],
        "client_name": client.name,
    }
    return {name: value for name, value in members.items() if value}


def moment(seconds: float) -> str:
    """Returns a time as Supabase writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
