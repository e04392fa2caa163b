"""What a command says: to people on a terminal, or to a program as one JSON document."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from sakuin.errors import SakuinError

if TYPE_CHECKING:  # rich is loaded when something is shown
    from rich.console import Console
    from rich.progress import Progress


@dataclass(frozen=True, slots=True)
class Terminal:
    """Answers go to stdout, progress and errors to stderr; with `as_json` stdout has the answer alone."""

    as_json: bool

    @property
    def out(self) -> "Console":
        """Where answers are shown."""
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False)

    def document(self, answer: object) -> None:
        """The one JSON document."""
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")

    def fields(self, answer: Mapping[str, Any]) -> None:
        """A small answer: one field a line, or the one JSON document."""
        if self.as_json:
            self.document(answer)
            return
        from rich.text import Text

        width = max(map(len, answer), default=0)
        for name, value in answer.items():
            shown = "–" if value is None else str(value)
            self.out.print(Text.assemble((f"{name:>{width}}  ", "dim"), shown), soft_wrap=True)

    @contextmanager
    def progress(self) -> Iterator["Progress"]:
        """A progress display that vanishes when it is done; none for programs, and none that leads into a file."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        shown = console.is_terminal and not self.as_json
        with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
            yield progress

    @contextmanager
    def reported(self) -> Iterator[None]:
        """What goes wrong inside ends the command with exit code 1 and a sentence."""
        try:
            yield
        except SakuinError as error:
            if self.as_json:
                self.document({"error": str(error)})
            else:
                sys.stderr.write(f"sakuin: {error}\n")
            raise typer.Exit(1) from error
