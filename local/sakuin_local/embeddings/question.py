"""A request to `/v1/embeddings`, checked against OpenAI's limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from sakuin_local.embeddings.model import DIMENSIONS, NAME, Text

# https://platform.openai.com/docs/api-reference/embeddings/create
MAX_INPUTS = 2_048
MAX_TOKENS = 8_192
MAX_TOKENS_A_REQUEST = 300_000
MAX_DIMENSIONS = 3_072


class Refused(ValueError):
    """A request that OpenAI would reject too, or that this model does not support."""

    def __init__(
        self,
        message: str,
        *,
        parameter: str | None,
        status: int = 400,
        type: str = "invalid_request_error",
        code: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.status = status
        self.type = type
        self.code = code
        self.headers = headers


async def refusal_answer(_request: Request, refusal: Exception) -> JSONResponse:
    """Returns an error as OpenAI words it."""
    if not isinstance(refusal, Refused):
        raise refusal
    error = {"message": str(refusal), "type": refusal.type, "param": refusal.parameter, "code": refusal.code}
    return JSONResponse({"error": error}, refusal.status, headers=dict(refusal.headers))


@dataclass(frozen=True, slots=True)
class Question:
    """A valid request."""

    texts: tuple[Text, ...]
    dimensions: int

    @classmethod
    def of(cls, body: Any) -> "Question":
        """Parses the JSON body; raises `Refused`."""
        if not isinstance(body, dict):
            raise Refused("the body is not a JSON object", parameter="body")
        if body.get("model") != NAME:
            raise Refused(f"the model {body.get('model')!r} does not exist", parameter="model", status=404)
        if body.get("encoding_format") != "base64":
            raise Refused("encoding_format is 'base64': this endpoint writes no lists", parameter="encoding_format")
        return cls(_texts(body.get("input")), _dimensions(body.get("dimensions", DIMENSIONS)))


def _dimensions(wanted: Any) -> int:
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not DIMENSIONS <= wanted <= MAX_DIMENSIONS:
        raise Refused(
            f"this model has {DIMENSIONS} dimensions; up to {MAX_DIMENSIONS} are filled with zeros, which keeps every "
            "cosine; fewer are not supported",
            parameter="dimensions",
        )
    return wanted


def _texts(given: Any) -> tuple[Text, ...]:
    inputs = [given] if isinstance(given, str) else given
    if not isinstance(inputs, list) or not inputs or len(inputs) > MAX_INPUTS:
        raise Refused(f"input is a text or a list of 1 to {MAX_INPUTS} texts", parameter="input")
    if not all(isinstance(text, str) and text for text in inputs):
        raise Refused("an input is a text that is not empty; lists of tokens are not supported", parameter="input")
    try:
        return tuple(Text.of(text) for text in inputs)
    except ValueError as error:
        raise Refused(str(error), parameter="input") from error
