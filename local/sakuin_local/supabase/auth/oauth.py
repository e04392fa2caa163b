"""The OAuth 2.1 server: a client's request, the consent of a user, and the client's tokens."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID, uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from sakuin_local.supabase.auth.clients import authenticated_client
from sakuin_local.supabase.auth.records import Authorization, Client, Consent, User
from sakuin_local.supabase.auth.sessions import Refused, Sessions, json_body

SCOPES = ("openid", "profile", "email", "phone", "offline_access")
DEFAULT_SCOPE = "email"
REQUEST_SECONDS = 600


@dataclass(frozen=True, slots=True)
class OAuthServer:
    """The server of a project whose application has its consent page at `consent_url`; it gives no ID tokens."""

    sessions: Sessions
    consent_url: str

    # ---------------------------------------------------------------- the browser comes from the client

    async def authorize(self, request: Request) -> RedirectResponse:
        """Redirects to the consent page. Only a known client with one of its addresses is told of an error."""
        asked = request.query_params
        for name in ("client_id", "redirect_uri"):
            if not asked.get(name):
                raise Refused(400, "validation_failed", f"{name} is required")
        client = self._client(asked["client_id"])
        if asked["redirect_uri"] not in client.redirect_uris:
            raise Refused(400, "validation_failed", "invalid redirect_uri")
        scope = asked.get("scope") or DEFAULT_SCOPE
        if problem := _problem(asked, scope):
            error = {"error": "invalid_request", "error_description": problem, "state": asked.get("state", "")}
            return RedirectResponse(_with_query(asked["redirect_uri"], **error), 302)
        wanted = Authorization(
            client_id=client.id,
            redirect_uri=asked["redirect_uri"],
            scope=scope,
            state=asked.get("state", ""),
            challenge=asked["code_challenge"],
            expires_at=self.sessions.now() + REQUEST_SECONDS,
        )
        self.sessions.records.authorizations[wanted.id] = wanted
        self.sessions.records.save()
        return RedirectResponse(f"{self.consent_url}?authorization_id={wanted.id}", 302)

    # ---------------------------------------------------------------- the consent page asks for the user

    async def read(self, request: Request) -> JSONResponse:
        """Returns what a client asks for, or where to go on if the user has allowed all of it before.

        The request belongs to the user who reads it first.
        """
        user, _session = self.sessions.of(request)
        wanted = self._pending(request, "authorization request cannot be processed")
        consent = self.sessions.records.consents.get(f"{user.id} {wanted.client_id}")
        if wanted.user_id is None:
            wanted.user_id = user.id
            self.sessions.records.save()
            if consent and set(wanted.scope.split()) <= set(consent.scopes):
                return self._approved(wanted)
        self._check_user(wanted, user)
        return JSONResponse(
            {
                "authorization_id": wanted.id,
                "redirect_uri": wanted.redirect_uri,
                "client": self.sessions.records.clients[wanted.client_id].view,
                "user": {"id": user.id, "email": user.email},
                "scope": wanted.scope,
            }
        )

    async def decide(self, request: Request) -> JSONResponse:
        """Approves or denies a request of a client; returns where to go on."""
        user, _session = self.sessions.of(request)
        action = (await json_body(request)).get("action")
        if action not in ("approve", "deny"):
            raise Refused(400, "validation_failed", "action must be 'approve' or 'deny'")
        wanted = self._pending(request, "authorization request is no longer pending")
        self._check_user(wanted, user)
        if action == "approve":
            consent = Consent(
                user_id=user.id, client_id=wanted.client_id, scopes=wanted.scope.split(), granted_at=self.sessions.now()
            )
            self.sessions.records.consents[f"{user.id} {wanted.client_id}"] = consent
            return self._approved(wanted)
        wanted.status = "denied"
        self.sessions.records.save()
        error = {"error": "access_denied", "error_description": "User denied the request", "state": wanted.state}
        return JSONResponse({"redirect_url": _with_query(wanted.redirect_uri, **error)})

    # ---------------------------------------------------------------- the client asks for tokens

    async def token(self, request: Request) -> JSONResponse:
        """Returns the tokens for a code or a refresh token."""
        fields = dict(parse_qsl((await request.body()).decode()))
        client, grant = authenticated_client(self.sessions, request, fields), fields.get("grant_type")
        if not grant:
            raise _refused("invalid_request", "grant_type is required")
        if grant not in client.grant_types:
            raise _refused("unsupported_grant_type", f"Client is not allowed to use grant type: {grant}")
        if grant == "refresh_token":
            if not fields.get("refresh_token"):
                raise _refused("invalid_request", "refresh_token is required for refresh_token grant")
            tokens = self.sessions.refresh(fields["refresh_token"], client.id)
        else:
            tokens = self._tokens_for_code(client, fields)
        del tokens["expires_at"]
        return JSONResponse(tokens)

    def _tokens_for_code(self, client: Client, fields: dict[str, Any]) -> dict[str, Any]:
        records, code = self.sessions.records, fields.get("code")
        if not code:
            raise _refused("invalid_request", "code is required for authorization_code grant")
        wanted = next((each for each in records.authorizations.values() if each.code == code), None)
        if wanted is None:
            raise _refused("invalid_grant", "Invalid authorization code")
        if problem := self._problem_of_code(wanted, client, fields):
            raise _refused("invalid_grant", problem)
        del records.authorizations[wanted.id]
        return self.sessions.start(records.users[str(wanted.user_id)], client_id=client.id, scope=wanted.scope)

    def _problem_of_code(self, wanted: Authorization, client: Client, fields: dict[str, Any]) -> str:
        if self.sessions.now() > wanted.expires_at:
            return "Authorization code has expired"
        if wanted.client_id != client.id:
            return "Authorization code was not issued for this client"
        if (fields.get("redirect_uri") or wanted.redirect_uri) != wanted.redirect_uri:
            return "Invalid redirect_uri"
        verifier = str(fields.get("code_verifier") or "")
        if not verifier:
            return "PKCE verification failed: code_verifier is required when PKCE challenge is present"
        if not hmac.compare_digest(_challenge(verifier).encode(), wanted.challenge.encode()):
            return "PKCE verification failed: code challenge does not match previously saved code verifier"
        return ""

    # ---------------------------------------------------------------- records

    def _client(self, client_id: str) -> Client:
        try:
            client = self.sessions.records.clients.get(str(UUID(client_id)))
        except ValueError as error:
            raise Refused(400, "oauth_client_not_found", "invalid client_id format") from error
        if client is None:
            raise Refused(400, "oauth_client_not_found", "invalid client_id")
        return client

    def _pending(self, request: Request, otherwise: str) -> Authorization:
        wanted = self.sessions.records.authorizations.get(request.path_params["authorization_id"])
        if wanted is None or self.sessions.now() > wanted.expires_at:
            raise _no_authorization()
        if wanted.status != "pending":
            raise Refused(400, "validation_failed", otherwise)
        return wanted

    def _check_user(self, wanted: Authorization, user: User) -> None:
        if wanted.user_id != user.id:
            raise _no_authorization()

    def _approved(self, wanted: Authorization) -> JSONResponse:
        wanted.status, wanted.code = "approved", str(uuid4())
        self.sessions.records.save()
        return JSONResponse({"redirect_url": _with_query(wanted.redirect_uri, code=wanted.code, state=wanted.state)})


def oauth_routes(server: OAuthServer) -> tuple[list[Route], list[Route]]:
    """Returns the routes that anybody may call, and those that need the project's key."""
    one = "/oauth/authorizations/{authorization_id}"
    return (
        [Route("/oauth/authorize", server.authorize), Route("/oauth/token", server.token, methods=["POST"])],
        [Route(one, server.read), Route(f"{one}/consent", server.decide, methods=["POST"])],
    )


def _problem(asked: Any, scope: str) -> str:
    """Returns what is wrong with a client's request, empty if nothing is. `resource` has no effect."""
    if asked.get("response_type", "code") != "code":
        return "only response_type=code is supported"
    for each in scope.split():
        if each not in SCOPES:
            return f"unsupported scope: {each}"
    resource = urlsplit(asked.get("resource", ""))
    if asked.get("resource") and not resource.scheme:
        return "resource must be an absolute URI"
    if resource.fragment or resource.query:
        return f"resource must not include a {'fragment' if resource.fragment else 'query'} component"
    challenge, method = asked.get("code_challenge"), asked.get("code_challenge_method", "").lower()
    if not challenge or not method:
        return "PKCE flow requires both code_challenge and code_challenge_method"
    if method != "s256":
        return "code_challenge_method must be 'S256': this stand-in has no other"
    if not 43 <= len(challenge) <= 128:
        return "code_challenge must be between 43 and 128 characters"
    return ""


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _with_query(url: str, **added: str) -> str:
    parts = urlsplit(url)
    members = dict(parse_qsl(parts.query, keep_blank_values=True)) | {
        name: value for name, value in added.items() if value
    }
    return parts._replace(query=urlencode(sorted(members.items()))).geturl()


def _refused(code: str, message: str) -> Refused:
    """Returns a refusal of the token endpoint, whose status is always 400."""
    return Refused(400, code, message, is_oauth=True)


def _no_authorization() -> Refused:
    return Refused(404, "oauth_authorization_not_found", "authorization not found")
