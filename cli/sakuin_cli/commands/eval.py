"""`sakuin eval`: asks a deployment golden questions, and compares the answers of two deployments."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import Command
from sakuin_cli.files import read_text
from sakuin_cli.options import IndexOption

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.evaluation.run import Run
    from sakuin_cli.terminal import Terminal


def eval(
    command: Command,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            dir_okay=False,
            help="The questions: JSON Lines, JSON, CSV, lines of text, or an HTML page with a list of exercises.",
        ),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            exists=True,
            dir_okay=False,
            help="Name each question whose answer differs between two saved runs (--json).",
        ),
    ] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="A Search Tool; gold then contains json_pointers.")
    ] = None,
    index: IndexOption = None,
    k: Annotated[int, typer.Option("--k", min=1, max=50, help="How many results count.")] = 5,
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            "--min", metavar="M=V", help="A floor: recall@5=0.85, of a category typo:hit@5=0.9; may be repeated."
        ),
    ] = None,
    at_most: Annotated[
        list[str] | None, typer.Option("--max", metavar="M=V", help="A ceiling: refused=0.02; may be repeated.")
    ] = None,
) -> None:
    """Ask golden questions and list those without a good match or an expected link; exit code 1 if there are some.

    With --min or --max these alone decide the exit code; with --compare, whether a question lost its answer.
    """
    from sakuin_cli.evaluation.figures import bound_of, figures, missed

    terminal = command.terminal
    if compare:
        _compare(terminal, compare)
    bounds = [*(bound_of("min", text) for text in at_least or ()), *(bound_of("max", text) for text in at_most or ())]
    run = _run(terminal, file, command.client, tool=tool, k=k, index=index)
    means = figures(run.answers, k)
    failed = [answer for answer in run.answers if answer.failure(k)]
    below = missed(bounds, means)
    if terminal.as_json:
        listed = [
            {"line": each.question.line, "query": each.question.query, "failure": each.failure(k), "why": each.why}
            for each in failed
        ]
        terminal.document({"failed": listed, "figures": means, "missed": list(map(asdict, below)), "run": asdict(run)})
    else:
        from sakuin_cli.evaluation.report import show_run

        show_run(terminal, run, means, below)
    raise typer.Exit(1 if run.bad_lines or (below if bounds else failed) else 0)


def _run(terminal: "Terminal", file: Path | None, client: "DeploymentClient", **options: Any) -> "Run":
    """Asks a deployment the questions of a file."""
    from dataclasses import replace

    from sakuin_cli.evaluation.questions import questions_in
    from sakuin_cli.evaluation.run import ask_all

    if file is None:
        raise Invalid("Name a FILE with questions")
    questions, bad = questions_in(file)
    with terminal.progress("asked") as on_progress:
        run = ask_all(client, questions, **options, on_progress=on_progress)
    return replace(run, bad_lines=tuple(sorted((*bad, *run.bad_lines), key=lambda each: each.line)))


def _compare(terminal: "Terminal", files: tuple[Path, Path]) -> NoReturn:
    """Compares two saved runs; ends the command."""
    from sakuin_cli.evaluation.comparison import compared
    from sakuin_cli.evaluation.run import run_in

    before, after = (run_in(read_text(file)) for file in files)
    comparison = compared(before, after)
    terminal.answer(comparison.as_json(), lambda: terminal.print(comparison.markdown().rstrip()))
    raise typer.Exit(1 if comparison.lost else 0)
