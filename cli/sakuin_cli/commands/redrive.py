"""`sakuin redrive`: what lies among the dead letters, and sending it again."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.redrive import FoundLetter

_SHOWN = 8


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def redrive(
        queue: Annotated[
            Literal["material", "tool", "embed"] | None,
            typer.Argument(metavar="QUEUE", help="material, tool or embed; all three without.", show_default=False),
        ] = None,
        ids: Annotated[
            list[str] | None,
            typer.Option("--id", metavar="MESSAGE", help="Send this one again: its id, or how that begins."),
        ] = None,
        everything: Annotated[bool, typer.Option("--all", help="Send all of them again.")] = False,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Show the dead letters: what, why, since when, how often tried. With --id or --all send them again."""
        if ids and everything:
            raise typer.BadParameter("--id and --all exclude each other", param_hint="--id")
        terminal = Terminal(as_json)
        with terminal.reported():
            use_case = desk_of(data).redrive()
            chosen = {"queues": [queue]} if queue else {}
            sends = bool(ids) or everything
            found = use_case.send(**chosen, ids=ids or ()) if sends else use_case.look(**chosen)
        letters = [_letter(one) for one in found]
        if as_json:
            terminal.document({"sent": letters} if sends else {"dead_letters": letters})
        else:
            _show(terminal, letters, sends=sends)


def _letter(found: "FoundLetter") -> dict[str, Any]:
    from sakuin_cli.dead_letter_words import in_words

    letter = found.letter
    return {
        "id": letter.id,
        "queue": letter.queue,
        "what": in_words(letter.queue, letter.body),
        "why": found.reason,
        "since": found.since or datetime.fromtimestamp(letter.since, UTC).isoformat(timespec="seconds"),
        "tries": found.tries,
        "body": letter.body,
    }


def _show(terminal: Terminal, letters: Sequence[dict[str, Any]], *, sends: bool) -> None:
    from rich.text import Text

    for one in letters:
        name = (f"{one['queue']} {one['id'][:_SHOWN]}", "bold")
        terminal.out.print(Text.assemble(name, f"  {one['what']}"), soft_wrap=True)
        why = one["why"] or "the log of its function says why"
        terminal.out.print(Text(f"    {why} (tried {one['tries']} times, since {one['since']})"), soft_wrap=True)
    count = f"{len(letters)} dead letter" + ("" if len(letters) == 1 else "s")
    if sends:
        terminal.out.print(f"{count} sent again", soft_wrap=True)
    elif letters:
        advice = "Mend what is wrong, then send again: sakuin redrive --all, or --id MESSAGE"
        terminal.out.print(f"{count}. {advice}", soft_wrap=True)
    else:
        terminal.out.print("No dead letters")
