"""`sakuin check`: predicts what a change of pages does to the answers of golden questions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import deployment_if_any, settings_if_any
from sakuin_cli.files import read_text, write_text
from sakuin_cli.options import DataOption, JsonOption, PathsArgument, PrefixOption, check_paths
from sakuin_cli.terminal import OnProgress, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.evaluation.labels import LabelledQuestion
    from sakuin_cli.prediction.report import Report
    from sakuin_cli.settings import CommandSettings
    from sakuin_cli.site.config import Site

_CACHE = Path("~/.cache/sakuin/check.sqlite")


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
        typer.Option(
            "--golden",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="The golden questions, as `sakuin eval` reads them.",
            show_default="golden.jsonl beside sakuin.toml, in the named folder or here",
        ),
    ] = None,
    prefix: PrefixOption = "",
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write a comment for a pull request, too.")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0, too.")
    ] = None,
    cache: Annotated[
        Path, typer.Option("--cache", metavar="FILE", dir_okay=False, help="Where vectors and read pages are kept.")
    ] = _CACHE,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Predict which golden questions lose their answer by a change of pages; exit code 1 if one does.

    The deployment gives the vectors of texts that are new here. Without it, those of the cache are used.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.site.config import site_of

        site = site_of(paths, prefix)
        check_paths(site.paths)
        questions = _questions(golden or site.golden)
        settings = settings_if_any(data)
        with terminal.progress("embedded", "asked") as on_progress:
            report = _report(site, before, questions, settings, cache.expanduser(), on_progress)
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
        terminal.out.print(report.summary, style="bold red" if report.lost else "bold", soft_wrap=True)
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


def _report(
    site: "Site",
    before: Path,
    questions: "list[LabelledQuestion]",
    settings: "CommandSettings",
    file: Path,
    on_progress: OnProgress,
) -> "Report":
    from sakuin.errors import SakuinError
    from sakuin.retrieval.weights import weights_of

    from sakuin_cli.prediction.answers import Predict
    from sakuin_cli.prediction.cache import Cache
    from sakuin_cli.prediction.changes import losses
    from sakuin_cli.prediction.pages import predicted_site
    from sakuin_cli.prediction.report import Report
    from sakuin_cli.prediction.vectors import Vectors, index_version
    from sakuin_cli.site.uploads import uploads_below

    cache, client = Cache(file), deployment_if_any(settings)
    reason = None
    try:
        version = index_version(cache, client)
    except SakuinError as error:
        version, client, reason = index_version(cache, None), None, str(error)
    prefix = settings.material_prefix
    old, new = (
        predicted_site(
            uploads_below(folders, folder=site.prefix, material_prefix=prefix), version, cache, material_prefix=prefix
        )
        for folders in ((before,), site.paths)
    )
    new = new.after(old)
    vectors = Vectors(cache, version.space, client)
    texts = {name: text for each in (old, new) for page in each.pages.values() for name, text in page.texts.items()}
    missing = vectors.fetch(texts, on_progress)
    predict = Predict(version, weights_of(version.model.name), vectors)
    found = predict.predictions(old, new, questions, lacks_vectors=missing is not None, on_progress=on_progress)
    folders = before.as_posix(), site.paths[0].as_posix()
    return Report(found, losses(found, old, new, folders), reason or missing)


def _write_sarif(file: Path, report: "Report") -> None:
    from sakuin_cli.site.sarif import sarif_log

    causes = [one.cause for one in report.losses]
    paths = {cause.id.rpartition("#")[0]: cause.path for cause in causes}
    log = sarif_log(report.findings(), paths, {cause.id: cause.line for cause in causes})
    write_text(file, json.dumps(log, ensure_ascii=False, indent=2) + "\n")
