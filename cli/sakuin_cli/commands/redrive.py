"""`sakuin redrive`: lists dead letters, sends them again, and discards them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, counted, minute, reporting_errors

_SHOWN = 8


def redrive(
    queue: Annotated[
        Literal["material", "tool", "embed"] | None,
        typer.Argument(metavar="QUEUE", help="material, tool or embed; default: all three.", show_default=False),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id", metavar="MESSAGE", help="Send this message again: its id, or the beginning; may be repeated."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Send all messages again.")] = False,
    discard: Annotated[
        bool, typer.Option("--discard", help="Delete the messages of --id or --all instead of sending them again.")
    ] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """List failed messages (dead letters) with reason, time and attempts. With --id or --all, send them again."""
    if ids and everything:
        raise typer.BadParameter("--id and --all exclude each other", param_hint="--id")
    if discard and not (ids or everything):
        raise typer.BadParameter("It needs --id or --all", param_hint="--discard")
    done = "discarded" if discard else "sent"
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client = deployment(data)
        if not (ids or everything):
            done, parameters = "dead_letters", {"queue": queue} if queue else {}
            letters = client.call("GET", "dead-letters", params=parameters)["dead_letters"]
        elif ids:
            letters = client.change_dead_letters("discard" if discard else "send_again", queue, ids=ids)
        else:
            letters = client.change_all_dead_letters("discard" if discard else "send_again", queue)
    terminal.answer({done: letters}, lambda: _show(terminal, letters, done))


def _show(terminal: Terminal, letters: Sequence[dict[str, Any]], done: str) -> None:
    for one in letters:
        terminal.print((f"{one['queue']} {one['id'][:_SHOWN]}", "bold"), f"  {one['what']}")
        tries = f"tried {counted(one['tries'], 'time')}, since {minute(one['since'])}"
        terminal.print(f"    {one['why']} ({tries})")
    count = counted(len(letters), "dead letter")
    if done != "dead_letters":
        terminal.print(f"{count} {'discarded' if done == 'discarded' else 'sent again'}")
    elif letters:
        advice = "Fix the cause, then send again: sakuin redrive --all, or --id MESSAGE; --discard deletes instead"
        terminal.print(f"{count}. {advice}")
    else:
        terminal.print("No dead letters")
