"""`sakuin eval`: the quality of answers, measured with labelled questions."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import deployment
from sakuin_cli.evaluation.labels import BadLine, LabelledQuestion, labelled_questions
from sakuin_cli.files import read_text, write_text
from sakuin_cli.options import DataOption, IndexOption, JsonOption, PrefixOption, input_file, output_file
from sakuin_cli.terminal import reporting_errors


def eval(
    queries: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES", dir_okay=False, help='JSON Lines: "query", "gold" and, if wanted, "category" and "half".'
        ),
    ],
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="A Search Tool; gold then contains json_pointers.")
    ] = None,
    index: IndexOption = None,
    k: Annotated[int, typer.Option("--k", min=1, max=50, help="How many results count.")] = 5,
    save: Annotated[Path | None, output_file("--save", "Save the run to this file.", metavar="RUN")] = None,
    compare: Annotated[
        Path | None, input_file("--compare", "Compare with a saved run, question by question.", metavar="RUN")
    ] = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            "--min", metavar="M=V", help="A floor: recall@5=0.85, of a category typo:hit@5=0.9; may be repeated."
        ),
    ] = None,
    at_most: Annotated[
        list[str] | None, typer.Option("--max", metavar="M=V", help="A ceiling: refused=0.02; may be repeated.")
    ] = None,
    bootstrap: Annotated[
        bool,
        typer.Option(
            "--bootstrap",
            help="Ask nothing: write a starter set of questions to QUERIES, a new file, for people to edit.",
        ),
    ] = False,
    feedback: Annotated[
        bool, typer.Option("--feedback", help="For --bootstrap: the questions that agents said a result answered.")
    ] = False,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            exists=True,
            help="Pages or a JSON document of a Table, for --bootstrap; may be repeated.",
            show_default="`pages` of sakuin.toml",
        ),
    ] = None,
    prefix: PrefixOption = "",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Measure answer quality; exit code 1 if a floor is missed or a line of QUERIES is invalid."""
    if bootstrap:
        with reporting_errors(as_json) as terminal:
            with terminal.waiting():
                written = _write_starter_set(queries, sources or (), prefix, data, feedback=feedback)
            terminal.fields(written)
        return
    if sources or prefix or feedback:
        option = "--from" if sources else "--prefix" if prefix else "--feedback"
        raise typer.BadParameter("It is for --bootstrap", param_hint=option)
    if not queries.is_file():
        raise typer.BadParameter(f"File '{queries}' does not exist.", param_hint="QUERIES")
    from sakuin_cli.evaluation.ask import ask_all
    from sakuin_cli.evaluation.floors import floor_of
    from sakuin_cli.evaluation.report import report_of
    from sakuin_cli.evaluation.run import SINGLE_LEGS, run_in

    with reporting_errors(as_json) as terminal:
        questions, bad_lines = _questions(queries)
        floors = [*(floor_of("min", one) for one in at_least or ()), *(floor_of("max", one) for one in at_most or ())]
        before = run_in(read_text(compare)) if compare else None
        client = deployment(data)
        with terminal.progress("asked") as on_progress:
            run = ask_all(client, questions, tool=tool, k=k, legs=SINGLE_LEGS, index=index, on_progress=on_progress)
        run = replace(run, bad_lines=tuple(sorted((*bad_lines, *run.bad_lines), key=lambda one: one.line)))
        if save is not None:
            write_text(save, json.dumps(run.as_json(), ensure_ascii=False) + "\n")
        report = report_of(run, before=before, floors=floors)
    if as_json:
        terminal.document(report.as_json())
    else:
        from sakuin_cli.evaluation.tables import show

        show(terminal.out, report)
    raise typer.Exit(0 if report.is_clean else 1)


def _write_starter_set(
    file: Path, sources: Sequence[Path], prefix: str, data: Path | None, *, feedback: bool
) -> dict[str, object]:
    from sakuin_cli.evaluation.bootstrap import as_lines, judged_questions, starter_questions
    from sakuin_cli.evaluation.passages import passages_below
    from sakuin_cli.site.config import site_of

    if file.exists():
        raise Invalid(f"{file} exists already: name a new file, so that no edited questions are lost")
    if feedback:
        judged = judged_questions(deployment(data).call("GET", "feedback")["feedback"], prefix)
        write_text(file, as_lines(judged))
        return {"file": str(file), "questions": len(judged)}
    site = site_of(sources, prefix)
    passages = passages_below(site.paths, folder=site.prefix)
    questions = starter_questions(passages)
    write_text(file, as_lines(questions))
    return {"file": str(file), "questions": len(questions), "passages": len(passages)}


def _questions(file: Path) -> tuple[list[LabelledQuestion], list[BadLine]]:
    questions, bad = labelled_questions(read_text(file))
    if not questions:
        first = f": line {bad[0].line}, {bad[0].reason}" if bad else ""
        raise Invalid(f"{file} has no question{first}")
    return questions, bad
