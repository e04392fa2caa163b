"""Agents that act for a user: the page where one asks for it, to which Supabase Auth leads, and those allowed."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.forms import Form
from sakuin.console.sessions import Session, SessionTokens
from sakuin.console.shell import Shell
from sakuin.console.supabase_auth import SupabaseAuth
from sakuin.errors import Forbidden, NotFound

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
_NOWHERE = "This agent waits at an address to which the console does not lead"
# Schemes that run or show something instead of leading to an agent.
_NO_AGENTS = ("javascript", "data", "vbscript", "file", "about", "blob")


def routes(shell: Shell, auth: SupabaseAuth) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/consent")
    def ask(
        request: Request, session: Annotated[Session, Depends(shell.signed_in)], authorization_id: str = ""
    ) -> Response:
        """Shows what an agent asks for; goes on to the agent if the user has allowed it before."""
        if session.tokens is None:
            return shell.page(request, "agent_needs_user.html", session)
        wanted = auth.agent_request(session.tokens, _checked(authorization_id))
        if isinstance(wanted, str):
            return go_on(request, session, wanted, allowed=True)
        host, is_here = _place(wanted.redirect_uri)
        return shell.page(request, "agent_asks.html", session, wanted=wanted, host=host, is_here=is_here)

    @router.post("/consent")
    def decide(request: Request, form: Annotated[Form, Depends(shell.form)]) -> Response:
        allowed = form.text("action") == "allow"
        request_id = _checked(form.text("authorization_id"))
        target = auth.answer_agent(_tokens(form.session), request_id, allow=allowed)
        return go_on(request, form.session, target, allowed=allowed)

    def go_on(request: Request, session: Session, target: str, *, allowed: bool) -> Response:
        """Shows a page that leads to the agent: browsers do not let a form redirect to another origin."""
        return shell.page(request, "agent_answered.html", session, target=_safe(target), allowed=allowed)

    @router.get("/agents")
    def show(request: Request, session: Annotated[Session, Depends(shell.signed_in)]) -> Response:
        return shell.page(request, "agents.html", session, agents=auth.allowed_agents(_tokens(session)))

    @router.post("/agents/revoke")
    def revoke(form: Annotated[Form, Depends(shell.form)]) -> Response:
        auth.revoke_agent(_tokens(form.session), _checked(form.text("agent_id")))
        return redirect("/agents", done="agent_revoked")

    return router


def _tokens(session: Session) -> SessionTokens:
    if session.tokens is None:
        raise NotFound("There is no such page")
    return session.tokens


def _checked(identifier: str) -> str:
    """Returns an id of Supabase Auth, which becomes a part of an address."""
    if not _ID.fullmatch(identifier):
        raise NotFound("This link of an agent is not complete. Connect the agent again")
    return identifier


def _safe(target: str) -> str:
    """Returns the address of an agent, which Supabase Auth has checked, too; `Forbidden` for one that leads nowhere."""
    _place(target)
    return target


def _place(target: str) -> tuple[str, bool]:
    """Returns the host that an address leads to, without what only looks like one, and whether it is this computer."""
    try:
        parts = urlsplit(target)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError as error:
        raise Forbidden(_NOWHERE) from error
    if not parts.scheme or not host or parts.scheme in _NO_AGENTS or not target.isprintable():
        raise Forbidden(_NOWHERE)
    where = f"{host}:{port}" if port else host
    return where if parts.scheme in ("http", "https") else f"{parts.scheme}://{where}", host in _OWN_HOSTS
