"""`sakuin validate`: compares the index with the pages in the bucket or on this machine."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Invalid, NotFound, UnreadablePage

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.files import read_bytes
from sakuin_cli.options import DataOption, JsonOption, PrefixOption, StrictOption, check_paths
from sakuin_cli.terminal import OnProgress, Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin.knowledge.validation import Finding, IndexedMaterial

    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.uploads import Upload, Uploads

# A function has 30 seconds for a request, and reads each page again.
_PAGES_A_REQUEST = 50


def validate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", exists=True, help="Check only these pages, as they are on this machine."),
    ] = None,
    strict: StrictOption = False,
    prefix: PrefixOption = "",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Compare the index with the HTML; exit code 1 on errors.

    Without PATH it checks the uploaded pages, with --prefix those of one folder.
    """
    from sakuin_cli.uploads import folder_path, uploads_below

    check_paths(paths or ())
    with reporting_errors(as_json) as terminal:
        settings = settings_of(data)
        client = deployment_of(settings)
        with terminal.progress("checked") as on_progress:
            if paths:
                uploads = uploads_below(paths, folder=prefix, material_prefix=settings.material_prefix)
                if not uploads.pages and not uploads.clashes:
                    where = ", ".join(path.as_posix() for path in paths)
                    raise Invalid(f"There is no .html file in {where}: name a folder of built pages")
                found = _local_findings(client, uploads, settings.box_selectors, strict, on_progress)
            else:
                found = _uploaded_findings(client, folder_path(prefix), strict, on_progress)
    order = ("error", "warning", "info")
    findings = sorted(found, key=lambda finding: (order.index(finding.severity), finding.material))
    errors = sum(finding.severity == "error" for finding in findings)
    if as_json:
        terminal.document(_document(findings, errors))
    else:
        _show(terminal, findings, errors)
    raise typer.Exit(1 if errors else 0)


def _uploaded_findings(
    client: "DeploymentClient", folder: str, strict: bool, on_progress: OnProgress
) -> "list[Finding]":
    """Returns findings about the pages in the bucket below `folder`."""
    total = sum(client.status()["materials"].values())
    findings: list[Finding] = []
    after: str | None = None
    checked = 0
    while True:
        found, after = client.findings(prefix=folder, after=after, strict=strict, limit=_PAGES_A_REQUEST)
        findings += found
        checked += _PAGES_A_REQUEST
        on_progress("checked", total if after is None else min(checked, total), total)
        if after is None:
            return findings


def _local_findings(
    client: "DeploymentClient", uploads: "Uploads", box_selectors: Sequence[str], strict: bool, on_progress: OnProgress
) -> "list[Finding]":
    """Returns findings about pages on this machine, before they are pushed."""
    from sakuin.knowledge.validation import Finding

    indexed = client.indexed([page.material for page in uploads.pages if page.material])
    reasons = [(upload, f"{upload.path!r}: {uploads.clash_reason(upload)}.") for upload in uploads.clashes]
    findings = [Finding("error", "same-key", upload.material or upload.key, None, why) for upload, why in reasons]
    for number, page in enumerate(uploads.pages, 1):
        findings += _page_findings(page, indexed.get(page.material or ""), box_selectors, strict)
        on_progress("checked", number, len(uploads.pages))
    return findings


def _page_findings(
    upload: "Upload", indexed: "IndexedMaterial | None", box_selectors: Sequence[str], strict: bool
) -> "Sequence[Finding]":
    from sakuin.knowledge.reading.page_reader import read_page
    from sakuin.knowledge.validation import findings_of_page, unreadable_page

    material = upload.material or upload.key
    try:
        page = read_page(read_bytes(upload.path), box_selectors=box_selectors)
    except (UnreadablePage, NotFound) as error:
        return [unreadable_page(material, str(error))]
    return findings_of_page(material, page, indexed, strict=strict)


def _document(findings: "Sequence[Finding]", errors: int) -> dict[str, object]:
    return {
        "errors": errors,
        "warnings": _warnings(findings),
        "findings": [asdict(finding) for finding in findings],
    }


def _show(terminal: Terminal, findings: "Sequence[Finding]", errors: int) -> None:
    from rich.text import Text

    out = terminal.out
    styles = {"error": "red", "warning": "yellow", "info": "cyan"}
    by_material = sorted(findings, key=lambda finding: finding.material)
    for material, some in groupby(by_material, lambda finding: finding.material):
        out.print(Text(material, "bold"), soft_wrap=True)
        for finding in some:
            severity = (f"{finding.severity:<8}", styles[finding.severity])
            line = Text.assemble("  ", severity, (f"{finding.rule:<16} ", "dim"), finding.message)
            out.print(line, soft_wrap=True)
        out.print()
    warnings = _warnings(findings)
    summary = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    out.print(Text(summary, "bold red" if errors else "bold yellow" if warnings else "bold green"))


def _warnings(findings: "Sequence[Finding]") -> int:
    return sum(finding.severity == "warning" for finding in findings)
