"""The first page: questions, what needs attention, and what happens now. Users see the way to their projects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.charts import axis, days_of, duration, figures_of
from sakuin.console.pages.library import LARGEST_UPLOAD
from sakuin.console.shell import AdminReader, Reader, Shell, language_of
from sakuin.knowledge.postgres import material_state
from sakuin.platform.supabase.client import call
from sakuin.retrieval.index_version import IndexVersion
from sakuin.texts.catalogue import Texts, restored
from sakuin.upkeep.daily_counts import CALLERS, DAYS, Usage, usage_of
from sakuin.upkeep.doctor import NEARLY_FULL
from sakuin.upkeep.queues import QueueState

# How many of each kind the first page names.
_NAMED = 5


router = APIRouter()


@router.get("/")
def show_overview(visit: Reader) -> Response:
    """Shows an admin what is asked, what needs attention and what happens now."""
    if not visit.session.is_admin:
        return visit.page("overview.html")
    gaps = visit.shell.rest.gaps
    return visit.page(
        "attention.html",
        **attention(visit.shell, language_of(visit.request)),
        gaps=gaps.all()[:_NAMED] if gaps.is_recorded else None,
        largest=LARGEST_UPLOAD,
    )


@router.get("/live", include_in_schema=False)
def show_live(visit: AdminReader) -> Response:
    """Shows the part of the first page that changes by itself."""
    return visit.page("live.html", part="", **attention(visit.shell, language_of(visit.request)))


def attention(shell: Shell, t: Texts) -> dict[str, Any]:
    """Returns what the first page shows."""
    library, most_bytes = shell.rest.library, shell.most_bytes
    arguments = {"p_named": _NAMED, "p_days": DAYS, "p_callers": CALLERS}
    shown: dict[str, Any] = restored(call(library.records.client, "attention", arguments))
    usage = usage_of(shown["usage"])
    days = days_of(usage)
    disk = 100 * shown["bytes"] / most_bytes if most_bytes else 0.0
    queues = shell.rest.queues.states()
    needs = needs_of(shown, queues, is_disk_full=disk > NEARLY_FULL * 100)
    is_new = not shown["pages"]["materials"].get("ready", 0) and not shown["projects"]["tools"]
    recent = library.records.latest(_NAMED)
    return {
        **shown,
        "state": state_of(t, needs, is_new=is_new),
        "kind": "bad" if any(need.is_bad for need in needs) else "busy" if needs or is_new else "good",
        "needs": needs,
        "is_new": is_new,
        "figures": figures_of(usage, _usd(usage, shell.usd_per_million), t),
        "chart": days,
        "axis": axis(max(sum(day.counts.values()) for day in days)),
        "callers": usage.callers,
        "recent": recent,
        "searchable_within": duration(usage.percentiles("fresh", 0.95)[-1], t),
        "working": sum(each.waiting + each.in_flight for each in queues or ()),
        "index": IndexVersion.from_json(shown["index"]) if shown["index"] else None,
        "disk": disk,
    }


def _usd(usage: Usage, usd_per_million: Sequence[float | None]) -> float | None:
    """Returns what the tokens of all days cost at most; None without a price."""
    sums = (sum(usage.series(f"tokens:{kind}")) for kind in ("embedding", "learns"))
    pairs = [(tokens, price) for tokens, price in zip(sums, usd_per_million, strict=True) if tokens]
    if not all(price is not None for _, price in pairs):
        return None
    return sum(tokens * (price or 0.0) for tokens, price in pairs) / 1e6


@dataclass(frozen=True, slots=True)
class Need:
    """Something that needs attention, by the key of its sentences below `needs.`, and how many there are.

    What helps is a page of the console (`path`) or a command. `hides`: searches do not find it. `named` are the first
    ones, with the reason and the address of each.
    """

    name: str
    count: int
    path: str = ""
    command: str = ""
    hides: bool = False
    is_bad: bool = True
    named: Sequence[tuple[str, str, str]] = ()

    def sentence(self, t: Texts) -> str:
        """Returns what is wrong."""
        return t(f"needs.{self.name}.{'one' if self.count == 1 else 'many'}", count=f"{self.count:,}")


def needs_of(shown: Mapping[str, Any], queues: Sequence[QueueState] | None, *, is_disk_full: bool) -> list[Need]:
    """Returns what needs attention, from the answer of the SQL function `attention` and the states of the queues."""
    letters = sum(each.dead_letters for each in queues or ())
    working = sum(each.waiting + each.in_flight for each in queues or ())
    failed = [(one["material"], one["error"], _page(one["material"])) for one in shown["failed"]]
    tools = [
        (one["name"], one["last_error"], f"/projects/{one['project_id']}/tools/{one['tool_id']}")
        for one in shown["projects"]["errors"]
    ]
    broken = [(one["key"], one["reason"], "") for one in shown["broken"]]
    competing = [(one["key"], one["owner"], "") for one in shown["competing"]["keys"]]
    waiting = [(f"{one['count']:,}", one["reason"], "") for one in islice(shown["waiting"]["reasons"], _NAMED)]
    states = map(material_state, shown["collapsed"]["pages"])
    collapsed = [(state.material, "", _page(state.material)) for state in states]
    needs = [
        Need("disk", int(is_disk_full), command="docs/runbooks.md#database-full"),
        Need("pages", shown["pages"]["materials"].get("failed", 0), "/pages?status=failed", hides=True, named=failed),
        Need(
            "collapsed", shown["collapsed"]["count"], collapsed[0][2] if collapsed else "", hides=True, named=collapsed
        ),
        Need("tools", shown["projects"]["tools"].get("error", 0), "/projects", hides=True, named=tools),
        Need("letters", letters, command="sakuin redrive", hides=True),
        Need("files", len(broken), command="sakuin push", named=broken[:_NAMED]),
        Need("competing", shown["competing"]["count"], command="sakuin rm", hides=True, named=competing),
        Need("queues", int(queues is None), path="/"),
        Need("waiting", shown["waiting"]["count"], command="sakuin status", hides=True, is_bad=False, named=waiting),
        Need("working", working, path="/pages", hides=True, is_bad=False),
    ]
    return [need for need in needs if need.count]


def _page(material: str) -> str:
    return f"/pages/page?{urlencode({'material': material})}"


def state_of(t: Texts, needs: Sequence[Need], *, is_new: bool) -> str:
    """Returns the sentence of state: the first thing that is wrong, and what can be searched all the same."""
    return t("why.between.sentences").join(_sentences(t, needs, is_new))


def _sentences(t: Texts, needs: Sequence[Need], is_new: bool) -> Iterator[str]:
    if needs:
        yield needs[0].sentence(t)
    if (more := len(needs) - 1) > 0:
        yield t(f"needs.more.{'one' if more == 1 else 'many'}", count=more)
    if is_new:
        yield t("needs.new")
    else:
        yield t("needs.else_searchable" if any(need.hides for need in needs) else "needs.all_searchable")
