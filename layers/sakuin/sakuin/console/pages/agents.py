"""The OAuth consent page, and the list of agents that a user has authorized."""

import re
from urllib.parse import urlsplit

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.shell import Form, Reader, Visit
from sakuin.errors import Forbidden, NotFound
from sakuin.platform.supabase.auth import SessionTokens
from sakuin.texts.catalogue import coded

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
_NOWHERE = "This agent waits at an address to which the console does not lead"
# Programs on this computer whose scheme is one word. Others have a domain of theirs in it (RFC 8252, 7.1).
_EDITORS = ("cursor", "vscode", "vscode-insiders", "windsurf", "zed", "claude")


router = APIRouter()


@router.get("/consent")
def ask(visit: Reader, authorization_id: str = "") -> Response:
    """Shows what an agent asks for; goes on to the agent if the user has allowed it before."""
    if visit.session.tokens is None:
        return visit.page("agent_needs_user.html")
    agent_request = visit.shell.auth.agent_request(visit.session.tokens, _checked(authorization_id))
    if isinstance(agent_request, str):
        return go_on(visit, agent_request, allowed=True)
    host, is_here = _place(agent_request.redirect_uri)
    return visit.page("agent_asks.html", wanted=agent_request, host=host, is_here=is_here)


@router.post("/consent")
def decide(visit: Form) -> Response:
    allowed = visit.text("action") == "allow"
    request_id = _checked(visit.text("authorization_id"))
    target = visit.shell.auth.answer_agent(_tokens(visit), request_id, allow=allowed)
    return go_on(visit, target, allowed=allowed)


def go_on(visit: Visit, target: str, *, allowed: bool) -> Response:
    """Shows a page that leads to the agent: browsers do not let a form redirect to another origin."""
    return visit.page("agent_answered.html", target=_safe(target), allowed=allowed)


@router.get("/agents")
def show(visit: Reader) -> Response:
    return visit.page("agents.html", agents=visit.shell.auth.allowed_agents(_tokens(visit)))


@router.post("/agents/revoke")
def revoke(visit: Form) -> Response:
    visit.shell.auth.revoke_agent(_tokens(visit), _checked(visit.text("agent_id")))
    return redirect("/agents", done="agent_revoked")


def _tokens(visit: Visit) -> SessionTokens:
    if visit.session.tokens is None:
        raise NotFound(coded("form.no_page"))
    return visit.session.tokens


def _checked(identifier: str) -> str:
    """Returns an id of Supabase Auth, which becomes a part of an address."""
    if not _ID.fullmatch(identifier):
        raise NotFound(coded("form.agent_link"))
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
    where, is_here = f"{host}:{port}" if port else host, host in _OWN_HOSTS
    is_program = parts.scheme in _EDITORS or "." in parts.scheme
    # Over plain HTTP others on the way could read the code that the address carries.
    is_agent = is_program or (bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_here)))
    if not is_agent or not target.isprintable():
        raise Forbidden(_NOWHERE)
    return f"{parts.scheme}://{where}" if is_program else where, is_here
