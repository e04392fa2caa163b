"""`sakuin learns`: lists missing and weak `learns`."""

from pathlib import Path
from typing import Annotated

import typer

from sakuin_cli.commands.authors.validate import report_findings
from sakuin_cli.options import JsonOption, PrefixOption
from sakuin_cli.terminal import reporting_errors


def learns(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            exists=True,
            file_okay=False,
            help="A folder of built pages.",
            show_default="`pages` of sakuin.toml",
        ),
    ] = None,
    prefix: PrefixOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the explanations whose learns are missing or weak; exit code 1 if a file cannot be read."""
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.site.config import site_of
        from sakuin_cli.site.findings import learns_findings
        from sakuin_cli.site.uploads import no_page_in, uploads_below

        site = site_of([path] if path else None, prefix)
        uploads = uploads_below(site.paths, folder=site.prefix)
        if not uploads.pages:
            raise no_page_in(site.paths)
        with terminal.progress("read") as on_progress:
            findings = learns_findings(uploads, on_progress)
    report_findings(terminal, findings)
