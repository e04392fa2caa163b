"""A report on the terminal: tables and failures."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sakuin_cli.evaluation.figures import WHOLE, Group
from sakuin_cli.evaluation.report import KINDS, Report, direction_of, measured_in
from sakuin_cli.evaluation.run import AGENT, Comparison, FailedQuestion
from sakuin_cli.evaluation.statistics import CELLS, Estimate

_STYLES = {"up": "green", "down": "red", "": ""}


def show(out: Console, report: Report) -> None:
    """Prints a report; missed floors come last."""
    run = report.run
    asked, without = f"{len(run.questions)} questions to {run.name}", report.without_answer
    out.print(Text.assemble((asked, "bold"), f", {len(run.questions) - without} with an answer, {without} without"))
    if run.index_state is not None:
        out.print(
            Text(
                f"The tool's index is not ready ({run.index_state}): these figures are of what is indexed so far",
                "bold yellow",
            )
        )
    out.print()
    _print_table(out, "What an agent gets", "group", report.agent, run.k)
    _print_table(out, "Searches: the ranking alone, except for the agent", "variant", report.variants, run.k)
    if report.comparison is not None:
        _print_comparison(out, report.comparison)
    _print_failures(out, run.failures, run.k)
    for line in run.bad_lines:
        out.print(Text.assemble((f"line {line.line} ", "bold red"), f"is left out: {line.reason}"))
    for one in report.missed:
        out.print(Text.assemble(("missed ", "bold red"), str(one)))


def _print_table(out: Console, title: str, first: str, groups: Sequence[Group], k: int) -> None:
    """Prints the figures of groups, of the first measure with its 95% interval."""
    columns = measured_in(groups, k)
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in ("n", *columns, "95% of the first"):
        table.add_column(name, justify="right", no_wrap=True)
    for group in groups:
        style = "bold" if group.name in (WHOLE, AGENT) else ""
        figures = (_number(group.figures.get(name)) for name in columns)
        interval = group.figures.get(columns[0]) if columns else None
        shown = f"{interval.low:.2f}–{interval.high:.2f}" if interval else ""
        table.add_row(Text(group.name), str(group.questions), *figures, shown, style=style)
    out.print(table)
    out.print()


def _number(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.mean:.3f}"


def _print_comparison(out: Console, comparison: Comparison) -> None:
    table = Table(
        title="Compared with the saved run", title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    table.add_column("measure", no_wrap=True)
    for name in CELLS:
        table.add_column(name, justify="right", no_wrap=True)
    for name, change in comparison.differences.items():
        table.add_row(name, *change.cells(), style=_STYLES[direction_of(name, change)])
    out.print(table)
    if comparison.left_out:
        out.print(Text(f"{comparison.left_out} questions are in one run only and left out", "dim"))
    out.print()


def _print_failures(out: Console, failures: Sequence[FailedQuestion], k: int) -> None:
    for kind, title in KINDS.items():
        some = [failure for failure in failures if failure.kind == kind]
        if not some:
            continue
        out.print(Text(f"{len(some)} {title.format(k=k)}", "bold"))
        for failure in some:
            question = failure.question
            out.print(Text.assemble("  ", (question.query, "yellow"), f"  {question.category}, line {question.line}"))
            if failure.expected is not None:
                out.print(Text.assemble("    expected ", (failure.expected, "cyan")))
            out.print(Text(f"    {failure.why}"))
            names = " / ".join(hit.title or hit.id for hit in failure.shown)
            out.print(Text(f"    first: {names or 'nothing'}", "dim"))
        out.print()
