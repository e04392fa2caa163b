"""`sakuin coverage`: which questions of an exam the pages teach, and what they teach that no question asks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import Invalid

from sakuin_cli.files import write_text
from sakuin_cli.options import (
    CACHE,
    CacheOption,
    DataOption,
    JsonOption,
    PathsArgument,
    PrefixOption,
    check_paths,
    output_file,
)
from sakuin_cli.terminal import Terminal, reporting_errors, shortened, tracked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sakuin_cli.evaluation.coverage import Coverage

# More probably taught than not.
_AT = 0.5
_LONGEST = 70


def coverage(
    exam: Annotated[
        Path,
        typer.Argument(
            metavar="EXAM",
            exists=True,
            dir_okay=False,
            help="The questions: the JSON document of a Table, or a page with a list of exercises.",
        ),
    ],
    paths: PathsArgument = None,
    at: Annotated[
        float,
        typer.Option("--at", metavar="P", min=0, max=1, help="From which probability a question counts as taught."),
    ] = _AT,
    field: Annotated[
        str | None,
        typer.Option(
            "--field",
            metavar="NAME",
            help="The member of a JSON object that has its question.",
            show_default="question, query, problem, exercise, 問題, text or content; else its longest text",
        ),
    ] = None,
    csv: Annotated[Path | None, output_file("--csv", "Write the table as CSV, too.")] = None,
    html: Annotated[Path | None, output_file("--html", "Write it as an HTML page, too.")] = None,
    prefix: PrefixOption = "",
    cache: CacheOption = CACHE,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Say which questions of an exam the built pages teach, and what they teach that it never asks.

    The pages need not be pushed. The deployment gives the vectors of texts that are new here.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.evaluation.coverage import Coverage, TeachingPages
        from sakuin_cli.evaluation.exam import exam_questions
        from sakuin_cli.prediction.evidence import SiteEvidence
        from sakuin_cli.prediction.prepare import prepare
        from sakuin_cli.site.config import site_of

        site = site_of(paths, prefix)
        check_paths(site.paths)
        questions = exam_questions(exam, field)
        with terminal.progress("embedded", "asked") as on_progress:
            ready = prepare(data, (site.paths,), site.prefix, cache, on_progress)
            if ready.lacks_vectors:
                # A search by words alone has another probability.
                raise Invalid(f"Some texts of the pages have no vector: {ready.reason}")
            (pages,) = ready.sites
            ask = TeachingPages(SiteEvidence(ready.predict, pages), at)
            answers = list(map(ask, tracked(questions, "asked", on_progress)))
        titles = {chunk.id: chunk.shown["title"] for name in sorted(pages.pages) for chunk in pages.pages[name].chunks}
        found = Coverage(answers, titles, at)
        if csv:
            # Spreadsheets take a file without this mark for one in another encoding.
            write_text(csv, f"\ufeff{found.as_csv()}")
        if html:
            write_text(html, found.page())
    terminal.answer(found.as_json(), lambda: _show(terminal, found))


def _show(terminal: Terminal, found: "Coverage") -> None:
    rows = [
        {
            "probability": "" if row["probability"] is None else f"{row['probability']:.2f}",
            "question": shortened(row["text"], _LONGEST),
            "taught by": shortened(", ".join(row["taught_by"]), _LONGEST) or _state(row),
        }
        for row in found.rows()
    ]
    terminal.rows("questions", rows)
    terminal.out.print(found.summary, style="bold")


def _state(row: "Mapping[str, Any]") -> str:
    """Returns the state of a row without an explanation; a question is named by its text, an explanation by its id."""
    return f"{row['state']}: {row['name']}" if row["probability"] is None else str(row["state"])
