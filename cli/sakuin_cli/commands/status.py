"""`sakuin status`: what is indexed, what is unfinished, and why."""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import NotFound

from sakuin_cli.commands.tool import index_fields
from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, counted, first_of, minute, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

_SIGNS = {"retrying": "…", "waiting": "…", "failed": "✗"}
# How many subjects with the same reason are named.
_NAMED = 3


def status(
    material: Annotated[str | None, typer.Option("--material", metavar="M", help="Details of one page.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="ID", help="The index of a Search Tool.")] = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Show what is indexed, and what failed or waits and why."""
    if tool is not None and material is not None:
        raise typer.BadParameter("--tool and --material exclude each other", param_hint="--tool")
    with reporting_errors(as_json) as terminal:
        client = deployment(data)
        if tool is not None:
            with terminal.waiting():
                found = client.call("GET", "tools", tool)
            index = found["metadata"].get("search_index", {})
            names = {"tool_id": found["id"], "name": found["name"]}
            terminal.fields({**names, "search_index": index} if as_json else {**names, **index_fields(index)})
        elif material is not None:
            with terminal.waiting():
                page = _material(client, unicodedata.normalize("NFC", material), material)
            _show_material(terminal, page)
        else:
            with terminal.waiting():
                overview = _overview(client)
            _show_overview(terminal, overview)


def _material(client: "DeploymentClient", name: str, given: str) -> "Record":
    """Returns one material; raises `NotFound` if it does not exist and has no unfinished work."""
    if (found := client.material(name)) is not None:
        return found
    if not (work := client.work([name])["work"]):
        raise NotFound(f"There is no material {given!r}. Search results have its name as `material`, without .html")
    # The page has no record yet.
    state = "failed" if all(row["state"] == "failed" for row in work) else "waiting"
    return {"material": name, "status": state, "error": work[0]["reason"], "work": work}


def _show_material(terminal: Terminal, material: "Record") -> None:
    if terminal.as_json:
        terminal.document(material)
        return
    terminal.fields({name: value for name, value in material.items() if name != "work"})
    for row in material["work"]:
        terminal.out.print(f"{_SIGNS[row['state']]} {_state_of(row)}: {row['reason']}")


def _state_of(row: "Record") -> str:
    """Returns the state of unfinished work: since when, and when it is tried again."""
    attempts, since = row["attempts"], minute(row["since"])
    if row["retry_at"] is None:
        return f"failed after {counted(attempts, 'attempt')}, since {since}; `sakuin redrive` sends it again"
    if row["state"] == "waiting" or not attempts:
        return f"waiting since {since}, continues automatically at {minute(row['retry_at'])}"
    return f"failed {counted(attempts, 'time')} since {since}, next attempt {minute(row['retry_at'])}"


def _overview(client: "DeploymentClient") -> dict[str, Any]:
    """Returns the whole library: counts, materials whose newest version failed, the latest change, unfinished work."""
    counts, unfinished, queues = client.status(), client.work(), client.queues()
    failed = client.materials(status="failed")
    return {
        "materials": {"ready": 0, "failed": 0, **counts["materials"]},
        "chunks": counts["chunks"],
        "waiting": counts["waiting"],
        "failed": [{name: record[name] for name in ("material", "key", "error")} for record in failed],
        "last_indexed": counts["last_indexed"],
        "work": {"retrying": 0, "waiting": 0, "failed": 0, **unfinished["counts"]},
        "unfinished": unfinished["work"],
        **queues,
    }


def _show_overview(terminal: Terminal, found: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.document(found)
        return
    from rich.text import Text

    last = found["last_indexed"] and minute(found["last_indexed"])
    terminal.fields({**found["materials"], "chunks": found["chunks"], "last indexed": last})
    out = terminal.out
    for item in found["failed"]:
        out.print(Text.assemble(("✗ ", "red"), (item["material"], "bold"), f"  {item['error']}"))
    for item in found["waiting"]:
        waits = f"  {item['key']!r} waits: another key has this material. Delete one of the two"
        out.print(Text.assemble(("… ", "yellow"), (item["material"], "bold"), waits))
    for (state, reason), rows in _by_reason(found["unfinished"]).items():
        style = "red" if state == "failed" else "yellow"
        sign, head = (f"{_SIGNS[state]} ", style), (f"{len(rows):,} {state}", "bold")
        out.print(Text.assemble(sign, head, f"  {reason}"))
        out.print(Text(f"    {_times(rows)}: {_names(rows)}", "dim"))
    _show_queues(terminal, found)
    if (more := sum(found["work"].values()) - len(found["unfinished"])) > 0:
        out.print(f"… and {more:,} more unfinished")
    if found["work"]["failed"]:
        out.print("Failed work is not retried automatically: fix the cause, then run `sakuin redrive`")


def _show_queues(terminal: Terminal, found: dict[str, Any]) -> None:
    """Prints what is in flight, since when, and without a worker."""
    from rich.text import Text

    for queue in found["queues"] or ():
        if queue["waiting"] or queue["in_flight"]:
            text = f"{queue['queue']} queue: {queue['waiting']:,} waiting, {queue['in_flight']:,} in flight"
            if queue["unattended"]:
                text += (
                    f", {queue['unattended']:,} of them without a known worker: received in the last 5 s, or delivered"
                    " again within 90 s"
                )
            terminal.out.print(Text.assemble(("… ", "yellow"), text))
    for work in found["in_flight"]:
        lost = "; its worker is dead, the queue delivers it again" if work["worker"] == "dead" else ""
        terminal.out.print(Text(f"    {work['what']}, since {minute(work['since'])}{lost}", "dim"))


def _by_reason(rows: "Sequence[Record]") -> "dict[tuple[str, str], list[Record]]":
    found: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        found.setdefault((row["state"], row["reason"]), []).append(row)
    return found


def _times(rows: "Sequence[Record]") -> str:
    """Returns since when this work is unfinished, and when the first of it is tried again."""
    since = minute(min(row["since"] for row in rows))
    nexts = [row["retry_at"] for row in rows if row["retry_at"] is not None]
    return f"since {since}" + (f", next attempt {minute(min(nexts))}" if nexts else "")


def _names(rows: "Sequence[Record]") -> str:
    """Returns the subjects of the work, at most three by name."""
    subjects = (f"Table {row['subject']}" if row["kind"] == "table" else row["subject"] for row in rows)
    return first_of(dict.fromkeys(subjects), _NAMED)
