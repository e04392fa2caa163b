"""`sakuin status`: what is indexed, what waits, and why."""

import shlex
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import NotFound
from sakuin.knowledge.page import Words

from sakuin_cli.commands.tool import index_fields
from sakuin_cli.connections import Command
from sakuin_cli.terminal import Terminal, counted, first_of, minute

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

# How many subjects with the same reason are named.
_NAMED = 3


def status(
    command: Command,
    material: Annotated[str | None, typer.Option("--material", metavar="M", help="Details of one page.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="ID", help="The index of a Search Tool.")] = None,
) -> None:
    """Show what is indexed, and what failed or waits and why."""
    if tool is not None and material is not None:
        raise typer.BadParameter("--tool and --material exclude each other", param_hint="--tool")
    terminal, client = command.terminal, command.client
    with terminal.waiting():
        found = (
            client.call("GET", "tools", tool)
            if tool is not None
            else _material(client, unicodedata.normalize("NFC", material), material)
            if material is not None
            else _overview(client)
        )
    if tool is not None:
        index = found["metadata"].get("search_index", {})
        names = {"tool_id": found["id"], "name": found["name"]}
        terminal.fields({**names, "search_index": index} if terminal.as_json else {**names, **index_fields(index)})
    else:
        show = _show_overview if material is None else _show_material
        terminal.answer(found, lambda: show(terminal, found))


def _material(client: "DeploymentClient", name: str, given: str) -> "Record":
    """Returns one material; raises `NotFound` if it does not exist and does not wait."""
    if (found := client.material(name)) is None:
        raise NotFound(f"There is no page {given!r}. Search results have its name as `material`, without .html")
    return found


def _show_material(terminal: Terminal, material: "Record") -> None:
    words = material["words"] and Words(**material["words"])
    terminal.fields({name: value for name, value in (material | {"words": words}).items() if name != "waiting"})
    if waiting := material["waiting"]:
        times = f"waiting since {minute(waiting['since'])}, next attempt {minute(waiting['until'])}"
        terminal.print(f"… {times}: {waiting['reason']}")


def _overview(client: "DeploymentClient") -> dict[str, Any]:
    """Returns the whole library: counts, materials whose newest version failed, the latest change, and what waits."""
    counts, queues = client.call("GET", "status"), client.call("GET", "queues")
    failed = client.materials(status="failed")
    return {
        "materials": {"ready": 0, "failed": 0, **counts["materials"]},
        "chunks": counts["chunks"],
        "words": counts["words"],
        "competing": counts["competing"],
        "failed": [{name: record[name] for name in ("material", "key", "error")} for record in failed],
        "last_indexed": counts["last_indexed"],
        "work": counts["work"],
        **queues,
    }


def _show_overview(terminal: Terminal, found: dict[str, Any]) -> None:
    last = found["last_indexed"] and minute(found["last_indexed"])
    words = found["words"] and Words(**found["words"])
    terminal.fields({**found["materials"], "sections": found["chunks"], "words": words, "last indexed": last})
    for item in found["failed"]:
        terminal.print(("✗ ", "red"), (item["material"], "bold"), f"  {item['error']}")
    for item in found["competing"]:
        waits = f"  {item['key']!r} waits: another key has this page. Delete one of the two"
        terminal.print(("… ", "yellow"), (item["material"], "bold"), waits)
    for reason in found["work"]["reasons"]:
        rows = [row for row in found["work"]["rows"] if row["reason"] == reason["reason"]]
        terminal.print(("… ", "yellow"), (f"{reason['count']:,} waiting", "bold"), f"  {reason['reason']}")
        if rows:
            terminal.print((f"    since {minute(rows[0]['since'])}: {_names(rows)}", "dim"))
    dead = _show_queues(terminal, found)
    if dead:
        terminal.next("sakuin redrive")
    elif found["failed"]:
        terminal.next(f"sakuin status --material {shlex.quote(found['failed'][0]['material'])}")
    else:
        terminal.next("sakuin status" if found["work"]["reasons"] else "sakuin validate")


def _show_queues(terminal: Terminal, found: dict[str, Any]) -> int:
    """Prints how many messages wait and are in flight, and dead letters; returns the number of these."""
    dead = 0
    for queue in found["queues"] or ():
        dead += queue["dead_letters"]
        if queue["waiting"] or queue["in_flight"]:
            text = f"{queue['queue']} queue: {queue['waiting']:,} waiting, {queue['in_flight']:,} in flight"
            terminal.line("…", "yellow", text)
    if dead:
        terminal.line("✗", "red", f"{counted(dead, 'dead letter')}: fix the cause, then run `sakuin redrive`")
    return dead


def _names(rows: "Sequence[Record]") -> str:
    """Returns the subjects of the work, at most three by name."""
    subjects = (f"Table {row['subject']}" if row["kind"] == "table" else row["subject"] for row in rows)
    return first_of(dict.fromkeys(subjects), _NAMED)
