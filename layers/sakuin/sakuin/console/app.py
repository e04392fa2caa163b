"""The application of the console, which the function `api` has at `/console`."""

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.base import RequestResponseEndpoint

from sakuin.console.answers import page_above, redirect
from sakuin.console.pages.sign_in import sign_in_path
from sakuin.console.shell import SentBefore, Shell
from sakuin.console.static_files import static_file
from sakuin.errors import NotFound, SakuinError, Unauthorized
from sakuin.platform.http_errors import CODES, HttpError, http_error, request_id_of

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_KEPT_A_YEAR = {"Cache-Control": "public, max-age=31536000, immutable"}


def console_app(shell: Shell, *routers: APIRouter) -> FastAPI:
    """Returns the application. Each of its answers is a page, a redirect or a file of the console itself."""
    app = FastAPI(openapi_url=None)

    @app.middleware("http")
    async def add_headers(request: Request, answer: RequestResponseEndpoint) -> Response:
        response = await answer(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.get("/static/{name}")
    def read_file(name: str) -> Response:
        """Returns a file. Browsers keep it for a year: when it changes, its address does."""
        if (found := static_file(name)) is None:
            raise NotFound("There is no such file")
        content, media_type = found
        return Response(content, headers=_KEPT_A_YEAR, media_type=f"{media_type}; charset=utf-8")

    @app.get("/too-large", include_in_schema=False)
    def show_too_large(request: Request) -> Response:
        """Answers a form that is larger than a request may be; without scripts nothing stops it before."""
        return shell.own_error_page(request, 413, "too_large", "too_large_what")

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
        return answer(request, HttpError(error.status_code, str(error.detail)))

    @app.exception_handler(RequestValidationError)
    async def show_wrong_request(request: Request, error: RequestValidationError) -> Response:
        return answer(request, HttpError(422, "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())))
