"""`sakuin rm`: deletes pages and waits until they are not searchable."""

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Unavailable

from sakuin_cli.connections import bucket_of, deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption, TimeoutOption
from sakuin_cli.terminal import OnProgress, Terminal, reporting_errors
from sakuin_cli.waiting import await_upload_results, poll

if TYPE_CHECKING:
    from sakuin.platform.s3 import S3Bucket

    from sakuin_cli.client import DeploymentClient


@dataclass(frozen=True, slots=True)
class RemovedPage:
    """The outcome of one material; `key` and `version_id` (of the delete marker) are None if it was not removed."""

    material: str
    key: str | None
    version_id: str | None
    outcome: str
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Returns whether it is removed from the index."""
        return self.outcome == "applied"


def rm(
    materials: Annotated[
        list[str], typer.Argument(metavar="MATERIAL", help="Names as in search results, without .html.")
    ],
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Delete pages and wait until they are no longer searchable."""
    with reporting_errors(as_json) as terminal:
        settings = settings_of(data)
        bucket, client = bucket_of(settings), deployment_of(settings)
        began = time.monotonic()
        with terminal.progress("removed") as on_progress:
            pages = remove_pages(bucket, client, materials, seconds=timeout, on_progress=on_progress)
        seconds = time.monotonic() - began
    if as_json:
        terminal.document(_document(pages, seconds))
    else:
        _show(terminal, pages, seconds)
    raise typer.Exit(0 if all(page.done for page in pages) else 1)


def remove_pages(
    bucket: "S3Bucket",
    client: "DeploymentClient",
    materials: Sequence[str],
    *,
    seconds: float,
    on_progress: OnProgress,
) -> list[RemovedPage]:
    """Deletes pages from the bucket and waits until the index has removed them; a failure does not stop the others."""
    names = dict.fromkeys(unicodedata.normalize("NFC", name) for name in materials)
    pages = [_deleted(bucket, client, name) for name in names]
    versions = [(page.key, page.version_id) for page in pages if page.key and page.version_id]
    results = await_upload_results(
        client, versions, poll(seconds), on_progress=lambda count: on_progress("removed", count, len(versions))
    )
    after: list[RemovedPage] = []
    for page in pages:
        if result := results.get((page.key or "", page.version_id or "")):
            newer = "a newer version was uploaded at the same time; it stays"
            reason = result["reason"] or (newer if result["outcome"] == "superseded" else None)
            page = replace(page, outcome=result["outcome"], reason=reason)
        elif page.outcome == "pending":
            page = replace(page, reason=f"still searchable after {seconds:g} s; see `sakuin status`")
        after.append(page)
    return after


def _deleted(bucket: "S3Bucket", client: "DeploymentClient", material: str) -> RemovedPage:
    # The stored key: its spelling may differ from the one of `push`.
    record = client.material(material)
    if record is None:
        reason = "there is no such material; search results have its name as `material`"
        return RemovedPage(material, None, None, "not_removed", reason)
    try:
        return RemovedPage(material, record["key"], bucket.remove(record["key"]), "pending")
    except Unavailable as error:
        return RemovedPage(material, record["key"], None, "not_removed", str(error))


def _document(pages: Sequence[RemovedPage], seconds: float) -> dict[str, object]:
    return {
        "removed": sum(page.done for page in pages),
        "failed": [
            {"material": page.material, "key": page.key, "reason": page.reason or page.outcome}
            for page in pages
            if not page.done
        ],
        "materials": [
            {"material": page.material, "key": page.key, "version_id": page.version_id, "outcome": page.outcome}
            for page in pages
        ],
        "seconds": round(seconds, 3),
    }


def _show(terminal: Terminal, pages: Sequence[RemovedPage], seconds: float) -> None:
    from rich.text import Text

    failed = [page for page in pages if not page.done]
    for page in failed:
        reason = page.reason or page.outcome
        terminal.out.print(Text.assemble(("✗ ", "red"), f"{page.material}  {reason}"), soft_wrap=True)
    summary = f"{len(pages) - len(failed)} of {len(pages)} removed, in {seconds:.1f} s"
    terminal.out.print(Text(summary, "bold red" if failed else "bold"))
