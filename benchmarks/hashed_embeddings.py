"""OpenAI's embeddings endpoint with vectors out of a text's hash: as fast as one can be, the same every time.

`python -m benchmarks.hashed_embeddings PORT`; `GET /asked` says how often it was asked, and for how many texts.
"""

import base64
import sys
import zlib

import numpy as np
import uvicorn
from sakuin_local.serving import configuration, listen
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def application() -> Starlette:
    """The endpoint, with counts of its own."""
    asked = {"calls": 0, "texts": 0}

    async def embeddings(request: Request) -> JSONResponse:
        question = await request.json()
        texts: list[str] = question["input"]
        asked["calls"] += 1
        asked["texts"] += len(texts)
        data = [
            {"object": "embedding", "index": index, "embedding": _vector(text, question["dimensions"])}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return JSONResponse({"object": "list", "model": question["model"], "data": data, "usage": usage})

    async def counts(request: Request) -> JSONResponse:
        return JSONResponse(asked)

    return Starlette(routes=[Route("/v1/embeddings", embeddings, methods=["POST"]), Route("/asked", counts)])


def _vector(text: str, dimensions: int) -> str:
    numbers = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(dimensions, dtype="<f4")
    numbers /= np.linalg.norm(numbers)
    # The client asks for base64 unless told otherwise.
    return base64.b64encode(numbers.tobytes()).decode()


if __name__ == "__main__":
    uvicorn.Server(configuration(application())).run(sockets=[listen(int(sys.argv[1]))])
