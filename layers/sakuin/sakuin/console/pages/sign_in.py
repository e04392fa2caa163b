"""Signing in and out, and the choice of a language."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from sakuin.console.answers import ROOT, own_path, redirect, set_cookie
from sakuin.console.forms import Form, form_fields
from sakuin.console.shell import LANGUAGE_COOKIE, SESSION_COOKIE, Shell
from sakuin.console.texts import LANGUAGES
from sakuin.errors import NotFound
from sakuin.platform.keys import RecordUse

_YEAR_SECONDS = 365 * 24 * 3600


def routes(shell: Shell, record_use: RecordUse) -> APIRouter:
    """Returns the routes. `record_use` records the use of an admin key."""
    router = APIRouter()

    def refuse(request: Request, problem: str, target: str) -> Response:
        return shell.page(request, "sign_in.html", status=401, problem=problem, target=target)

    @router.get("/sign-in")
    def show(request: Request, target: str = "/", code: str = "") -> Response:
        """Shows the forms; with the code of a link the one that uses it, since programs also open links."""
        if code:
            return shell.page(request, "sign_in_link.html", code=code)
        return shell.page(request, "sign_in.html", problem="", target=own_path(target))

    @router.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        fields = await form_fields(request)
        target = own_path(fields.get("target", "/"))
        key_hash = await run_in_threadpool(shell.sessions.admin_key, fields.get("key", "").strip())
        if key_hash is None:
            return refuse(request, "sign_in.wrong_key", target)
        await run_in_threadpool(record_use, key_hash)
        return shell.begin(request, await run_in_threadpool(shell.sessions.sign_in_admin, key_hash), target)

    @router.post("/sign-in/link")
    async def use_link(request: Request) -> Response:
        fields = await form_fields(request)
        session = await run_in_threadpool(shell.sessions.use_link, fields.get("code", ""))
        return refuse(request, "sign_in.wrong_link", "/") if session is None else shell.begin(request, session, "/")

    @router.post("/sign-out")
    def sign_out(form: Annotated[Form, Depends(shell.form)]) -> Response:
        shell.sessions.sign_out(form.session)
        answer = redirect("/sign-in", done="signed_out")
        answer.delete_cookie(SESSION_COOKIE, path=ROOT)
        return answer

    @router.get("/language/{language}")
    def choose_language(request: Request, language: str, back: str = "/") -> Response:
        """Keeps the language for a year, and returns to the page `back`."""
        if language not in LANGUAGES:
            raise NotFound("There is no such language")
        answer = redirect(own_path(back))
        set_cookie(request, answer, LANGUAGE_COOKIE, language, _YEAR_SECONDS)
        return answer

    return router


def sign_in_path(request: Request) -> str:
    """Returns the path of the page that signs in and then returns to the page of this request."""
    wanted = request.url.path.removeprefix(ROOT) + (f"?{request.url.query}" if request.url.query else "")
    return f"/sign-in?target={quote(own_path(wanted), safe='')}" if request.method == "GET" else "/sign-in"
