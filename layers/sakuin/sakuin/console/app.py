"""The application of the console, which the function `api` has at `/console`."""

from contextlib import suppress
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from sakuin.console.forms import page_above, redirect
from sakuin.console.pages import (
    agents,
    endpoints,
    gaps,
    keys,
    library,
    operation,
    playground,
    projects,
    sign_in,
    tables,
)
from sakuin.console.shell import SentBefore, Shell, signed_in
from sakuin.errors import SakuinError, Unauthorized
from sakuin.http.errors import add_error_handlers
from sakuin.platform.asgi import Application, Message, Receive, Scope, Send, request_id_of
from sakuin.platform.http_errors import HttpError
from sakuin.texts.catalogue import coded

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# What the console says about a status.
_SENTENCES = {404: "form.no_address", 413: "form.too_large"}


class _OwnFiles(StaticFiles):
    """The style, the script and the icon. Browsers keep a file for a year: when it changes, its address does."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def _with_headers(app: Application) -> Application:
    """Returns ASGI middleware that adds `_HEADERS` to answers that do not have them."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_with_headers)

    return answer


def console_app(shell: Shell) -> FastAPI:
    """Returns the application. Each of its answers is a page, a redirect or a file of the console itself."""
    app = FastAPI(openapi_url=None)
    app.state.shell = shell
    app.add_middleware(_with_headers)
    # Pages are not compressed: their length would tell of the token in their forms.
    app.mount("/static", GZipMiddleware(_OwnFiles(packages=[("sakuin.console", "static")])))
    for page in (sign_in, operation, playground, library, gaps, projects, tables, endpoints, keys, agents):
        app.include_router(page.router)
    _add_error_pages(app, shell)
    return app


def _add_error_pages(app: FastAPI, shell: Shell) -> None:
    def answer(request: Request, error: HttpError) -> Response:
        page = shell.error_page(request, error, request_id_of(request.scope))
        if "Retry-After" in error.headers:
            page.headers["Retry-After"] = error.headers["Retry-After"]
        return page

    add_error_handlers(app, answer)

    @app.exception_handler(Unauthorized)
    async def ask_to_sign_in(request: Request, error: Unauthorized) -> Response:
        return redirect(sign_in.sign_in_path(request))

    @app.exception_handler(SentBefore)
    async def lead_back(request: Request, error: SentBefore) -> Response:
        return redirect(page_above(request), done="sent_before")

    @app.exception_handler(StarletteHTTPException)
    async def show_http_error(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            # The answer to a form may be a page. Its address is opened when somebody goes there again or switches the
            # language.
            return redirect(page_above(request))
        if (sentence := _SENTENCES.get(error.status_code)) is None:
            return answer(request, HttpError(error.status_code, str(error.detail)))
        with suppress(SakuinError):
            # There is a menu for somebody who is signed in.
            await run_in_threadpool(signed_in, request, shell)
        return shell.error_page(request, HttpError(error.status_code, coded(sentence)))
