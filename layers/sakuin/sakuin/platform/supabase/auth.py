"""Supabase Auth, as it is called for people: signing in and out, and which agents act for them."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import httpx
import jwt
from pydantic import ValidationError
from supabase import AuthApiError, AuthError, ClientOptions, SupabaseAuthClient, create_client

from sakuin.errors import Conflict, NotFound, OverLimit, Refused, SakuinError, Unauthorized, Unavailable
from sakuin.platform.supabase.client import SECRET_KEYS, VENDOR, credentials
from sakuin.texts.catalogue import coded

if TYPE_CHECKING:
    from supabase_auth.types import Session

# A page that needs the token takes less.
_SECONDS_LEFT = 60
_SILENT = "Supabase Auth did not answer. Try again in a moment"
_ENDED = Unauthorized, "Your sign-in has ended. Sign in again"
_TOO_MANY = OverLimit, "Too many people sign in at this moment. Try again in five minutes"
# Codes of Supabase Auth that end a sign-in, and the keys of what the page of the console says about them.
_PROBLEMS = {
    "invalid_credentials": "sign_in.wrong_password",
    "captcha_failed": "sign_in.captcha",
    "mfa_verification_failed": "sign_in.wrong_code",
    "mfa_challenge_expired": "sign_in.wrong_code",
}
_ERRORS: Mapping[str, tuple[type[SakuinError], str]] = {
    "email_not_confirmed": (Unauthorized, "Confirm your e-mail address first: open the link in the e-mail"),
    "feature_disabled": (NotFound, "Agents cannot sign in here. The operator can turn on Supabase's OAuth server"),
    "oauth_authorization_not_found": (
        NotFound,
        "This request of an agent does not exist, or it is older than ten minutes. Connect the agent again",
    ),
    "oauth_consent_not_found": (NotFound, "You allow no such agent"),
    "over_request_rate_limit": _TOO_MANY,
    "validation_failed": (Conflict, coded("form.agent_refused")),
}


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """What Supabase Auth gave a user who signed in. `expires_at` of the access token is in seconds since 1970."""

    user_id: str
    email: str
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: int


class NotSignedIn(Unauthorized):
    """Supabase Auth signs this user in only with other input. The message is the key of a text of the page."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """An agent's request to act for a user. All but `id` is what the agent says of itself."""

    id: str
    name: str
    redirect_uri: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllowedAgent:
    """An agent that a user allowed to act for him. `name` is what it says of itself; `since` is a time in ISO 8601."""

    id: str
    name: str
    since: str


@dataclass(frozen=True, slots=True)
class SupabaseAuth:
    """Supabase Auth of the project at `url`. `key` returns its publishable key, empty if users cannot sign in.

    With `secret_key`, a key `sb_secret_…`, Supabase Auth counts a sign-in for the address of the caller, if the project
    allows that (IP address forwarding), and not for that of the function. Raises `Unauthorized` if a session has ended,
    and `Unavailable`.
    """

    url: str
    key: Callable[[], str] = field(repr=False)
    http: httpx.Client = field(repr=False)
    now: Callable[[], float] = time.time
    secret_key: Callable[[], str] = field(repr=False, default=str)

    def sign_in(self, email: str, password: str, *, code: str = "", address: str = "") -> SessionTokens:
        """Returns the tokens of a new session; `NotSignedIn` for a wrong password or a missing second factor.

        `code` is that of an authenticator app, for accounts with one; `address` is the caller's IP address.
        """
        if not email or not password:
            raise NotSignedIn("sign_in.wrong_password")
        auth = self._client(address)
        with _translated_errors():
            session = auth.sign_in_with_password({"email": email, "password": password}).session
        factors, tokens = _verified_factors(session), _tokens(session)
        if not factors:
            return tokens
        try:
            return _second_factor(auth, factors, code)
        except SakuinError:
            # Nobody uses the session that the password alone has started.
            self.sign_out(tokens)
            raise

    def refresh(self, tokens: SessionTokens) -> SessionTokens:
        """Returns tokens that are valid for a minute or more: the same, or refreshed ones."""
        if tokens.expires_at - self.now() > _SECONDS_LEFT:
            return tokens
        with _translated_errors():
            session = self._client().refresh_session(tokens.refresh_token).session
        refreshed = _tokens(session)
        if _verified_factors(session) and _assurance(refreshed) != "aal2":
            # The user has added a second factor since.
            raise Unauthorized(_ENDED[1])
        return refreshed

    def sign_out(self, tokens: SessionTokens) -> None:
        """Ends this session, and neither others of the user nor those of his agents."""
        with _translated_errors():
            self._client().admin.sign_out(tokens.access_token, "local")

    def _client(self, address: str = "") -> SupabaseAuthClient:
        """Returns a new client: it keeps the session of the user who signs in with it."""
        key, headers = self.key(), {}
        if _is_address(address) and self.secret_key().startswith(SECRET_KEYS):
            key, headers = self.secret_key(), {"Sb-Forwarded-For": address}
        options = ClientOptions(
            headers=headers, httpx_client=self.http, auto_refresh_token=False, persist_session=False
        )
        return create_client(self.url, key or "none", options).auth

    # What follows is Supabase's OAuth server, for which its client has no calls.

    def agent_request(self, tokens: SessionTokens, request_id: str) -> AgentRequest | str:
        """Returns what an agent asks for, or the address where it waits if the user has allowed it before."""
        authorization = self._call("GET", f"/oauth/authorizations/{request_id}", tokens)
        if "redirect_url" in authorization:
            return str(authorization["redirect_url"])
        name, scopes = authorization["client"].get("name", ""), tuple(authorization.get("scope", "").split())
        return AgentRequest(request_id, name, authorization["redirect_uri"], scopes)

    def answer_agent(self, tokens: SessionTokens, request_id: str, *, allow: bool) -> str:
        """Allows or denies what an agent asks for; returns the address where it waits for the answer."""
        action = {"action": "approve" if allow else "deny"}
        return str(self._call("POST", f"/oauth/authorizations/{request_id}/consent", tokens, action)["redirect_url"])

    def allowed_agents(self, tokens: SessionTokens) -> list[AllowedAgent]:
        """Returns the agents that the user allows."""
        grants = self._call("GET", "/user/oauth/grants", tokens)
        return [AllowedAgent(one["client"]["id"], one["client"].get("name", ""), one["granted_at"]) for one in grants]

    def revoke_agent(self, tokens: SessionTokens, agent_id: str) -> None:
        """Ends what the user allowed an agent. The access token that it has is valid until it expires."""
        self._call("DELETE", f"/user/oauth/grants?client_id={agent_id}", tokens)

    def _call(self, method: str, path: str, tokens: SessionTokens, body: object = None) -> Any:
        headers = credentials(self.key(), tokens.access_token)
        try:
            answer = self.http.request(method, f"{self.url}/auth/v1{path}", headers=headers, json=body)
            if answer.is_success:
                return answer.json() if answer.content else None
            code = str(answer.json().get("error_code") or "")
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise Unavailable(_SILENT, vendor=VENDOR) from error
        raise _error(answer.status_code, code)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Translates errors of Supabase's client into errors of the product."""
    try:
        yield
    except AuthApiError as error:
        raise _error(error.status, error.code or "") from error
    except (AuthError, ValidationError) as error:
        raise Unavailable(_SILENT, vendor=VENDOR) from error


def _second_factor(auth: SupabaseAuthClient, factors: Mapping[str, str], code: str) -> SessionTokens:
    """Returns tokens of the second factor in exchange for those of the password."""
    if "totp" not in factors:
        raise NotSignedIn("sign_in.other_factor")
    if not code:
        raise NotSignedIn("sign_in.code_needed")
    with _translated_errors():
        auth.mfa.challenge_and_verify({"factor_id": factors["totp"], "code": code})
        return _tokens(auth.get_session())


def _tokens(session: "Session | None") -> SessionTokens:
    if session is None:
        raise Unavailable(_SILENT, vendor=VENDOR)
    user = session.user
    return SessionTokens(
        user.id, user.email or "", session.access_token, session.refresh_token, session.expires_at or 0
    )


def _verified_factors(session: "Session | None") -> dict[str, str]:
    """Returns the id of a verified second factor of each type that the user has."""
    factors = (session and session.user.factors) or ()
    return {factor.factor_type: factor.id for factor in factors if factor.status == "verified"}


def _assurance(tokens: SessionTokens) -> str:
    """Returns the level of a token that Supabase Auth has just given: `aal2` with a second factor."""
    return str(jwt.decode(tokens.access_token, options={"verify_signature": False}).get("aal"))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _error(status: int, code: str) -> SakuinError:
    if code in _PROBLEMS:
        return NotSignedIn(_PROBLEMS[code])
    # The gateway gives no code: it refuses the key of the deployment.
    if not code and status == httpx.codes.UNAUTHORIZED:
        return Refused("Supabase refuses supabase_publishable_key. Correct it in the functions' secret", vendor=VENDOR)
    kind, sentence = _TOO_MANY if status == httpx.codes.TOO_MANY_REQUESTS else _ERRORS.get(code, _ENDED)
    if kind is _ENDED[0] and (not code or status >= httpx.codes.INTERNAL_SERVER_ERROR):
        return Unavailable(_SILENT, vendor=VENDOR)
    return kind(sentence)
