"""The page of the deployment's keys, for admins."""

from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.shell import AdminForm, AdminFormOnce, AdminReader, Visit
from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.model import Filters
from sakuin.knowledge.names import folder_name
from sakuin.mcp.agents import HIDDEN_KEY, LIBRARY_VARIABLE, AgentEndpoint, configurations
from sakuin.platform.keys import PURPOSES, hash_of_key
from sakuin.texts.catalogue import coded

# As many digits as `sakuin keys list` shows.
_SHOWN = 12
_MOST_DAYS = 3650


router = APIRouter()


def key_page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    shown = {"keys": visit.shell.rest.deployment_keys(), "shown": _SHOWN, "purposes": PURPOSES, "days": _MOST_DAYS}
    return visit.page("keys.html", status=status, **shown, problem=problem)


@router.get("/keys")
def list_keys(visit: AdminReader) -> Response:
    return key_page(visit)


def connect_page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    """Shows the agents, and the form of the key of one."""
    agents = configurations(_library(visit), HIDDEN_KEY)
    chosen = visit.text("agent") or visit.request.query_params.get("agent", "claude-code")
    return visit.page("connect.html", status=status, agents=agents, chosen=chosen, to=_library(visit), problem=problem)


@router.get("/connect")
def show_connect(visit: AdminReader) -> Response:
    return connect_page(visit)


@router.get("/connect/first", include_in_schema=False)
def show_first_use(visit: AdminReader, digits: str = "") -> Response:
    """Shows whether the key whose hash begins with these digits was used."""
    key = next((key for key in visit.shell.rest.deployment_keys() if key.hash[:_SHOWN] == digits), None)
    return visit.page("connected.html", key=key, digits=digits)


def _library(visit: Visit) -> AgentEndpoint:
    return AgentEndpoint("sakuin", f"{visit.origin}/mcp", LIBRARY_VARIABLE)


# A key outlives a session, so the form asks for an admin key again. No admin key is created here: a leaked key could
# create another.
@router.post("/keys/new")
def make_key(visit: AdminFormOnce) -> Response:
    answer = connect_page if visit.text("agent") else key_page
    if visit.shell.sessions.admin_key(visit.text("key")) is None:
        return answer(visit, "wrong_admin_key", 403)
    name, purpose = visit.text("name"), visit.text("purpose") or "search"
    try:
        filter = visit.filter()
        Filters.of_key("", filter)
        key = visit.shell.rest.library_keys.create(
            name,
            next(known for known in PURPOSES if known == purpose),
            folder=folder_name(visit.text("folder")),
            filter=filter,
            project_id=visit.text("project") or None,
            expires_at=_after(visit.text("days")),
        )
    except Conflict:
        return answer(visit, "too_many", 409)
    except (Invalid, NotFound, StopIteration):
        return answer(visit, "wrong_fields", 422)
    agents = configurations(_library(visit), key) if purpose == "search" else ()
    shown: dict[str, Any] = {
        "name": name,
        "purpose": purpose,
        "to": _library(visit),
        "chosen": visit.text("agent"),
        "agents": agents,
    }
    return visit.page("key.html", key=key, digits=hash_of_key(key)[:_SHOWN], origin=visit.origin, **shown)


@router.post("/keys/revoke")
def revoke_key(visit: AdminForm) -> Response:
    visit.shell.rest.library_keys.remove(visit.text("hash"))
    return redirect("/keys", done="key_revoked")


def _after(days: str) -> datetime | None:
    """Returns the time after so many days, None without a number."""
    if not days:
        return None
    if not days.isdecimal() or not 0 < int(days) <= _MOST_DAYS:
        raise Invalid(coded("form.days"))
    return datetime.now(UTC) + timedelta(days=int(days))
