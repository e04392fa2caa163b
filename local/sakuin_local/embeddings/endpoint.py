"""OpenAI's `/v1/embeddings` and `/v1/models/{model}` with OpenAI's limits, and `/healthz`."""

import asyncio
import base64
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.deployment import DeploymentModel
from sakuin_local.embeddings.model import DIMENSIONS, NAME, SLICE, Model, Text, Vector, slices
from sakuin_local.embeddings.queue import RequestQueue
from sakuin_local.embeddings.refused import Refused, refusal_answer

if TYPE_CHECKING:
    from sakuin_local.embeddings.onnx import OnnxModel

# https://platform.openai.com/docs/api-reference/embeddings/create
MAX_INPUTS = 2_048
MAX_TOKENS = 8_192
MAX_TOKENS_A_REQUEST = 300_000
MAX_DIMENSIONS = 3_072
# RFC 9218: 0 is the most urgent, 7 the least. The product sends pages as 3, which is the default, and Tables as 5.
_URGENCY = re.compile(r"(?:^|[,\s])u=([0-7])(?:$|[,;\s])")
_DEFAULT_URGENCY = 3


@dataclass
class Endpoint:
    """A model of this name, whose vectors have `dimensions` numbers and which gets parts of this `size`.

    It has no limits of an account: the machine is the limit.
    """

    model: "Model | DeploymentModel | OnnxModel"
    cache: VectorCache
    queue: RequestQueue = field(default_factory=RequestQueue)
    name: str = NAME
    size: tuple[int, int] = SLICE
    dimensions: int = DIMENSIONS
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/embeddings", self.embeddings, methods=["POST"]),
                Route("/v1/models/{model}", self.one_model),
                Route("/healthz", self.healthz),
            ],
            exception_handlers={Refused: refusal_answer},
        )

    async def embeddings(self, request: Request) -> Response:
        _check_key(request)
        try:
            body = await request.json()
        except ValueError as error:
            raise Refused(f"the body is not JSON: {error}") from error
        texts, dimensions = _question(body, self.name, self.dimensions)
        tokens = self._count_tokens(texts)
        try:
            vectors = await self._vectors(request, texts)
        except ClientDisconnect:
            return Response()
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vectors[text], dimensions)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse({"object": "list", "model": self.name, "data": data, "usage": usage})

    async def one_model(self, request: Request) -> Response:
        _check_key(request)
        if request.path_params["model"] != self.name:
            raise Refused("the model does not exist", status=404)
        return JSONResponse({"id": self.name, "object": "model", "created": 0, "owned_by": "sakuin"})

    async def healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _vectors(self, request: Request, texts: Sequence[Text]) -> dict[Text, Vector]:
        """Returns a vector for each text, from the cache if possible; `ClientDisconnect` if the client has left.

        The others are embedded in small parts, each in its turn and in one thread.
        """
        vectors = self.cache.found(texts)
        parts = list(slices([text for text in dict.fromkeys(texts) if text not in vectors], self.size))
        if not parts:
            return vectors
        async with self.queue.place(_urgency(request, texts)) as turn:
            for part in parts:
                async with turn():
                    if await request.is_disconnected():
                        raise ClientDisconnect
                    vectors |= await self._embedded(part)
        return vectors

    async def _embedded(self, texts: Sequence[Text]) -> dict[Text, Vector]:
        # Another request may have had the same texts.
        vectors = self.cache.found(texts)
        if missing := [text for text in texts if text not in vectors]:
            new = await asyncio.get_running_loop().run_in_executor(self.thread, self.model.embed, missing)
            self.cache.store(embedded := dict(zip(missing, new, strict=True)))
            vectors |= embedded
        return vectors

    def _count_tokens(self, texts: Sequence[Text]) -> int:
        counts = [self.model.tokens(text) for text in texts]
        if max(counts) > MAX_TOKENS:
            raise Refused(f"an input has {max(counts)} tokens, the maximum is {MAX_TOKENS}")
        if sum(counts) > MAX_TOKENS_A_REQUEST:
            raise Refused(f"the inputs have {sum(counts)} tokens together, the maximum is {MAX_TOKENS_A_REQUEST}")
        return sum(counts)


def _question(body: Any, model: str, least: int) -> tuple[list[Text], int]:
    """Returns the texts of a request, and the dimensions of the vectors; raises `Refused`."""
    if not isinstance(body, dict):
        raise Refused("the body is not a JSON object")
    if body.get("model") != model:
        raise Refused(f"the model {body.get('model')!r} does not exist; this is {model!r}", status=404)
    if body.get("encoding_format") != "base64":
        raise Refused("encoding_format is 'base64': this endpoint writes no lists")
    dimensions = body.get("dimensions", least)
    if type(dimensions) is not int or not least <= dimensions <= MAX_DIMENSIONS:
        raise Refused(
            f"this model has {least} dimensions; up to {MAX_DIMENSIONS} are filled with zeros, which keeps every "
            "cosine; fewer are not supported"
        )
    inputs = [body.get("input")] if isinstance(body.get("input"), str) else body.get("input")
    if not isinstance(inputs, list) or not 1 <= len(inputs) <= MAX_INPUTS:
        raise Refused(f"input is a text or a list of 1 to {MAX_INPUTS} texts")
    if not all(isinstance(text, str) and text for text in inputs):
        raise Refused("an input is a text that is not empty; lists of tokens are not supported")
    try:
        return [Text.of(text) for text in inputs], dimensions
    except ValueError as error:
        raise Refused(str(error)) from error


def _urgency(request: Request, texts: Sequence[Text]) -> int:
    """Returns the urgency of a request by its header `Priority`; a question is the most urgent."""
    if texts[0].is_query:
        return 0
    match = _URGENCY.search(request.headers.get("priority", ""))
    return int(match[1]) if match else _DEFAULT_URGENCY


def _encoded(vector: Vector, dimensions: int) -> str:
    padded = np.zeros(dimensions, dtype="<f4")
    padded[: len(vector)] = vector
    return base64.b64encode(padded.tobytes()).decode()


def _check_key(request: Request) -> None:
    if not request.headers.get("authorization", "").startswith("Bearer "):
        raise Refused("no API key", status=401)
