"""The OAuth 2.1 server: Authlib's, with the consent of a user on a page of the application. Clients are public."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

from authlib.oauth2 import OAuth2Error, OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationServer, InvalidGrantError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7636 import CodeChallenge
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from sakuin_local.supabase.auth.records import Authorization, Client, Consent, User
from sakuin_local.supabase.auth.sessions import Refused, Sessions, json_body

DEFAULT_SCOPE = "email"
SCOPES = ("openid", "profile", "email", "phone", "offline_access")
GRANT_TYPES = ("authorization_code", "refresh_token")
AUTH_METHODS = ("none",)
REQUEST_SECONDS = 600


class _Fields(OAuth2Request):
    """A request to Authlib with these fields."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__("POST", "https://of-this-machine")
        self.payload = BasicOAuth2Payload(fields)

    @property
    def form(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.payload.data
        return fields


class _CodeGrant(AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def query_authorization_code(self, code: str, client: Client) -> Authorization | None:
        sessions: Sessions = self.server.sessions
        for each in sessions.records.authorizations.values():
            if (each.code, each.client_id) == (code, client.id) and sessions.now() <= each.expires_at:
                return each
        return None

    def delete_authorization_code(self, authorization_code: Authorization) -> None:
        del self.server.sessions.records.authorizations[authorization_code.id]

    def authenticate_user(self, authorization_code: Authorization) -> User:
        user: User = self.server.sessions.records.users[str(authorization_code.user_id)]
        return user


class _RefreshGrant(RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def validate_token_request(self) -> None:
        self.request.client = self._validate_request_client()

    def create_token_response(self) -> tuple[int, dict[str, Any], Any]:
        try:
            tokens = self.server.sessions.refresh(self.request.form.get("refresh_token"), self.request.client.id)
        except Refused as refusal:
            raise InvalidGrantError from refusal
        return 200, tokens, self.TOKEN_RESPONSE_HEADER


class OAuthServer(AuthorizationServer):
    """The server of a project whose application has its consent page at `consent_url`; it gives no ID tokens.

    While it `refuses_agents`, it answers as some hosted projects do, https://github.com/supabase/auth/issues/2820: 400
    to the reading of a request with `resource`, with `offline_access` or of a public client. Here all are public.
    """

    refuses_agents = False

    def __init__(self, sessions: Sessions, consent_url: str) -> None:
        super().__init__(scopes_supported=SCOPES)
        self.sessions, self.consent_url = sessions, consent_url
        self.register_grant(_CodeGrant, [CodeChallenge(required=True)])
        self.register_grant(_RefreshGrant)

    def query_client(self, client_id: str) -> Client | None:
        return self.sessions.records.clients.get(client_id)

    def create_oauth2_request(self, request: _Fields) -> _Fields:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        if isinstance(body, dict):
            return JSONResponse(body, status, headers=dict(headers))
        return Response(body, status, headers=dict(headers))

    def generate_token(self, grant_type: str, client: Client, user: User, scope: str, **_: Any) -> dict[str, Any]:
        return self.sessions.start(user, client_id=client.id, scope=scope)

    def save_token(self, token: dict[str, Any], request: _Fields) -> None:
        """Saves nothing: the session is saved when it starts."""

    def send_signal(self, *_: Any, **__: Any) -> None:
        """Tells nobody what happens."""

    async def register(self, request: Request) -> Response:
        """Registers the client of a request (RFC 7591), of which nobody is asked for a key."""
        fields = await json_body(request)
        if not fields.get("redirect_uris"):
            raise Refused(400, "validation_failed", "400: redirect_uris is required")
        granted = {"redirect_uris": fields["redirect_uris"], "grant_types": fields.get("grant_types") or [*GRANT_TYPES]}
        client = Client(name=str(fields.get("client_name") or ""), **granted)
        self.sessions.records.clients[client.id] = client
        self.sessions.records.save()
        members = {"client_id": client.id, "client_name": client.name, "client_type": "public"}
        means = {"response_types": ["code"], "token_endpoint_auth_method": AUTH_METHODS[0]}
        return JSONResponse({**members, **granted, **means}, 201)

    async def delete(self, request: Request) -> Response:
        if self.sessions.records.clients.pop(request.path_params["id"], None) is None:
            raise Refused(404, "oauth_client_not_found", "OAuth client not found")
        self.sessions.records.save()
        return Response(status_code=204)

    async def authorize(self, request: Request) -> Response:
        """Redirects to the consent page. Only a known client with one of its addresses is told of an error."""
        fields = {"response_type": "code", **request.query_params}
        fields["scope"] = fields.get("scope") or DEFAULT_SCOPE
        try:
            self.get_consent_grant(_Fields(fields))
        except OAuth2Error as error:
            refusal: Response = self.handle_error_response(None, error)
            return refusal
        # A `resource` (RFC 8707) is accepted and not kept.
        authorization = Authorization.model_validate({**fields, "expires_at": self.sessions.now() + REQUEST_SECONDS})
        self.sessions.records.authorizations[authorization.id] = authorization
        self.sessions.records.save()
        return RedirectResponse(f"{self.consent_url}?authorization_id={authorization.id}", 302)

    async def token(self, request: Request) -> Response:
        """Returns the tokens for a code or a refresh token."""
        fields = dict(parse_qsl((await request.body()).decode()))
        answer: Response = self.create_token_response(_Fields(fields))
        return answer

    async def read(self, request: Request) -> Response:
        """Returns what a client asks for, or where to go on if the user has allowed all of it before.

        The request belongs to the user who reads it first.
        """
        user, _session = self.sessions.of(request)
        authorization = self._pending(request, (None, user.id), "authorization request cannot be processed")
        consent = self.sessions.records.consents.get(f"{user.id} {authorization.client_id}")
        if authorization.user_id is None:
            authorization.user_id = user.id
            self.sessions.records.save()
            if consent and set(authorization.scope.split()) <= set(consent.scopes):
                return self._approved(authorization)
        return JSONResponse(
            {
                "authorization_id": authorization.id,
                "redirect_uri": authorization.redirect_uri,
                "client": self.sessions.records.clients[authorization.client_id].view,
                "user": {"id": user.id, "email": user.email},
                "scope": authorization.scope,
            }
        )

    async def decide(self, request: Request) -> Response:
        """Approves or denies a request of a client; returns where to go on."""
        user, _session = self.sessions.of(request)
        action = (await json_body(request)).get("action")
        if action not in ("approve", "deny"):
            raise Refused(400, "validation_failed", "action must be 'approve' or 'deny'")
        authorization = self._pending(request, (user.id,), "authorization request is no longer pending")
        client_id, scopes = authorization.client_id, authorization.scope.split()
        if action == "approve":
            since = datetime.fromtimestamp(self.sessions.now(), UTC).isoformat().replace("+00:00", "Z")
            consent = Consent(user_id=user.id, client_id=client_id, scopes=scopes, granted_at=since)
            self.sessions.records.consents[f"{user.id} {client_id}"] = consent
            return self._approved(authorization)
        authorization.status = "denied"
        self.sessions.records.save()
        return _redirect(authorization, error="access_denied", error_description="User denied the request")

    def _pending(self, request: Request, users: tuple[str | None, ...], otherwise: str) -> Authorization:
        """Returns a request of a client that nobody has decided, of one of these users (None: of nobody yet)."""
        one = self.sessions.records.authorizations.get(request.path_params["authorization_id"])
        if one is None or self.sessions.now() > one.expires_at or one.user_id not in users:
            raise Refused(404, "oauth_authorization_not_found", "authorization not found")
        if one.status != "pending" or self.refuses_agents:
            raise Refused(400, "validation_failed", otherwise)
        return one

    def _approved(self, authorization: Authorization) -> Response:
        authorization.status, authorization.code = "approved", str(uuid4())
        self.sessions.records.save()
        return _redirect(authorization, code=authorization.code)


def _redirect(authorization: Authorization, **added: str) -> Response:
    """Returns the answer with the address where a client waits, with these members and its state."""
    parts = urlsplit(authorization.redirect_uri)
    members = dict(parse_qsl(parts.query, keep_blank_values=True)) | added
    if authorization.state:
        members["state"] = authorization.state
    return JSONResponse({"redirect_url": parts._replace(query=urlencode(sorted(members.items()))).geturl()})
