"""Sign-in of users: `/token`, `/logout`, and the clients that a user allowed, `/user/oauth/grants`."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sakuin_local.supabase.auth.clients import moment
from sakuin_local.supabase.auth.records import User
from sakuin_local.supabase.auth.sessions import Refused, Sessions, json_body


def sign_in_routes(sessions: Sessions) -> list[Route]:
    """Returns the routes for users."""
    records = sessions.records

    async def token(request: Request) -> JSONResponse:
        grant = request.query_params.get("grant_type")
        if grant not in ("password", "refresh_token"):
            raise Refused(400, "invalid_credentials", "unsupported_grant_type")
        fields = await json_body(request)
        if grant == "refresh_token":
            tokens = sessions.refresh(fields.get("refresh_token"))
            user = records.users[records.sessions[tokens["refresh_token"].split(".")[0]].user_id]
        else:
            user = _user_with_password(fields)
            tokens = sessions.start(user)
        return JSONResponse({**tokens, "user": {"id": user.id, "email": user.email}})

    def _user_with_password(fields: dict[str, Any]) -> User:
        if not fields.get("email"):
            raise Refused(400, "validation_failed", "missing email or phone")
        user = records.user_with(str(fields["email"]))
        if user is None or not user.has_password(str(fields.get("password", ""))):
            raise Refused(400, "invalid_credentials", "Invalid login credentials")
        return user

    async def logout(request: Request) -> Response:
        _user, session = sessions.of(request)
        # Without it the service ends all sessions of the user, those of agents too.
        if request.query_params.get("scope") != "local":
            raise Refused(400, "validation_failed", "this stand-in has scope=local alone")
        sessions.end(session)
        return Response(status_code=204)

    async def grants(request: Request) -> JSONResponse:
        user, _session = sessions.of(request)
        return JSONResponse(
            [
                {
                    "client": records.clients[consent.client_id].view,
                    "scopes": consent.scopes,
                    "granted_at": moment(consent.granted_at),
                }
                for consent in records.consents_of(user.id)
            ]
        )

    async def revoke_grant(request: Request) -> Response:
        user, _session = sessions.of(request)
        client_id = request.query_params.get("client_id", "")
        if not client_id:
            raise Refused(400, "validation_failed", "client_id query parameter is required")
        if records.consents.pop(f"{user.id} {client_id}", None) is None:
            raise Refused(404, "oauth_consent_not_found", "No active grant found for this client")
        sessions.end(
            *(each for each in records.sessions.values() if (each.user_id, each.client_id) == (user.id, client_id))
        )
        return Response(status_code=204)

    return [
        Route("/token", token, methods=["POST"]),
        Route("/logout", logout, methods=["POST"]),
        Route("/user/oauth/grants", grants),
        Route("/user/oauth/grants", revoke_grant, methods=["DELETE"]),
    ]
