"""Sessions of Supabase Auth: their tokens, which rotate, who a token belongs to, and refusals."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jwt
from starlette.requests import Request
from starlette.responses import JSONResponse

from sakuin_local.supabase.auth.records import Records, Session, User
from sakuin_local.supabase.tokens import SigningKey

# Hosted projects have these.
ACCESS_SECONDS = 3600
REUSE_SECONDS = 10


class Refused(Exception):
    """A refusal with its status, its code and its sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


async def refusal_answer(_request: Request, refusal: Any) -> JSONResponse:
    """Returns the answer of a refusal, as clients without the header `X-Supabase-Api-Version` get it."""
    body = {"code": refusal.status, "error_code": refusal.code, "msg": str(refusal)}
    return JSONResponse(body, refusal.status, {"x-sb-error-code": refusal.code})


async def json_body(request: Request) -> dict[str, Any]:
    """Returns the JSON object of a request."""
    try:
        return dict(await request.json())
    except (ValueError, TypeError) as error:
        raise Refused(400, "bad_json", f"Could not parse request body as JSON: {error}") from error


@dataclass
class Sessions:
    """Sessions of an issuer, which is a URL. `now` gives seconds since 1970."""

    records: Records
    key: SigningKey
    issuer: str
    now: Callable[[], float] = time.time

    def start(self, user: User, *, client_id: str | None = None, scope: str = "") -> dict[str, Any]:
        """Starts a session of a user; returns its tokens."""
        session = Session(user_id=user.id, refreshed_at=self.now(), client_id=client_id, scope=scope)
        session.rotate()
        self.records.sessions[session.id] = session
        return self._tokens(session)

    def refresh(self, token: object, client_id: str | None = None) -> dict[str, Any]:
        """Returns the next tokens of a session.

        The token before the current one gets the current one again: a client may have lost the answer. An older one
        ends the session, unless the session was refreshed a moment ago.
        """
        session = self.records.sessions.get(token.split(".")[0]) if isinstance(token, str) else None
        if session is None or token not in session.refresh_tokens:
            raise Refused(400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
        if session.client_id != client_id:
            raise Refused(400, "invalid_client", "The session belongs to another client, or to none")
        if token == session.refresh_token:
            session.rotate()
        elif token not in session.refresh_tokens[-2:] and self.now() - session.refreshed_at >= REUSE_SECONDS:
            self.end(session)
            raise Refused(400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
        session.refreshed_at = self.now()
        return self._tokens(session)

    def of(self, request: Request) -> tuple[User, Session]:
        """Returns who the token in the header `Authorization` belongs to."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise Refused(401, "no_authorization", "This endpoint requires a valid Bearer token")
        try:
            claims = self.key.claims_of(token)
            if claims["exp"] <= self.now():
                raise jwt.ExpiredSignatureError("token is expired")
        except jwt.PyJWTError as error:
            raise Refused(403, "bad_jwt", f"invalid JWT: unable to parse or verify signature, {error}") from error
        # Who is deleted has no session.
        session = self.records.sessions.get(claims["session_id"])
        if session is None:
            raise Refused(403, "session_not_found", "Session from session_id claim in JWT does not exist")
        return self.records.users[session.user_id], session

    def end(self, *ended: Session) -> None:
        """Ends sessions: no token of theirs is refreshed. Others accept their access tokens until these expire."""
        for session in ended:
            self.records.sessions.pop(session.id, None)
        self.records.save()

    def _tokens(self, session: Session) -> dict[str, Any]:
        self.records.save()
        user, now = self.records.users[session.user_id], int(self.now())
        claims = {"iss": self.issuer, "sub": user.id, "aud": "authenticated", "exp": now + ACCESS_SECONDS, "iat": now}
        claims |= {"email": user.email, "role": "authenticated", "aal": "aal1", "is_anonymous": False}
        of_client = {"client_id": session.client_id, "scope": session.scope} if session.client_id else {}
        return {
            "access_token": self.key.sign({**claims, "session_id": session.id, **of_client}),
            "token_type": "bearer",
            "expires_in": ACCESS_SECONDS,
            "expires_at": now + ACCESS_SECONDS,
            "refresh_token": session.refresh_token,
        }
