"""`sakuin check`: predicts what a change of pages does to the answers of golden questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.files import read_text, write_text
from sakuin_cli.options import (
    CACHE,
    CacheOption,
    DataOption,
    JsonOption,
    PathsArgument,
    PrefixOption,
    check_paths,
    input_file,
    output_file,
)
from sakuin_cli.terminal import reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.evaluation.labels import LabelledQuestion
    from sakuin_cli.prediction.report import Report


def check(
    before: Annotated[
        Path,
        typer.Option(
            "--before",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="The pages before the change, as they were built.",
        ),
    ],
    paths: PathsArgument = None,
    golden: Annotated[
        Path | None,
        input_file(
            "--golden",
            "The golden questions, as `sakuin eval` reads them.",
            default="golden.jsonl beside sakuin.toml, in the named folder or here",
        ),
    ] = None,
    prefix: PrefixOption = "",
    markdown: Annotated[Path | None, output_file("--markdown", "Write a comment for a pull request, too.")] = None,
    sarif: Annotated[Path | None, output_file("--sarif", "Write the findings as SARIF 2.1.0, too.")] = None,
    cache: CacheOption = CACHE,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Predict which golden questions lose their answer by a change of pages; exit code 1 if one does.

    The deployment gives the vectors of texts that are new here. Without it, those of the cache are used.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.prediction.changes import losses
        from sakuin_cli.prediction.prepare import prepare
        from sakuin_cli.prediction.report import Report
        from sakuin_cli.site.config import site_of

        site = site_of(paths, prefix)
        check_paths(site.paths)
        questions = _questions(golden or site.golden)
        with terminal.progress("embedded", "asked") as on_progress:
            ready = prepare(data, ((before,), site.paths), site.prefix, cache, on_progress)
            old, new = ready.sites
            found = ready.predict.predictions(
                *(old, new, questions), lacks_vectors=ready.lacks_vectors, on_progress=on_progress
            )
        folders = before.as_posix(), site.paths[0].as_posix()
        report = Report(found, losses(found, old, new, folders), ready.reason)
        if markdown:
            write_text(markdown, report.markdown())
        if sarif:
            _write_sarif(sarif, report)
    if as_json:
        terminal.document(report.as_json())
    else:
        for line in report.lines():
            terminal.line("✗", "red", line)
        if unpredicted := report.unpredicted:
            terminal.line("!", "yellow", unpredicted)
        terminal.out.print(report.summary, style="bold red" if report.lost else "bold")
    raise typer.Exit(1 if report.lost else 0)


def _questions(file: Path | None) -> "list[LabelledQuestion]":
    from sakuin_cli.evaluation.labels import labelled_questions

    if file is None:
        raise typer.BadParameter(
            "There is no golden.jsonl: write one with `sakuin eval golden.jsonl --bootstrap`, or name another file",
            param_hint="--golden",
        )
    questions, bad = labelled_questions(read_text(file))
    if bad or not questions:
        reason = f"line {bad[0].line}, {bad[0].reason}" if bad else "it has no question"
        raise typer.BadParameter(f"{file}: {reason}", param_hint="--golden")
    return questions


def _write_sarif(file: Path, report: "Report") -> None:
    from sakuin_cli.site.sarif import write_sarif

    causes = [one.cause for one in report.losses]
    paths = {cause.id.rpartition("#")[0]: cause.path for cause in causes}
    write_sarif(file, report.findings(), paths, {cause.id: cause.line for cause in causes})
