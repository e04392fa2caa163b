"""The errors of the REST API: one body for all, and their descriptions in OpenAPI."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from sakuin.arguments import NO_JSON, sentence_of
from sakuin.errors import Invalid, SakuinError
from sakuin.language.unicode_text import one_line
from sakuin.platform.asgi import Application, Message, Receive, Scope, Send
from sakuin.platform.http_errors import CODES, ORIGIN_NOT_ALLOWED, QUOTA_EXCEEDED, HttpError, http_error

MEANINGS = {
    401: "The key or token is missing or wrong",
    403: "The role of the caller, or a token that was given to an agent, does not allow it",
    404: "It does not exist, or is not the caller's",
    409: "It changed since it was read, or something else forbids it",
    410: "The cursor is too old: begin again without it",
    413: "The request is too large",
    422: "The request is wrong; the same again fails in the same way",
    429: "A quota is used up: wait for Retry-After seconds, or without that header remove something",
    503: "An outside system did not answer: try again after Retry-After seconds",
}
_LONGEST_NAME = 64
_TOO_LARGE = (
    "The request is too large; the limit is {size:,} (api_request_bytes). Upload a large document: "
    "POST /v1/projects/{{project_id}}/tables/uploads for a new Table, POST /v1/tables/{{table_id}}/uploads."
)


class Error(BaseModel):
    """The answer of every request that fails."""

    detail: str = Field(description="A sentence that says what to do.")
    code: str = Field(
        description="For programs; stays the same.",
        json_schema_extra={"enum": [*CODES.values(), ORIGIN_NOT_ALLOWED, QUOTA_EXCEEDED]},
    )
    request_id: str = Field(description="In the header `apigw-requestid` and in the log, too.")


class StrictRequest(BaseModel):
    """A request whose misspelt members are not ignored."""

    model_config = ConfigDict(extra="forbid")


def may_fail(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns the descriptions of these statuses, for `responses` of a route or a router."""
    # Named and not given as a model: FastAPI would build a validator for each status of each route.
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{Error.__name__}"}}}
    return {status: {"description": MEANINGS[status], "content": content} for status in statuses}


class AtMost:
    """ASGI middleware: has the reading of a body of more than `size` bytes fail with 413."""

    def __init__(self, app: Application, *, size: int) -> None:
        self._app = app
        self._size = size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def receive_part() -> Message:
            nonlocal size
            part = await receive()
            size += len(part.get("body", b""))
            if size > self._size:
                raise StarletteHTTPException(413, _TOO_LARGE.format(size=self._size))
            return part

        await self._app(scope, receive_part, send)


def add_error_handlers(app: FastAPI, answer: Callable[[Request, HttpError], Response]) -> None:
    """Has the application answer all errors as `answer` does."""

    @app.exception_handler(SakuinError)
    async def answer_error(request: Request, error: SakuinError) -> Response:
        return answer(request, http_error(error, request.headers))

    @app.exception_handler(StarletteHTTPException)
    async def answer_http_error(request: Request, error: HTTPException) -> Response:
        # FastAPI answers 400 to JSON that is nested too deeply.
        status = 422 if error.status_code == 400 else error.status_code
        sentences = {404: "There is no such path", 405: "This path does not have this method", 422: NO_JSON}
        return answer(request, HttpError(status, sentences.get(status, str(error.detail)), error.headers or {}))

    @app.exception_handler(Exception)
    async def answer_failure(request: Request, _error: Exception) -> Response:
        # Starlette raises the error again after the answer, so that it is logged.
        return answer(request, HttpError(500, "Something went wrong."))

    @app.exception_handler(RequestValidationError)
    async def answer_validation_error(request: Request, error: RequestValidationError) -> Response:
        # The first part of a place is body, query or path.
        return answer(request, HttpError(422, sentence_of(error.errors(), slice(1, None))))


def check_query(request: Request) -> None:
    """Raises `Invalid` for a query parameter that the route does not have: a misspelt one must not be ignored."""
    names = {field.alias for field in request.scope["route"].dependant.query_params}
    if unknown := request.query_params.keys() - names:
        use = f"Use {', '.join(sorted(names))}" if names else "This route has none"
        raise Invalid(f"Unknown query parameter {one_line(min(unknown))[:_LONGEST_NAME]!a}. {use}")
