"""Supabase Auth, as the console calls it for people: signing in and out, and which agents act for them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import httpx2
import jwt

from sakuin.console.sessions import SessionTokens
from sakuin.errors import Conflict, NotFound, OverLimit, Refused, SakuinError, Unauthorized, Unavailable
from sakuin.platform.supabase.client import SECRET_KEYS, VENDOR, credentials

# A page that needs the token takes less.
_SECONDS_LEFT = 60
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
    "validation_failed": (Conflict, "This request of an agent was answered before. Connect the agent again"),
}


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
    http: httpx2.Client = field(repr=False)
    now: Callable[[], float] = time.time
    secret_key: Callable[[], str] = field(repr=False, default=str)

    def sign_in(self, email: str, password: str, *, code: str = "", address: str = "") -> SessionTokens:
        """Returns the tokens of a new session; `NotSignedIn` for a wrong password or a missing second factor.

        `code` is that of an authenticator app, for accounts with one; `address` is the caller's IP address.
        """
        if not email or not password:
            raise NotSignedIn("sign_in.wrong_password")
        answer = self._call("POST", "/token?grant_type=password", None, {"email": email, "password": password}, address)
        factors, tokens = _verified_factors(answer), _tokens(answer)
        if not factors:
            return tokens
        try:
            return self._second_factor(tokens, factors, code, address)
        except SakuinError:
            # Nobody uses the session that the password alone has started.
            self.sign_out(tokens)
            raise

    def refresh(self, tokens: SessionTokens) -> SessionTokens:
        """Returns tokens that are valid for a minute or more: the same, or refreshed ones."""
        if tokens.expires_at - self.now() > _SECONDS_LEFT:
            return tokens
        answer = self._call("POST", "/token?grant_type=refresh_token", None, {"refresh_token": tokens.refresh_token})
        refreshed = _tokens(answer)
        if _verified_factors(answer) and _assurance(refreshed) != "aal2":
            # The user has added a second factor since.
            raise Unauthorized(_ENDED[1])
        return refreshed

    def sign_out(self, tokens: SessionTokens) -> None:
        """Ends this session, and neither others of the user nor those of his agents."""
        self._call("POST", "/logout?scope=local", tokens)

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

    def _second_factor(
        self, tokens: SessionTokens, factors: Mapping[str, str], code: str, address: str
    ) -> SessionTokens:
        """Returns tokens of the second factor in exchange for those of the password."""
        if "totp" not in factors:
            raise NotSignedIn("sign_in.other_factor")
        if not code:
            raise NotSignedIn("sign_in.code_needed")
        path = f"/factors/{factors['totp']}"
        challenge = self._call("POST", f"{path}/challenge", tokens, {}, address)
        body = {"challenge_id": challenge["id"], "code": code}
        return _tokens(self._call("POST", f"{path}/verify", tokens, body, address))

    def _call(
        self, method: str, path: str, tokens: SessionTokens | None, body: object = None, address: str = ""
    ) -> Any:
        key, forwarded = self.key(), {}
        if address and _is_address(address) and self.secret_key().startswith(SECRET_KEYS):
            key, forwarded = self.secret_key(), {"Sb-Forwarded-For": address}
        headers = credentials(key, tokens.access_token if tokens else "") | forwarded
        try:
            answer = self.http.request(method, f"{self.url}/auth/v1{path}", headers=headers, json=body)
            if answer.is_success:
                return answer.json() if answer.content else None
            code = str(answer.json().get("error_code") or "")
        except (httpx2.HTTPError, ValueError, AttributeError) as error:
            raise Unavailable("Supabase Auth did not answer. Try again in a moment", vendor=VENDOR) from error
        raise _error(answer.status_code, code)


def _tokens(answer: Mapping[str, Any]) -> SessionTokens:
    user = answer["user"]
    return SessionTokens(
        user["id"], user.get("email") or "", answer["access_token"], answer["refresh_token"], answer["expires_at"]
    )


def _verified_factors(answer: Mapping[str, Any]) -> dict[str, str]:
    """Returns the id of a verified second factor of each type that the user has."""
    factors = answer["user"].get("factors") or ()
    return {each["factor_type"]: each["id"] for each in factors if each["status"] == "verified"}


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
    if status >= httpx2.codes.INTERNAL_SERVER_ERROR:
        return Unavailable("Supabase Auth did not answer. Try again in a moment", vendor=VENDOR)
    # The gateway gives no code: it refuses the key of the deployment.
    if not code and status == httpx2.codes.UNAUTHORIZED:
        return Refused("Supabase refuses supabase_publishable_key. Correct it in the functions' secret", vendor=VENDOR)
    kind, sentence = _TOO_MANY if status == httpx2.codes.TOO_MANY_REQUESTS else _ERRORS.get(code, _ENDED)
    return kind(sentence)
