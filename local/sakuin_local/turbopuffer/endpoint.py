"""The routes of turbopuffer's HTTP API that the product calls."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.store import Store


def application(store: Store) -> Starlette:
    """Returns the API over `store`, with `POST /_stand_in/failures` for tests.

    `{"status": 429, "times": 2}` makes the next two requests fail, optionally with `retry_after_ms`, or `late`: they
    are carried out, and then their answers are lost.
    """
    failures: list[dict[str, Any]] = []

    def guarded(work: Callable[[Request, Any], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def handler(request: Request) -> Response:
            try:
                _check_key(request)
                failure = failures.pop() if failures else None
                if failure and not failure.get("late"):
                    return _failed(failure)
                answer = await run_in_threadpool(work, request, await _json(request))
            except Refused as refusal:
                return _sent({"status": "error", "error": str(refusal)}, refusal.status)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                return _sent({"status": "error", "error": f"this stand-in does not read the request: {error!r}"}, 422)
            return _failed(failure) if failure else _sent(answer, 200)

        return handler

    def listed(request: Request, body: Any) -> Any:
        query = request.query_params
        return store.listed(query.get("prefix", ""), query.get("cursor", ""), int(query.get("page_size", "1000")))

    async def failing(request: Request) -> Response:
        failure = orjson.loads(await request.body())
        failures[:] = [failure] * int(failure.get("times", 1))
        return _sent({"status": "OK"}, 200)

    async def healthz(request: Request) -> Response:
        return _sent({"status": "ok"}, 200)

    one = "/v2/namespaces/{namespace}"
    write = guarded(lambda request, body: store.write(_name(request), body))
    delete = guarded(lambda request, body: store.delete(_name(request)))
    query = guarded(lambda request, body: store.query(_name(request), body))
    return Starlette(
        routes=[
            Route("/v1/namespaces", guarded(listed)),
            Route(one, write, methods=["POST"]),
            Route(one, delete, methods=["DELETE"]),
            Route(f"{one}/query", query, methods=["POST"]),
            Route(f"{one}/metadata", guarded(lambda request, body: store.metadata(_name(request)))),
            Route("/_stand_in/failures", failing, methods=["POST"]),
            Route("/healthz", healthz),
        ]
    )


def _name(request: Request) -> str:
    return str(request.path_params["namespace"])


def _check_key(request: Request) -> None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not key.strip():
        raise Refused("no API key", status=401)


async def _json(request: Request) -> Any:
    # The length alone is enough: the body need not travel.
    if int(request.headers.get("content-length", 0)) > limits.REQUEST_BYTES:
        raise Refused("the request is larger than 512 MB", status=413)
    body = await request.body()
    return orjson.loads(body) if body else None


def _failed(failure: dict[str, Any]) -> Response:
    response = _sent({"status": "error", "error": "requested by a test"}, int(failure["status"]))
    response.headers["retry-after-ms"] = str(failure.get("retry_after_ms", 1))
    return response


def _sent(answer: Any, status: int) -> Response:
    return Response(orjson.dumps(answer), status, media_type="application/json")
