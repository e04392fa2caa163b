"""Signing in and out, and the choice of a language."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from sakuin.console.forms import ROOT, form_fields, own_path, redirect, set_cookie
from sakuin.console.sessions import Session
from sakuin.console.shell import LANGUAGE_COOKIE, SESSION_COOKIE, CurrentShell, Form, Shell
from sakuin.errors import NotFound, OverLimit, SakuinError
from sakuin.platform.supabase.auth import NotSignedIn
from sakuin.texts.catalogue import LANGUAGES, coded

_YEAR_SECONDS = 365 * 24 * 3600

logger = logging.getLogger(__name__)


router = APIRouter()


def form_page(
    shell: Shell, request: Request, target: str, problem: str = "", email: str = "", status: int = 401
) -> Response:
    asks_code = problem in ("sign_in.code_needed", "sign_in.wrong_code")
    shown: dict[str, Any] = {"problem": problem, "target": target, "email": email, "asks_code": asks_code}
    return shell.page(request, "sign_in.html", status=status, users=bool(shell.auth.key()), **shown)


@router.get("/sign-in")
def show_forms(shell: CurrentShell, request: Request, target: str = "/", code: str = "") -> Response:
    """Shows the forms; with the code of a link the one that uses it, since programs also open links."""
    if code:
        return shell.page(request, "sign_in_link.html", code=code)
    return form_page(shell, request, own_path(target), status=200)


@router.post("/sign-in")
async def sign_in(shell: CurrentShell, request: Request) -> Response:
    fields = await form_fields(request)
    target = own_path(fields.get("target", "/"))
    key_hash = await run_in_threadpool(shell.sessions.admin_key, fields.get("key", "").strip())
    if key_hash is None:
        return form_page(shell, request, target, "sign_in.wrong_key")
    await run_in_threadpool(shell.rest.record_use, key_hash)
    return shell.begin(request, await run_in_threadpool(shell.sessions.sign_in_admin, key_hash), target)


@router.post("/sign-in/user")
async def sign_in_user(shell: CurrentShell, request: Request) -> Response:
    fields = await form_fields(request)
    target, email = own_path(fields.get("target", "/")), fields.get("email", "").strip()
    if not shell.auth.key():
        raise NotFound(coded("form.no_users"))
    try:
        session = await run_in_threadpool(start_session, shell, fields, request)
    except NotSignedIn as problem:
        return form_page(shell, request, target, str(problem), email)
    except OverLimit:
        return form_page(shell, request, target, "sign_in.too_many", email, 429)
    return shell.begin(request, session, target)


def start_session(shell: Shell, fields: Mapping[str, str], request: Request) -> Session:
    """Signs a user in. What does not succeed counts for the address and for the account."""
    email, code = fields.get("email", "").strip(), "".join(fields.get("code", "").split())
    # Mangum takes it from the gateway, not from a header that the caller writes.
    address = request.client.host if request.client else ""
    shell.sessions.count_sign_in(address, email)
    tokens = shell.auth.sign_in(email, fields.get("password", ""), code=code, address=address)
    shell.sessions.count_sign_in(address, email, succeeded=True)
    return shell.sessions.sign_in_user(tokens)


@router.post("/sign-in/link")
async def use_link(shell: CurrentShell, request: Request) -> Response:
    fields = await form_fields(request)
    session = await run_in_threadpool(shell.sessions.use_link, fields.get("code", ""))
    return shell.begin(request, session, "/") if session else form_page(shell, request, "/", "sign_in.wrong_link")


@router.post("/sign-out")
def sign_out(visit: Form) -> Response:
    visit.shell.sessions.sign_out(visit.session)
    if visit.session.tokens:
        try:
            visit.shell.auth.sign_out(visit.session.tokens)
        except SakuinError:
            # The tokens are gone from here; their session ends by itself.
            logger.warning("Supabase Auth did not end a session", exc_info=True)
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


def sign_in_path(request: Request) -> str:
    """Returns the path of the page that signs in and then returns to the page of this request."""
    target = request.url.path.removeprefix(ROOT) + (f"?{request.url.query}" if request.url.query else "")
    return f"/sign-in?target={quote(own_path(target), safe='')}" if request.method == "GET" else "/sign-in"
