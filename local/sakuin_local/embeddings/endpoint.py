"""OpenAI's `/v1/embeddings` and `/v1/models/{model}`, and `/healthz`."""

import asyncio
import base64
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.model import NAME, Model, Text, Vector, slices
from sakuin_local.embeddings.question import MAX_TOKENS, MAX_TOKENS_A_REQUEST, Question, Refused, refusal_answer
from sakuin_local.embeddings.queue import RequestQueue

# RFC 9218: 0 is the most urgent, 7 the least. The product sends pages as 3, which is the default, and Tables as 5.
_URGENCY = re.compile(r"(?:^|[,\s])u=([0-7])(?:$|[,;\s])")
_DEFAULT_URGENCY = 3


def application(model: Model, cache: VectorCache, queue: RequestQueue | None = None) -> Starlette:
    """Returns the endpoint with this model and this cache. It has no limits of an account: the machine is the limit."""
    work = _Work(model, cache, queue or RequestQueue())

    async def embeddings(request: Request) -> Response:
        _check_key(request)
        question = Question.of(await _json(request))
        tokens = _count_tokens(model, question.texts)
        try:
            vectors = await work.vectors(request, question.texts)
        except ClientDisconnect:
            return Response()
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vectors[text], question.dimensions)}
            for index, text in enumerate(question.texts)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse({"object": "list", "model": NAME, "data": data, "usage": usage})

    async def one_model(request: Request) -> JSONResponse:
        _check_key(request)
        if request.path_params["model"] != NAME:
            raise Refused("the model does not exist", parameter="model", status=404)
        return JSONResponse({"id": NAME, "object": "model", "created": 0, "owned_by": "sakuin"})

    async def healthz(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/models/{model}", one_model),
            Route("/healthz", healthz),
        ],
        exception_handlers={Refused: refusal_answer},
    )


@dataclass
class _Work:
    """Embeds the texts of requests in small parts, each in its turn and in one thread."""

    model: Model
    cache: VectorCache
    queue: RequestQueue
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    async def vectors(self, request: Request, texts: Sequence[Text]) -> dict[Text, Vector]:
        """Returns a vector for each text, from the cache if possible; `ClientDisconnect` if the client has left."""
        vectors = self.cache.found(texts)
        parts = list(slices([text for text in dict.fromkeys(texts) if text not in vectors]))
        if not parts:
            return vectors
        async with self.queue.place(_urgency(request, texts), sum(map(_characters, parts))) as place:
            for part in parts:
                async with self.queue.turn(place, _characters(part)):
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


def _urgency(request: Request, texts: Sequence[Text]) -> int:
    """Returns the urgency of a request by its header `Priority`; a question is the most urgent."""
    if texts[0].is_query:
        return 0
    match = _URGENCY.search(request.headers.get("priority", ""))
    return int(match[1]) if match else _DEFAULT_URGENCY


def _characters(texts: Sequence[Text]) -> int:
    return sum(len(text.text) for text in texts)


def _count_tokens(model: Model, texts: Sequence[Text]) -> int:
    counts = [model.tokens(text) for text in texts]
    if max(counts) > MAX_TOKENS:
        raise Refused(f"an input has {max(counts)} tokens, the maximum is {MAX_TOKENS}", parameter="input")
    if sum(counts) > MAX_TOKENS_A_REQUEST:
        raise Refused(
            f"the inputs have {sum(counts)} tokens together, the maximum is {MAX_TOKENS_A_REQUEST}", parameter="input"
        )
    return sum(counts)


def _encoded(vector: Vector, dimensions: int) -> str:
    padded = np.zeros(dimensions, dtype="<f4")
    padded[: len(vector)] = vector
    return base64.b64encode(padded.tobytes()).decode()


def _check_key(request: Request) -> None:
    if not request.headers.get("authorization", "").startswith("Bearer "):
        raise Refused("no API key", parameter="authorization", status=401)


async def _json(request: Request) -> Any:
    try:
        return await request.json()
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}", parameter="body") from error
