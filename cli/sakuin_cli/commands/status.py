"""`sakuin status`: what is indexed, and what failed and why."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.look_at_library import Overview


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def status(
        material: Annotated[str | None, typer.Option("--material", metavar="M", help="All about one page.")] = None,
        tool: Annotated[str | None, typer.Option("--tool", metavar="ID", help="The index of one Search Tool.")] = None,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Show what is indexed, what failed and why."""
        if tool is not None and material is not None:
            raise typer.BadParameter("--tool and --material exclude each other", param_hint="--tool")
        terminal = Terminal(as_json)
        with terminal.reported():
            desk = desk_of(data)
            if tool is not None:
                found = desk.projects().status(tool)
            elif material is not None:
                found = asdict(desk.look().material(material))
            else:
                found = _overview(desk.look().overview())
        if as_json:
            terminal.document(found)
        elif tool is not None:
            terminal.fields({"tool_id": found["tool_id"], "name": found["name"], **found["search_index"]})
        elif material is None:
            _show(terminal, found)
        else:
            work = found.pop("work")
            terminal.fields(found)
            for row in work:
                terminal.out.print(_said(row), soft_wrap=True)


def _overview(overview: "Overview") -> dict[str, Any]:
    return {
        "materials": {"ready": 0, "failed": 0, **overview.counts.materials},
        "chunks": overview.counts.chunks,
        "waiting": [{"material": material, "key": key} for material, key in overview.counts.waiting],
        "failed": [
            {"material": record.material, "key": record.key, "error": record.error} for record in overview.failed
        ],
        "last_indexed": overview.last_indexed,
        "work": {"in_hand": 0, "waiting": 0, "parked": 0, "dead": 0, **overview.work},
        "parked": [asdict(row) for row in overview.parked],
    }


def _show(terminal: Terminal, found: dict[str, Any]) -> None:
    from rich.text import Text

    counts = {**found["materials"], "chunks": found["chunks"]}
    work = {name.replace("_", " "): number for name, number in found["work"].items() if number}
    terminal.fields({**counts, "last indexed": found["last_indexed"], **work})
    out = terminal.out
    for item in found["failed"]:
        out.print(Text.assemble(("✗ ", "red"), (item["material"], "bold"), f"  {item['error']}"), soft_wrap=True)
    for item in found["waiting"]:
        waits = f"  {item['key']!r} waits: another key has this material. Delete one of the two"
        out.print(Text.assemble(("… ", "yellow"), (item["material"], "bold"), waits), soft_wrap=True)
    for reason, rows in _by_reason(found["parked"]).items():
        since, until = (min(row[name] for row in rows) for name in ("since", "until"))
        waits = f"  {reason} (since {since}; goes on by itself, next {until})"
        out.print(Text.assemble(("… ", "yellow"), (f"{len(rows)} parked", "bold"), waits), soft_wrap=True)
    if found["work"]["dead"]:
        out.print(Text.assemble(("✗ ", "red"), "There are dead letters: sakuin redrive"), soft_wrap=True)


def _by_reason(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(str(row["reason"]), []).append(row)
    return found


def _said(row: dict[str, Any]) -> str:
    """A message that is not done, in one line."""
    ends = {
        "in_hand": f"a worker has it, last heard of {row['heartbeat_at']}",
        "waiting": f"tried {row['attempt']} times, comes again",
        "parked": f"parked since {row['since']}, goes on by itself at {row['until']}",
        "dead": f"a dead letter since {row['since']}, tried {row['attempt']} times: sakuin redrive",
    }
    reason = f" ({row['reason']})" if row["reason"] else ""
    return f"… {ends[row['state']]}{reason}"
