"""`sakuin redrive`: the dead letters, and sending them again."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from sakuin.errors import NotFound, SakuinError

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, counted, minute

if TYPE_CHECKING:
    from sakuin.platform.unfinished_work import WorkSubject

    from sakuin_cli.dead_letters import DeadLetter, DeadLetterQueues
    from sakuin_cli.settings import CommandSettings
    from sakuin_cli.views import Work

QueueName = Literal["material", "tool", "embed"]
_QUEUES: tuple[QueueName, ...] = ("material", "tool", "embed")
_SHOWN = 8
_NO_ANSWER = "the worker ended without an answer; the log of its function says more"


def redrive(
    queue: Annotated[
        QueueName | None,
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
    sends = bool(ids) or everything
    with terminal.reporting_errors():
        from sakuin_cli.dead_letters import DeadLetterQueues

        settings = settings_of(data)
        dead = DeadLetterQueues.of(settings)
        found = [letter for name in ([queue] if queue else _QUEUES) for letter in dead.receive(name)]
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


def _chosen(dead: "DeadLetterQueues", found: "Sequence[DeadLetter]", ids: Sequence[str]) -> "list[DeadLetter]":
    """The letters whose ids begin with one of `ids`; if one of `ids` names no letter, all are left and it raises."""
    unknown = [one for one in ids if not any(letter.id.startswith(one) for letter in found)]
    chosen = [] if unknown else [letter for letter in found if letter.id.startswith(tuple(ids))]
    dead.release([letter for letter in found if letter not in chosen])
    if unknown:
        raise NotFound(f"There is no dead letter {unknown[0]!r} now. `sakuin redrive` lists them")
    return chosen


def _described(settings: "CommandSettings", letters: "Sequence[DeadLetter]") -> list[dict[str, Any]]:
    """The letters with what the deployment knows of them; `why` is None where it cannot be asked."""
    from sakuin_cli.dead_letters import contents

    asked = [contents(letter.queue, letter.body) for letter in letters]
    rows = _rows(settings, {each.subject.id for each in asked if each.subject})
    described = []
    for letter, each in zip(letters, asked, strict=True):
        row = _row(rows or {}, each.subject)
        reason = letter.bus_reason or (row["reason"] if row else each.problem)
        since = row["since"] if row else datetime.fromtimestamp(letter.since, UTC).isoformat(timespec="seconds")
        described.append(
            {
                "id": letter.id,
                "queue": letter.queue,
                "what": each.words,
                "why": reason or (_NO_ANSWER if rows is not None else None),
                "since": since,
                "tries": max(letter.tries, row["attempts"] if row else 0),
                "body": letter.body,
            }
        )
    return described


def _rows(settings: "CommandSettings", subjects: Collection[str]) -> "dict[tuple[str, str, str], Work] | None":
    """The unfinished work by kind, subject and index; None where the deployment does not tell."""
    if not (settings.url and settings.admin_key):
        return None
    if not subjects:
        return {}
    try:
        rows = deployment_of(settings).work(sorted(subjects))["work"]
    except SakuinError:
        # The letters can be listed and sent without their reasons: it may be the API that does not answer.
        return None
    return {(row["kind"], row["subject"], row["index"]): row for row in rows}


def _row(rows: "Mapping[tuple[str, str, str], Work]", subject: "WorkSubject | None") -> "Work | None":
    return rows.get((subject.kind, subject.id, subject.fingerprint)) if subject else None


def _show(terminal: Terminal, letters: Sequence[dict[str, Any]], *, sends: bool) -> None:
    from rich.text import Text

    for one in letters:
        name = (f"{one['queue']} {one['id'][:_SHOWN]}", "bold")
        terminal.out.print(Text.assemble(name, f"  {one['what']}"), soft_wrap=True)
        why = one["why"] or "the log of its function says why"
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
