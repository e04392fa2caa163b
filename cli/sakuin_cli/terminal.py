"""The output of commands: for people on a terminal, or one JSON document for a program."""

import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from sakuin.errors import Invalid, SakuinError

if TYPE_CHECKING:  # rich is imported only to print
    from rich.console import Console
    from rich.progress import Task

Item = TypeVar("Item")
# A text, or a text with its style.
Part = str | tuple[str, str]
# The phase, how much of it is done, the total (None if unknown).
OnProgress = Callable[[str, int, int | None], None]

# Without a terminal, a line tells so often how much is done.
LINE_SECONDS = 10.0
# How many lines a question lists.
_LINES = 20


@dataclass(frozen=True, slots=True)
class Terminal:
    """Prints answers to stdout, progress and errors to stderr; with `as_json`, stdout gets one JSON document only."""

    as_json: bool

    @property
    def asks(self) -> bool:
        """Returns whether a person at a terminal answers questions."""
        return not self.as_json and sys.stdin.isatty()

    @property
    def out(self) -> "Console":
        """Returns the console on stdout."""
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

    def document(self, answer: object) -> None:
        """Prints the JSON document."""
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")

    def answer(self, document: object, show: Callable[[], object]) -> None:
        """Prints the JSON document, or has `show` print for people."""
        if self.as_json:
            self.document(document)
        else:
            show()

    def fields(self, answer: Mapping[str, Any]) -> None:
        """Prints a small answer: one field per line, or the JSON document."""
        if self.as_json:
            self.document(answer)
            return
        width = max(map(len, answer), default=0)
        for name, value in answer.items():
            self.print((f"{name:>{width}}  ", "dim"), "–" if value is None else str(value))

    def print(self, *parts: Part, indent: int = 0) -> None:
        """Prints a line of parts; an indented one is wrapped on a terminal, and stays one line in a file."""
        from rich.padding import Padding
        from rich.text import Text

        if indent and self.out.is_terminal:
            self.out.print(Padding(Text.assemble(*parts), (0, 0, 0, indent)), soft_wrap=False)
        else:
            self.out.print(Text.assemble(" " * indent, *parts))

    def line(self, sign: str, style: str, text: str) -> None:
        """Prints a line that begins with a coloured sign."""
        self.print((f"{sign} ", style), text)

    def lines(self, *lines: str) -> None:
        """Prints lines, the last one in bold."""
        for line in lines[:-1]:
            self.print(line)
        self.print((lines[-1], "bold"))

    def next(self, command: str) -> None:
        """Prints a command to copy, unless a program reads the answer."""
        if not self.as_json:
            self.print(("Next: ", "dim"), command)

    def rows(self, name: str, rows: Sequence[Mapping[str, Any]], **shared: Any) -> None:
        """Prints rows with the same fields below the names of these, or the document `{**shared, name: rows}`."""
        if self.as_json:
            self.document({**shared, name: rows})
            return
        from rich.cells import cell_len, set_cell_size

        if not rows:
            return
        lines = [list(rows[0]), *(["–" if value is None else str(value) for value in row.values()] for row in rows)]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        for number, line in enumerate(lines):
            cells = map(set_cell_size, line, widths)
            self.print(("  ".join(cells).rstrip(), "" if number else "dim"))

    def confirm(self, heading: str, lines: Collection[str], question: str, advice: str) -> None:
        """Lists what a command is about to do and asks; without a person at a terminal it is an error with advice."""
        listing = f"{heading}:\n  " + first_of(lines, _LINES, separator="\n  ")
        if not self.asks:
            raise Invalid(f"{listing}\n{advice}")
        typer.confirm(f"{listing}\n{question}", abort=True, err=True)

    @contextmanager
    def progress(self, *phases: str) -> Iterator[OnProgress]:
        """Shows a progress bar for each phase while the block runs; without a terminal, a line each ten seconds."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True)
        times = (TimeRemainingColumn(), "left,", TimeElapsedColumn(), "so far")
        columns = ("{task.description:>10}", BarColumn(), MofNCompleteColumn(), *times)
        shown = console.is_terminal and not self.as_json
        next_line = inf if shown or self.as_json else time.monotonic() + LINE_SECONDS

        def update(phase: str, done: int, total: int | None) -> None:
            nonlocal next_line
            progress.update(bars[phase], completed=done, total=total)
            if time.monotonic() > next_line:
                next_line = time.monotonic() + LINE_SECONDS
                console.print(", ".join(map(_state, progress.tasks)), soft_wrap=True)

        with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
            bars = {phase: progress.add_task(phase, total=None) for phase in phases}
            yield update

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Shows on a terminal that the block waits for an answer."""
        if self.as_json:
            yield
            return
        from rich.console import Console

        console = Console(stderr=True)
        with console.status("Waiting for the answer …") if console.is_terminal else nullcontext():
            yield


def _state(task: "Task") -> str:
    count = "" if task.total is None and not task.completed else f" {task.completed:,.0f}"
    return task.description + count + ("" if task.total is None else f" of {task.total:,.0f}")


@contextmanager
def reporting_errors(as_json: bool) -> Iterator[Terminal]:
    """Yields the command's terminal; prints an error of ours as a sentence and ends the command with exit code 1."""
    terminal = Terminal(as_json)
    try:
        yield terminal
    except SakuinError as error:
        if as_json:
            terminal.document({"error": str(error)})
        else:
            sys.stderr.write(f"sakuin: {error}\n")
        raise typer.Exit(1) from error


def tracked(items: Sequence[Item], phase: str, on_progress: OnProgress) -> Iterator[Item]:
    """Yields the items of a phase, and shows how many are done."""
    for number, item in enumerate(items, 1):
        yield item
        on_progress(phase, number, len(items))


def counted(number: int, what: str) -> str:
    """Returns a number with its noun: 1 page, 2 pages."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def first_of(names: Collection[str], most: int, *, separator: str = ", ") -> str:
    """Returns at most so many names, and the number of the others: a, b and 3 more."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return separator.join(list(names)[:most]) + more


def minute(moment: str) -> str:
    """Returns a time in ISO 8601 in the form 2026-11-22 06:15 UTC."""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
