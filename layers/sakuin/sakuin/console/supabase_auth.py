"""Supabase Auth, as the console calls it for people: signing in and out, and which agents act for them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from sakuin.console.sessions import SessionTokens
from sakuin.errors import Conflict, NotFound, OverLimit, Refused, SakuinError, Unauthorized, Unavailable
from sakuin.platform.supabase.client import VENDOR, credentials

# A page that needs the token takes less.
_SECONDS_LEFT = 60
_ENDED = Unauthorized, "Your sign-in has ended. Sign in again"
_TOO_MANY = OverLimit, "Too many people sign in at this moment. Try again in five minutes"
_ERRORS: Mapping[str, tuple[type[SakuinError], str]] = {
    "email_not_confirmed": (Unauthorized, "Confirm your e-mail address first: open the link in the e-mail"),
    "feature_disabled": (NotFound, "Agents cannot sign in here. The operator can turn on Supabase's OAuth server"),
    "oauth_authorization_not_found": (
        NotFound,
        "This request of an agent does not exist, or it is older than ten minutes. Connect the agent again",
    ),
    "oauth_consent_not_found": (NotFound, "You allow no such agent"),
    "over_request_rate_limit": _TOO_MANY,
    "validation_failed": (Conflict, "This request of an agent was answered before. Connect the agent again"),
}


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

    Raises `Unauthorized` if a session has ended, and `Unavailable`.
    """

    url: str
    key: Callable[[], str] = field(repr=False)
    http: httpx.Client = field(repr=False)
    now: Callable[[], float] = time.time

    def sign_in(self, email: str, password: str) -> SessionTokens | None:
        """Returns the tokens of a new session; None if there is no such user with this password."""
        try:
            return self._tokens("password", email=email, password=password) if email and password else None
        except _WrongPassword:
            return None

    def refresh(self, tokens: SessionTokens) -> SessionTokens:
        """Returns tokens that are valid for a minute or more: the same, or refreshed ones."""
        if tokens.expires_at - self.now() > _SECONDS_LEFT:
            return tokens
        return self._tokens("refresh_token", refresh_token=tokens.refresh_token)

    def sign_out(self, tokens: SessionTokens) -> None:
        """Ends this session, and neither others of the user nor those of his agents."""
        self._call("POST", "/logout?scope=local", tokens)

    def agent_request(self, tokens: SessionTokens, request_id: str) -> AgentRequest | str:
        """Returns what an agent asks for, or the address where it waits if the user has allowed it before."""
        found = self._call("GET", f"/oauth/authorizations/{request_id}", tokens)
        if "redirect_url" in found:
            return str(found["redirect_url"])
        name, scopes = found["client"].get("name", ""), tuple(found.get("scope", "").split())
        return AgentRequest(request_id, name, found["redirect_uri"], scopes)

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

    def _tokens(self, grant: str, **fields: str) -> SessionTokens:
        found = self._call("POST", f"/token?grant_type={grant}", None, fields)
        user = found["user"]
        return SessionTokens(
            user["id"], user.get("email") or "", found["access_token"], found["refresh_token"], found["expires_at"]
        )

    def _call(self, method: str, path: str, tokens: SessionTokens | None, body: object = None) -> Any:
        headers = credentials(self.key(), tokens.access_token if tokens else "")
        try:
            answer = self.http.request(method, f"{self.url}/auth/v1{path}", headers=headers, json=body)
            if answer.is_success:
                return answer.json() if answer.content else None
            code = str(answer.json().get("error_code") or "")
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise Unavailable("Supabase Auth did not answer. Try again in a moment", vendor=VENDOR) from error
        raise _error(answer.status_code, code)


class _WrongPassword(Unauthorized):
    """There is no such user with this password."""


def _error(status: int, code: str) -> SakuinError:
    if code == "invalid_credentials":
        return _WrongPassword("There is no user with this address and password")
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return Unavailable("Supabase Auth did not answer. Try again in a moment", vendor=VENDOR)
    # The gateway gives no code: it refuses the key of the deployment.
    if not code and status == httpx.codes.UNAUTHORIZED:
        return Refused("Supabase refuses supabase_publishable_key. Correct it in the functions' secret", vendor=VENDOR)
    kind, sentence = _TOO_MANY if status == httpx.codes.TOO_MANY_REQUESTS else _ERRORS.get(code, _ENDED)
    return kind(sentence)
