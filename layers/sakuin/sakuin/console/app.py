"""The application of the console, which the function `api` has at `/console`."""

from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.base import RequestResponseEndpoint
from starlette.staticfiles import StaticFiles

from sakuin.arguments import sentence_of
from sakuin.console.forms import page_above, redirect
from sakuin.console.pages.sign_in import sign_in_path
from sakuin.console.shell import SentBefore, Shell
from sakuin.errors import SakuinError, Unauthorized
from sakuin.platform.http_errors import CODES, HttpError, http_error, request_id_of

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class _OwnFiles(StaticFiles):
    """The style, the script and the icon. Browsers keep a file for a year: when it changes, its address does."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def console_app(shell: Shell, *routers: APIRouter) -> FastAPI:
    """Returns the application. Each of its answers is a page, a redirect or a file of the console itself."""
    app = FastAPI(openapi_url=None)

    @app.middleware("http")
    async def add_headers(request: Request, answer: RequestResponseEndpoint) -> Response:
        response = await answer(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.get("/too-large", include_in_schema=False)
    def show_too_large(request: Request) -> Response:
        """Answers a form that is larger than a request may be; without scripts nothing stops it before."""
        return shell.own_error_page(request, 413, "too_large", "too_large_what")

    app.mount("/static", _OwnFiles(packages=[("sakuin.console", "static")]))
    for router in routers:
        app.include_router(router)
    _add_error_pages(app, shell)
    return app


def _add_error_pages(app: FastAPI, shell: Shell) -> None:
    def answer(request: Request, error: HttpError) -> Response:
        code = error.code or CODES.get(error.status, "")
        page = shell.error_page(request, error.status, error.detail, code, request_id_of(request.scope))
        if "Retry-After" in error.headers:
            page.headers["Retry-After"] = error.headers["Retry-After"]
        return page

    @app.exception_handler(Unauthorized)
    async def ask_to_sign_in(request: Request, error: Unauthorized) -> Response:
        return redirect(sign_in_path(request))

    @app.exception_handler(SentBefore)
    async def lead_back(request: Request, error: SentBefore) -> Response:
        return redirect(page_above(request), done="sent_before")

    @app.exception_handler(SakuinError)
    async def show_error(request: Request, error: SakuinError) -> Response:
        return answer(request, http_error(error, request.headers))

    @app.exception_handler(StarletteHTTPException)
    async def show_http_error(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404:
            return await run_in_threadpool(shell.own_error_page, request, 404, "not_found", "no_page")
        if error.status_code == 405:
            # The answer to a form may be a page. Its address is opened when somebody goes there again or switches the
            # language.
            return redirect(page_above(request))
        return answer(request, HttpError(error.status_code, str(error.detail)))

    @app.exception_handler(RequestValidationError)
    async def show_wrong_request(request: Request, error: RequestValidationError) -> Response:
        return answer(request, HttpError(422, sentence_of(error.errors(), slice(1, None))))
