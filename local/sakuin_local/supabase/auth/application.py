"""Supabase's gateway on this machine: Auth below `/auth/v1`, PostgREST below `/rest/v1`, and who may call what."""

from collections.abc import Awaitable, Callable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from sakuin_local.supabase.auth.oauth import AUTH_METHODS, GRANT_TYPES, SCOPES, OAuthServer
from sakuin_local.supabase.auth.records import User, records_in
from sakuin_local.supabase.auth.sessions import Refused, Sessions, json_body, refusal_answer
from sakuin_local.supabase.tokens import SigningKey

Answer = Callable[[Request], Awaitable[Response]]

_CACHED = {"Cache-Control": "public, max-age=600"}
# What Supabase's client wants to know of a user.
_OF_A_USER = {"aud": "authenticated", "app_metadata": {}, "user_metadata": {}, "created_at": "2026-11-01T00:00:00Z"}


@dataclass
class Auth:
    """Supabase Auth of a project at `url`, with its users and sessions.

    `api_keys` are the keys that the gateway lets in: publishable and secret. Those in `secret_keys` administer users.
    """

    url: str
    sessions: Sessions
    oauth: OAuthServer
    api_keys: Set[str] = field(repr=False)
    secret_keys: Set[str] = field(repr=False)

    def routes(self) -> list[Route]:
        """Returns the routes below `/auth/v1`. All but those of agents and the metadata need a key of the project."""
        oauth, authorization = self.oauth, "/oauth/authorizations/{authorization_id}"
        return [
            Route("/oauth/clients/register", oauth.register, methods=["POST"]),
            Route("/oauth/authorize", oauth.authorize),
            Route("/oauth/token", oauth.token, methods=["POST"]),
            Route("/.well-known/jwks.json", self.public_keys),
            Route("/.well-known/openid-configuration", self.metadata),
            Route("/.well-known/oauth-authorization-server", self.metadata),
            Route(authorization, self._with_key(oauth.read)),
            Route(f"{authorization}/consent", self._with_key(oauth.decide), methods=["POST"]),
            Route("/token", self._with_key(self.token), methods=["POST"]),
            Route("/logout", self._with_key(self.logout), methods=["POST"]),
            Route("/user/oauth/grants", self._with_key(self.grants)),
            Route("/user/oauth/grants", self._with_key(self.revoke_grant), methods=["DELETE"]),
            Route("/admin/users", self._with_key(self.create_user, is_admin=True), methods=["POST"]),
            Route("/admin/users/{id}", self._with_key(self.delete_user, is_admin=True), methods=["DELETE"]),
            Route("/admin/oauth/clients/{id}", self._with_key(oauth.delete, is_admin=True), methods=["DELETE"]),
        ]

    def _with_key(self, answer: Answer, *, is_admin: bool = False) -> Answer:
        """Returns the answer to requests with a key of the project, in addition to a user's token."""

        async def checked(request: Request) -> Response:
            key = request.headers.get("apikey") or request.query_params.get("apikey")
            if not key:
                hint = "No `apikey` request header or url param was found."
                return JSONResponse({"message": "No API key found in request", "hint": hint}, 401)
            if key not in self.api_keys:
                hint = "Double check your Supabase `anon` or `service_role` API key."
                return JSONResponse({"message": "Invalid API key", "hint": hint}, 401)
            if is_admin and key not in self.secret_keys:
                raise Refused(403, "not_admin", "User not allowed")
            return await answer(request)

        return checked

    # ---------------------------------------------------------------- metadata

    async def metadata(self, _request: Request) -> Response:
        """Returns the metadata of the authorization server (RFC 8414), the same at each of its addresses."""
        issuer = self.sessions.issuer
        body = {
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
        return JSONResponse(body, headers=_CACHED)

    async def public_keys(self, _request: Request) -> Response:
        return JSONResponse({"keys": [self.sessions.key.jwk]}, headers=_CACHED)

    # ---------------------------------------------------------------- users

    async def token(self, request: Request) -> Response:
        """Signs in with a password or a refresh token."""
        fields, records = await json_body(request), self.sessions.records
        match request.query_params.get("grant_type"):
            case "refresh_token":
                tokens = self.sessions.refresh(fields.get("refresh_token"))
                user = records.users[records.sessions[tokens["refresh_token"].split(".")[0]].user_id]
            case "password":
                email = str(fields.get("email", "")).lower()
                users = [one for one in records.users.values() if one.email == email]
                if not users or not users[0].has_password(str(fields.get("password", ""))):
                    raise Refused(400, "invalid_credentials", "Invalid login credentials")
                user = users[0]
                if not user.is_confirmed:
                    raise Refused(400, "email_not_confirmed", "Email not confirmed")
                tokens = self.sessions.start(user)
            case _:
                raise Refused(400, "invalid_credentials", "unsupported_grant_type")
        return JSONResponse({**tokens, "user": _shown(user)})

    async def logout(self, request: Request) -> Response:
        _user, session = self.sessions.of(request)
        # Without it the service ends all sessions of the user, those of agents too.
        if request.query_params.get("scope") != "local":
            raise Refused(400, "validation_failed", "this stand-in has scope=local alone")
        self.sessions.end(session)
        return Response(status_code=204)

    async def grants(self, request: Request) -> Response:
        """Returns the clients that a user allowed."""
        user, _session = self.sessions.of(request)
        records = self.sessions.records
        consents = [one for one in records.consents.values() if one.user_id == user.id]
        grants = [
            {"client": records.clients[one.client_id].view, "scopes": one.scopes, "granted_at": one.granted_at}
            for one in consents
        ]
        return JSONResponse(grants)

    async def revoke_grant(self, request: Request) -> Response:
        user, _session = self.sessions.of(request)
        records, holder = self.sessions.records, (user.id, request.query_params.get("client_id", ""))
        if records.consents.pop(" ".join(holder), None) is None:
            raise Refused(404, "oauth_consent_not_found", "No active grant found for this client")
        self.sessions.end(*(one for one in records.sessions.values() if (one.user_id, one.client_id) == holder))
        return Response(status_code=204)

    async def create_user(self, request: Request) -> Response:
        fields = await json_body(request)
        records, is_confirmed = self.sessions.records, fields.get("email_confirm") is True
        return JSONResponse(_shown(records.add_user(fields["email"], fields["password"], is_confirmed=is_confirmed)))

    async def delete_user(self, request: Request) -> Response:
        """Removes a user with the sessions."""
        records, user_id = self.sessions.records, request.path_params["id"]
        if not records.remove_user(user_id):
            raise Refused(404, "user_not_found", "User not found")
        self.sessions.end(*(each for each in records.sessions.values() if each.user_id == user_id))
        return JSONResponse({})


def auth_of(
    file: Path | None,
    key: SigningKey,
    *,
    url: str,
    site_url: str,
    api_keys: Set[str],
    secret_keys: Set[str] = frozenset(),
) -> Auth:
    """Returns Supabase Auth with the records of a file; the application at `site_url` has the consent page."""
    sessions = Sessions(records_in(file), key, f"{url}/auth/v1")
    return Auth(
        url, sessions, OAuthServer(sessions, f"{site_url}/console/consent"), api_keys | secret_keys, secret_keys
    )


def gateway(auth: Auth, rest: Any) -> Starlette:
    """Returns what answers at the URL of the project; `rest` is the ASGI application below `/rest/v1`."""
    routes = [
        Route("/.well-known/oauth-authorization-server/auth/v1", auth.metadata),
        Mount("/auth/v1", routes=auth.routes()),
        Mount("/rest/v1", rest),
    ]
    return Starlette(routes=routes, exception_handlers={Refused: refusal_answer})


def _shown(user: User) -> dict[str, Any]:
    return {"id": user.id, "email": user.email, **_OF_A_USER}
