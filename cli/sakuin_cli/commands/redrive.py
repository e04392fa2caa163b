"""`sakuin redrive`: lists dead letters, sends them again, and discards them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.terminal import Terminal, counted, minute

_SHOWN = 8


def redrive(
    command: ChangingCommand,
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
) -> None:
    """List failed messages (dead letters) with reason, time and attempts. With --id or --all, send them again."""
    if ids and everything:
        raise typer.BadParameter("--id and --all exclude each other", param_hint="--id")
    if discard and not (ids or everything):
        raise typer.BadParameter("It needs --id or --all", param_hint="--discard")
    done, action = ("discarded", "discard") if discard else ("sent", "send_again")
    client = command.client
    with command.terminal.waiting():
        if command.dry_run or not (ids or everything):
            done = "dead_letters"
            letters = client.call("GET", "dead-letters", params={"queue": queue} if queue else {})["dead_letters"]
            letters = [one for one in letters if not ids or one["id"].startswith(tuple(ids))]
        elif ids:
            letters = client.change_dead_letters(action, queue, ids=ids)
        else:
            letters = client.change_all_dead_letters(action, queue)
    if command.dry_run and (ids or everything):
        command.would(*(f"{action} {one['queue']} {one['id']}  {one['what']}" for one in letters))
    command.terminal.answer({done: letters}, lambda: _show(command.terminal, letters, done))


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
