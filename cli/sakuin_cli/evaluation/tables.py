"""A report as it looks on a terminal: tables, bars, and what went wrong."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sakuin_cli.evaluation.figures import RECOGNISED, REFUSED, WHOLE, Group, measures
from sakuin_cli.evaluation.intervals import Estimate
from sakuin_cli.evaluation.paired import Difference
from sakuin_cli.evaluation.report import Report
from sakuin_cli.evaluation.run import Comparison, Failure
from sakuin_cli.evaluation.variants import AGENT

KINDS = {
    "missed": "no right answer among the first {k}",
    "partly": "some right answers not among the first {k}",
    "refused": "refused, though there is an answer",
    "answered": "answered, though there is none",
}
_BAR = 40
_SIGNIFICANT = 0.05


def show(out: Console, report: Report) -> None:
    """Everything that a report has to say, the verdict last."""
    run = report.run
    off = sum(not question.gold for question in run.questions)
    asked = f"{len(run.questions)} questions to {run.tool or 'search_knowledge'}"
    out.print(Text.assemble((asked, "bold"), f", {len(run.questions) - off} with an answer, {off} without"))
    if run.index_state is not None:
        out.print(
            Text(f"The tool's index is not ready ({run.index_state}): this is what it holds so far", "bold yellow")
        )
    out.print()
    _print_table(out, "What an agent gets", "group", report.agent, run.k)
    _print_bars(out, measures(run.k)[0], {group.name: group.figures for group in report.agent})
    wholes = {name: some[0] for name, some in report.figures.items()}
    rows = [Group(name, whole.questions, whole.figures) for name, whole in wholes.items()]
    _print_table(out, "Legs and rules, by their order alone but for the agent", "variant", rows, run.k)
    _print_bars(out, measures(run.k)[0], {name: whole.figures for name, whole in wholes.items()})
    if report.comparison is not None:
        _print_comparison(out, report.comparison)
    _print_failures(out, run.failures, run.k)
    for line in run.bad_lines:
        out.print(Text.assemble((f"line {line.line} ", "bold red"), f"is left out: {line.reason}"), soft_wrap=True)
    for one in report.missed:
        out.print(Text.assemble(("missed ", "bold red"), str(one)), soft_wrap=True)


def _print_table(out: Console, title: str, first: str, groups: Sequence[Group], k: int) -> None:
    columns = measured_in(groups, k)
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in ("n", *columns):
        table.add_column(name, justify="right", no_wrap=True)
    for group in groups:
        style = "bold" if group.name in (WHOLE, AGENT) else ""
        figures = (_number(group.figures.get(name)) for name in columns)
        table.add_row(Text(group.name), str(group.questions), *figures, style=style)
    out.print(table)
    out.print()


def measured_in(groups: Sequence[Group], k: int) -> tuple[str, ...]:
    """The measures that any of the groups has, in their order."""
    return tuple(name for name in (*measures(k), REFUSED, RECOGNISED) if any(name in one.figures for one in groups))


def _number(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.mean:.3f}"


def _print_bars(out: Console, measure: str, rows: Mapping[str, Mapping[str, Estimate]]) -> None:
    """A bar for each row, solid up to the interval's low end, shaded within it."""
    known = {name: figures[measure] for name, figures in rows.items() if measure in figures}
    if not known:
        return
    width = max(map(_width, known))
    out.print(Text.assemble((f"{measure}, with 95% intervals", "dim")))
    for name, estimate in known.items():
        out.print(
            Text.assemble(
                name + " " * (width - _width(name) + 2),
                interval_bar(estimate),
                f" {estimate.mean:.3f} ",
                (f"{estimate.low:.2f}–{estimate.high:.2f}", "dim"),
            ),
            soft_wrap=True,
        )
    out.print()


def interval_bar(estimate: Estimate) -> Text:
    """A bar of fixed width: what is sure, what is likely, what is possible, the rest."""
    low, mean, high = (round(value * _BAR) for value in (estimate.low, estimate.mean, estimate.high))
    return Text.assemble(
        ("█" * low, "green"),
        ("▓" * (mean - low), "green"),
        ("▒" * (high - mean), "green"),
        ("░" * (_BAR - high), "dim"),
    )


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _print_comparison(out: Console, comparison: Comparison) -> None:
    table = Table(title="Against the saved run", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    for name in ("before", "now", "change", "95% interval", "p", "higher", "lower"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, change in comparison.differences.items():
        table.add_row(name, *_change(change), style=_colour(name, change))
    out.print(table)
    if comparison.left_out:
        out.print(Text(f"{comparison.left_out} questions are in one of the two runs only, and left out", "dim"))
    out.print()


def _change(change: Difference) -> Iterable[str]:
    yield f"{change.before:.3f}"
    yield f"{change.after:.3f}"
    yield f"{change.change:+.3f}"
    yield f"{change.low:+.3f} … {change.high:+.3f}"
    yield f"{change.p:.3f}"
    yield str(change.higher)
    yield str(change.lower)


def _colour(name: str, change: Difference) -> str:
    if change.p >= _SIGNIFICANT:
        return ""
    # Fewer refusals of good questions are the better ones.
    return "green" if (change.change > 0) is (name != REFUSED) else "red"


def _print_failures(out: Console, failures: Sequence[Failure], k: int) -> None:
    for kind, title in KINDS.items():
        some = [failure for failure in failures if failure.kind == kind]
        if not some:
            continue
        out.print(Text(f"{len(some)} {title.format(k=k)}", "bold"))
        for failure in some:
            question = failure.question
            out.print(
                Text.assemble("  ", (question.query, "yellow"), f"  {question.category}, line {question.line}"),
                soft_wrap=True,
            )
            if failure.expected is not None:
                out.print(Text.assemble("    expected ", (failure.expected, "cyan")), soft_wrap=True)
            out.print(Text(f"    {failure.why}"), soft_wrap=True)
            names = " / ".join(hit.title or hit.id for hit in failure.shown)
            out.print(Text(f"    first: {names or 'nothing'}", "dim"), soft_wrap=True)
        out.print()
