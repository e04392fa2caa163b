"""Refusals of the embeddings endpoint, as OpenAI words them."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse


class Refused(Exception):
    """A request that OpenAI would reject too, or that this model does not support."""

    def __init__(
        self, message: str, *, status: int = 400, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers


async def refusal_answer(_request: Request, refusal: Any) -> JSONResponse:
    """Returns the answer of a refusal."""
    kind = "invalid_request_error" if refusal.status < 429 else "server_error"
    error = {"message": str(refusal), "type": kind, "param": None, "code": refusal.code}
    return JSONResponse({"error": error}, refusal.status, headers=refusal.headers)
