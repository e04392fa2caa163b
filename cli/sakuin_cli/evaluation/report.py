"""The report of a run on the terminal."""

import shlex
from collections.abc import Sequence

from sakuin_cli.evaluation.figures import Bound, Figures
from sakuin_cli.evaluation.run import Answer, Run
from sakuin_cli.terminal import Terminal

_KINDS = {
    "no good match": "without a good match",
    "missed": "without an expected link among the first {k}",
    "answered": "answered, though nothing answers them",
}
_SHOWN = 3


def show_run(terminal: Terminal, run: Run, figures: Figures, missed: Sequence[Bound]) -> None:
    """Prints the questions that fail, what is no question, the figures, and last the bounds that they miss."""
    if run.index_state is not None:
        state = f"The tool's index is not ready ({run.index_state}): this is what is indexed so far"
        terminal.print((state, "bold yellow"))
    for kind, title in _KINDS.items():
        failed = [answer for answer in run.answers if answer.failure(run.k) == kind]
        if failed:
            terminal.print((f"{len(failed)} of {len(run.answers)} {title.format(k=run.k)}", "bold"))
        for answer in failed:
            _show_failure(terminal, answer)
    for line in run.bad_lines:
        terminal.print((f"line {line.line} ", "bold red"), f"is left out: {line.reason}")
    columns = dict.fromkeys((name for means in figures.values() for name in means), "–")
    numbers = {
        group: {name: f"{mean:.{3 * (name != 'questions')}f}" for name, mean in means.items()}
        for group, means in figures.items()
    }
    terminal.rows("figures", [{"": group, **columns, **numbers[group]} for group in figures])
    failed_count = sum(answer.failure(run.k) is not None for answer in run.answers)
    style = "bold yellow" if failed_count else "bold green"
    terminal.print((f"{len(run.answers)} questions to {run.tool or 'search_knowledge'}, {failed_count} listed", style))
    for bound in missed:
        terminal.print(("missed ", "bold red"), str(bound))
    if failed_question := next((answer.question for answer in run.answers if answer.failure(run.k) is not None), None):
        words = [failed_question.query, *(failed_question.gold or ())[:1], *(("--tool", run.tool) if run.tool else ())]
        terminal.next(f"sakuin explain {shlex.join(words)}")


def _show_failure(terminal: Terminal, answer: Answer) -> None:
    question = answer.question
    terminal.print("  ", (question.query, "yellow"), f"  {question.category}, line {question.line}")
    if question.gold:
        terminal.print("    expected ", (question.gold[0], "cyan"))
    terminal.print(f"    {answer.why}")
    names = " / ".join(result.title or result.id for result in answer.results[:_SHOWN])
    terminal.print((f"    first: {names or 'nothing'}", "dim"))
