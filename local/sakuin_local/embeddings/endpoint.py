"""OpenAI's `/v1/embeddings`, `/v1/chat/completions`, `/v1/models` (and one of them), and `/healthz`."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sakuin_local.embeddings.account import Account, error_answer, unlimited
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.completions import Completion
from sakuin_local.embeddings.model import NAME, Model, Text, Vector
from sakuin_local.embeddings.question import MAX_TOKENS, MAX_TOKENS_A_REQUEST, Question, Refused

_MODEL = {"id": NAME, "object": "model", "created": 0, "owned_by": "sakuin"}


def application(
    model: Model, cache: VectorCache, account: Account | None = None, today: Callable[[], date] = date.today
) -> Starlette:
    """Returns the endpoint with this model and this cache, for an account without limits unless one is given."""
    account = account or unlimited()

    async def embeddings(request: Request) -> JSONResponse:
        try:
            _check_key(request)
            question = Question.of(await _json(request))
            tokens = _count_tokens(model, question.texts)
            account.spend(tokens)
        except Refused as refusal:
            return error_answer(refusal)
        vectors = await _vectors(model, cache, question.texts)
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vectors[text], question)}
            for index, text in enumerate(question.texts)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse({"object": "list", "model": NAME, "data": data, "usage": usage})

    async def completions(request: Request) -> JSONResponse:
        try:
            _check_key(request)
            completion = Completion.of(await _json(request), today())
            account.spend(completion.read + completion.written)
        except Refused as refusal:
            return error_answer(refusal)
        await account.write(completion.written)
        return JSONResponse(completion.as_json())

    async def models(request: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [_MODEL]})

    async def one_model(request: Request) -> JSONResponse:
        try:
            _check_key(request)
            if request.path_params["model"] != NAME:
                raise Refused("the model does not exist", parameter="model", status=404)
        except Refused as refusal:
            return error_answer(refusal)
        return JSONResponse(_MODEL)

    async def healthz(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/v1/models", models),
            Route("/v1/models/{model}", one_model),
            Route("/healthz", healthz),
        ]
    )


async def _vectors(model: Model, cache: VectorCache, texts: Sequence[Text]) -> dict[Text, Vector]:
    """Returns a vector for each text, from the cache if possible; new ones are stored slice by slice."""
    vectors = cache.found(texts)
    missing = [text for text in dict.fromkeys(texts) if text not in vectors]
    position = 0
    for part in model.embed(missing):
        fresh = await asyncio.wrap_future(part)
        new = dict(zip(missing[position : position + len(fresh)], fresh, strict=True))
        position += len(fresh)
        cache.store(new)
        vectors.update(new)
    return vectors


def _count_tokens(model: Model, texts: Sequence[Text]) -> int:
    counts = [model.tokens(text) for text in texts]
    if max(counts) > MAX_TOKENS:
        raise Refused(f"an input has {max(counts)} tokens, the maximum is {MAX_TOKENS}", parameter="input")
    if sum(counts) > MAX_TOKENS_A_REQUEST:
        raise Refused(
            f"the inputs have {sum(counts)} tokens together, the maximum is {MAX_TOKENS_A_REQUEST}",
            parameter="input",
        )
    return sum(counts)


def _encoded(vector: Vector, question: Question) -> str | list[float]:
    padded = np.zeros(question.dimensions, dtype="<f4")
    padded[: len(vector)] = vector
    return base64.b64encode(padded.tobytes()).decode() if question.base64 else [float(number) for number in padded]


def _check_key(request: Request) -> None:
    if not request.headers.get("authorization", "").startswith("Bearer "):
        raise Refused("no API key", parameter="authorization", status=401)


async def _json(request: Request) -> Any:
    try:
        return await request.json()
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}", parameter="body") from error
