"""Supabase's gateway on this machine: Auth below `/auth/v1`, PostgREST below `/rest/v1`, and who may call what."""

import functools
from collections.abc import Awaitable, Callable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from sakuin_local.supabase.auth.clients import AUTH_METHODS, GRANT_TYPES, register
from sakuin_local.supabase.auth.oauth import SCOPES, OAuthServer, oauth_routes
from sakuin_local.supabase.auth.records import records_in
from sakuin_local.supabase.auth.sessions import Refused, Sessions, refusal_answer
from sakuin_local.supabase.auth.sign_in import sign_in_routes
from sakuin_local.supabase.auth.signing import SigningKey

_CACHED = {"Cache-Control": "public, max-age=600"}


@dataclass(frozen=True, slots=True)
class Auth:
    """Supabase Auth of a project at `url`, with its users and sessions."""

    url: str
    consent_url: str
    sessions: Sessions
    # The keys that the gateway lets in: publishable and secret.
    api_keys: Set[str]


def auth_of(file: Path | None, key: SigningKey, *, url: str, site_url: str, api_keys: Set[str]) -> Auth:
    """Returns Supabase Auth with the records of a file; the application at `site_url` has the consent page."""
    return Auth(url, f"{site_url}/console/consent", Sessions(records_in(file), key, f"{url}/auth/v1"), api_keys)


def gateway(auth: Auth, rest: Any) -> Starlette:
    """Returns what answers at the URL of the project; `rest` is the ASGI application below `/rest/v1`."""
    open_routes, closed_routes = oauth_routes(OAuthServer(auth.sessions, auth.consent_url))

    async def metadata(_request: Request) -> JSONResponse:
        return JSONResponse(_metadata(auth.sessions.issuer), headers=_CACHED)

    async def keys(_request: Request) -> JSONResponse:
        return JSONResponse({"keys": [auth.sessions.key.jwk]}, headers=_CACHED)

    routes = [
        *open_routes,
        Route("/oauth/clients/register", functools.partial(register, auth.sessions), methods=["POST"]),
        Route("/.well-known/jwks.json", keys),
        Route("/.well-known/openid-configuration", metadata),
        Route("/.well-known/oauth-authorization-server", metadata),
        *(_with_key(route, auth.api_keys) for route in (*closed_routes, *sign_in_routes(auth.sessions))),
    ]
    return Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server/auth/v1", metadata),
            Mount("/auth/v1", routes=routes),
            Mount("/rest/v1", rest),
        ],
        exception_handlers={Refused: refusal_answer},
    )


def _metadata(issuer: str) -> dict[str, Any]:
    """Returns the metadata of the authorization server (RFC 8414), the same at each of its addresses."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth/authorize",
        "token_endpoint": f"{issuer}/oauth/token",
        "jwks_uri": f"{issuer}/.well-known/jwks.json",
        "registration_endpoint": f"{issuer}/oauth/clients/register",
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "HS256", "ES256"],
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "code_challenge_methods_supported": ["S256"],
    }


def _with_key(route: Route, keys: Set[str]) -> Route:
    """Returns a route that needs a key of the project, in addition to a user's token."""
    inner: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def endpoint(request: Request) -> Response:
        given = request.headers.get("apikey") or request.query_params.get("apikey")
        if not given:
            hint = "No `apikey` request header or url param was found."
            return JSONResponse({"message": "No API key found in request", "hint": hint}, 401)
        if given not in keys:
            hint = "Double check your Supabase `anon` or `service_role` API key."
            return JSONResponse({"message": "Invalid API key", "hint": hint}, 401)
        return await inner(request)

    return Route(route.path, endpoint, methods=list(route.methods or ()))
