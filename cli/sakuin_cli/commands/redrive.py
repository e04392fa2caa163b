"""`sakuin redrive`: lists dead letters, and sends them again."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import NotFound, SakuinError
from sakuin.platform.retry import QUEUES, QueueName

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, counted, minute, reporting_errors

if TYPE_CHECKING:
    from sakuin.upkeep.dead_letters import DeadLetterQueues, DeadMessage, KnownFailure

    from sakuin_cli.settings import CommandSettings

_SHOWN = 8


def redrive(
    queue: Annotated[
        QueueName | None,
        typer.Argument(metavar="QUEUE", help="material, tool or embed; default: all three.", show_default=False),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id", metavar="MESSAGE", help="Send this message again: its id, or the beginning; may be repeated."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Send all messages again.")] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """List failed messages (dead letters) with reason, time and attempts. With --id or --all, send them again."""
    if ids and everything:
        raise typer.BadParameter("--id and --all exclude each other", param_hint="--id")
    sends = bool(ids) or everything
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.dead_letters import dead_letter_queues

        settings = settings_of(data)
        dead = dead_letter_queues(settings)
        found = [letter for name in ([queue] if queue else QUEUES) for letter in dead.receive(name)]
        if not sends:
            dead.release(found)
        elif ids:
            found = _chosen(dead, found, ids)
        letters = _described(settings, found)
        for letter in found if sends else ():
            dead.send_again(letter)
    if as_json:
        terminal.document({"sent": letters} if sends else {"dead_letters": letters})
    else:
        _show(terminal, letters, sends=sends)


def _chosen(dead: "DeadLetterQueues", found: "Sequence[DeadMessage]", ids: Sequence[str]) -> "list[DeadMessage]":
    """Returns the letters whose ids begin with one of `ids`. An unknown id is `NotFound`, and all letters stay."""
    unknown = [one for one in ids if not any(letter.id.startswith(one) for letter in found)]
    chosen = [] if unknown else [letter for letter in found if letter.id.startswith(tuple(ids))]
    dead.release([letter for letter in found if letter not in chosen])
    if unknown:
        raise NotFound(f"There is no dead letter {unknown[0]!r}. `sakuin redrive` lists them")
    return chosen


def _described(settings: "CommandSettings", letters: "Sequence[DeadMessage]") -> list[dict[str, Any]]:
    """Returns the letters with their unfinished work; `why` is None if the deployment cannot be asked."""
    from sakuin.upkeep.dead_letters import described

    return [asdict(one) for one in described(letters, partial(_failures, settings))]


def _failures(
    settings: "CommandSettings", subjects: Collection[str]
) -> "dict[tuple[str, str, str], KnownFailure] | None":
    """Returns the known failures by kind, subject and index; None if the deployment cannot be asked."""
    from sakuin.upkeep.dead_letters import KnownFailure

    if not (settings.url and settings.admin_key):
        return None
    if not subjects:
        return {}
    try:
        rows = deployment_of(settings).work(sorted(subjects))["work"]
    except SakuinError:
        # Letters can be listed and sent without reasons, for example while the API does not answer.
        return None
    return {
        (row["kind"], row["subject"], row["index"]): KnownFailure(row["reason"], row["since"], row["attempts"])
        for row in rows
    }


def _show(terminal: Terminal, letters: Sequence[dict[str, Any]], *, sends: bool) -> None:
    from rich.text import Text

    for one in letters:
        name = (f"{one['queue']} {one['id'][:_SHOWN]}", "bold")
        terminal.out.print(Text.assemble(name, f"  {one['what']}"), soft_wrap=True)
        why = one["why"] or "see the log of its function"
        tries = f"tried {counted(one['tries'], 'time')}, since {minute(one['since'])}"
        terminal.out.print(Text(f"    {why} ({tries})"), soft_wrap=True)
    count = counted(len(letters), "dead letter")
    if sends:
        terminal.out.print(f"{count} sent again", soft_wrap=True)
    elif letters:
        advice = "Fix the cause, then send again: sakuin redrive --all, or --id MESSAGE"
        terminal.out.print(f"{count}. {advice}", soft_wrap=True)
    else:
        terminal.out.print("No dead letters")
