"""The first page: what needs attention. Users see the way to their projects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.charts import charts_of
from sakuin.console.shell import Reader, Shell, language_of
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
def show_attention(visit: Reader) -> Response:
    """Shows an admin what is indexed and what needs attention."""
    if not visit.session.is_admin:
        return visit.page("overview.html")
    return visit.page("attention.html", **attention(visit.shell, language_of(visit.request)))


def attention(shell: Shell, t: Texts) -> dict[str, Any]:
    """Returns what the first page shows."""
    library, most_bytes = shell.rest.library, shell.most_bytes
    arguments = {"p_named": _NAMED, "p_days": DAYS, "p_callers": CALLERS}
    shown: dict[str, Any] = call(library.records.client, "attention", arguments)
    pages = shown["collapsed"]["pages"]
    shown = restored(shown)
    usage = usage_of(shown["usage"])
    collapsed = map(library.collapsed, map(material_state, pages))
    disk = 100 * shown["bytes"] / most_bytes if most_bytes else 0.0
    needs = needs_of(shown, shell.rest.queues.states(), is_disk_full=disk > NEARLY_FULL * 100)
    is_new = not shown["pages"]["materials"].get("ready", 0) and not shown["projects"]["tools"]
    return {
        **shown,
        "state": state_of(t, needs, is_new=is_new),
        "needs": needs,
        "is_new": is_new,
        "charts": charts_of(usage),
        "callers": usage.callers,
        "usd": _usd(usage, shell.usd_per_million),
        "broken": shown["broken"][:_NAMED],
        "competing": shown["competing"]["keys"],
        "collapsed": list(filter(None, collapsed)),
        "waiting": shown["waiting"]["reasons"][:_NAMED],
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

    What helps is a page of the console (`path`), a command or a runbook. `hides`: searches do not find it.
    """

    name: str
    count: int
    path: str = ""
    command: str = ""
    hides: bool = False

    def sentence(self, t: Texts) -> str:
        """Returns what is wrong."""
        return t(f"needs.{self.name}.{'one' if self.count == 1 else 'many'}", count=f"{self.count:,}")


def needs_of(shown: Mapping[str, Any], queues: Sequence[QueueState] | None, *, is_disk_full: bool) -> list[Need]:
    """Returns what needs attention, from the answer of the SQL function `attention` and the states of the queues."""
    letters = sum(each.dead_letters for each in queues or ())
    needs = [
        Need("disk", int(is_disk_full), command="docs/runbooks.md#database-full"),
        Need("pages", shown["pages"]["materials"].get("failed", 0), command="sakuin push", hides=True),
        Need("collapsed", shown["collapsed"]["count"], command="sakuin push", hides=True),
        Need("tools", shown["projects"]["tools"].get("error", 0), path="/projects", hides=True),
        Need("letters", letters, command="sakuin redrive", hides=True),
        Need("files", len(shown["broken"]), command="sakuin push"),
        Need("competing", shown["competing"]["count"], command="sakuin rm", hides=True),
        Need("queues", int(queues is None), command="sakuin doctor"),
        Need("waiting", shown["waiting"]["count"], command="sakuin status", hides=True),
    ]
    return [need for need in needs if need.count]


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
