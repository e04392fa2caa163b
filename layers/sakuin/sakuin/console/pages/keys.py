"""The page of the deployment's keys, for admins."""

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.agents import HIDDEN_KEY, LIBRARY_VARIABLE, AgentEndpoint, configurations
from sakuin.console.forms import redirect
from sakuin.console.shell import AdminForm, AdminFormOnce, AdminReader, Visit
from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.names import folder_name
from sakuin.platform.keys import PURPOSES
from sakuin.texts.catalogue import coded

# As many digits as `sakuin keys list` shows.
_SHOWN = 12
_MOST_DAYS = 3650


router = APIRouter()


def key_page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    to = AgentEndpoint("sakuin", f"{visit.origin}/mcp", LIBRARY_VARIABLE)
    shown = {
        "keys": visit.shell.rest.deployment_keys(),
        "shown": _SHOWN,
        "purposes": PURPOSES,
        "days": _MOST_DAYS,
        "problem": problem,
    }
    return visit.page("keys.html", status=status, to=to, agents=configurations(to, HIDDEN_KEY), **shown)


@router.get("/keys")
def list_keys(visit: AdminReader) -> Response:
    return key_page(visit)


# A key outlives a session, so the form asks for an admin key again. No admin key is created here: a leaked key could
# create another.
@router.post("/keys/new")
def make_key(visit: AdminFormOnce) -> Response:
    if visit.shell.sessions.admin_key(visit.text("key")) is None:
        return key_page(visit, "wrong_admin_key", 403)
    name, purpose = visit.text("name"), visit.text("purpose") or "search"
    try:
        key = visit.shell.rest.library_keys.create(
            name,
            next(known for known in PURPOSES if known == purpose),
            folder=folder_name(visit.text("folder")),
            project_id=visit.text("project") or None,
            expires_at=_after(visit.text("days")),
        )
    except Conflict:
        return key_page(visit, "too_many", 409)
    except (Invalid, NotFound, StopIteration):
        return key_page(visit, "wrong_fields", 422)
    to = AgentEndpoint("sakuin", f"{visit.origin}/mcp", LIBRARY_VARIABLE)
    agents = configurations(to, key) if purpose == "search" else ()
    return visit.page("key.html", name=name, key=key, purpose=purpose, to=to, agents=agents, origin=visit.origin)


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
