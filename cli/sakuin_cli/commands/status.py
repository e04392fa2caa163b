"""`sakuin status`: what is indexed, and what failed and why."""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import NotFound

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.views import Material, WorkRow


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
    with terminal.reporting_errors():
        client = deployment(data)
        if tool is not None:
            _show_tool(terminal, client, tool)
        elif material is not None:
            _show_material(terminal, _material(client, unicodedata.normalize("NFC", material), material))
        else:
            _show_overview(terminal, _overview(client))


def _show_tool(terminal: Terminal, client: "DeploymentClient", tool_id: str) -> None:
    tool = client.tool(tool_id)
    names, index = {"tool_id": tool["id"], "name": tool["name"]}, tool["metadata"].get("search_index", {})
    terminal.fields({**names, "search_index": index} if terminal.as_json else {**names, **index})


def _material(client: "DeploymentClient", name: str, given: str) -> "Material":
    """One material; one that is not there, and that no message is about, raises `NotFound`."""
    if (found := client.material(name)) is not None:
        return found
    if not (work := client.work(subject=name)["work"]):
        raise NotFound(f"There is no material {given!r}. Search results name it as `material`; a page has no .html")
    # Nothing is known of the page yet but that it is on its way.
    return {
        "material": name,
        "key": "",
        "version_id": None,
        "status": "waiting",
        "error": work[0]["reason"],
        "generation": 0,
        "chunks_count": 0,
        "indexed_version_id": None,
        "indexed_at": None,
        "work": work,
    }


def _show_material(terminal: Terminal, material: "Material") -> None:
    if terminal.as_json:
        terminal.document(material)
        return
    terminal.fields({name: value for name, value in material.items() if name != "work"})
    for row in material["work"]:
        terminal.out.print(_line(row), soft_wrap=True)


def _line(row: "WorkRow") -> str:
    """A message that is not done, in one line."""
    states = {
        "in_hand": f"a worker has it, last heard of {row['heartbeat_at']}",
        "waiting": f"tried {row['attempt']} times, comes again",
        "parked": f"parked since {row['since']}, goes on by itself at {row['until']}",
        "dead": f"a dead letter since {row['since']}, tried {row['attempt']} times: sakuin redrive",
    }
    reason = f" ({row['reason']})" if row["reason"] else ""
    return f"… {states[row['state']]}{reason}"


def _overview(client: "DeploymentClient") -> dict[str, Any]:
    """The whole library: counts, the materials whose newest version could not be indexed, the latest change."""
    counts, parked = client.status(), client.work(state="parked")
    failed: list[dict[str, Any]] = []
    last_indexed: str | None = None
    for record in client.materials():
        if record["status"] == "failed":
            failed.append({"material": record["material"], "key": record["key"], "error": record["error"]})
        # Moments are ISO 8601 in one time zone: the greatest text is the latest.
        last_indexed = max(filter(None, (last_indexed, record["indexed_at"])), default=None)
    return {
        "materials": {"ready": 0, "failed": 0, **counts["materials"]},
        "chunks": counts["chunks"],
        "waiting": counts["waiting"],
        "failed": failed,
        "last_indexed": last_indexed,
        "work": {"in_hand": 0, "waiting": 0, "parked": 0, "dead": 0, **parked["counts"]},
        "parked": parked["work"],
    }


def _show_overview(terminal: Terminal, found: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.document(found)
        return
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
