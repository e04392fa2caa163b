"""What Supabase Auth reads and answers: JSON bodies, refusals, times, and a client as users see it."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from sakuin_local.supabase.auth.records import Client


class Refused(Exception):
    """A refusal with its status, its code and its sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    def answer(self) -> JSONResponse:
        """Returns the refusal as clients without the header `X-Supabase-Api-Version` get it."""
        body = {"code": self.status, "error_code": self.code, "msg": str(self)}
        return JSONResponse(body, self.status, {"x-sb-error-code": self.code})


class OAuthRefused(Refused):
    """A refusal of the token endpoint, as RFC 6749 has it. The status is always 400."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(400, code, message)

    def answer(self) -> JSONResponse:
        """Returns the refusal."""
        return JSONResponse({"error": self.code, "error_description": str(self)}, self.status)


async def refusal_answer(_request: Request, refusal: Exception) -> JSONResponse:
    """Returns the answer of a refusal."""
    if not isinstance(refusal, Refused):
        raise refusal
    return refusal.answer()


async def json_body(request: Request) -> dict[str, Any]:
    """Returns the JSON object of a request."""
    try:
        fields = await request.json()
    except ValueError as error:
        raise Refused(400, "bad_json", f"Could not parse request body as JSON: {error}") from error
    if not isinstance(fields, dict):
        raise Refused(400, "bad_json", "Could not parse request body as JSON: not an object")
    return fields


def moment(seconds: float) -> str:
    """Returns a time as Supabase writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def client_view(client: Client) -> dict[str, str]:
    """Returns what users see of a client; empty members are left out."""
    members = {"id": client.id, "name": client.name, "uri": client.uri, "logo_uri": client.logo_uri}
    return {name: value for name, value in members.items() if value}
