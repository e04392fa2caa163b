"""`sakuin push`: uploads pages and waits until they are searchable."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Invalid, Misconfigured, SakuinError, Unavailable

from sakuin_cli.connections import bucket_of, deployment_of, settings_of
from sakuin_cli.files import read_bytes
from sakuin_cli.options import DataOption, JsonOption, PrefixOption, TimeoutOption, check_paths
from sakuin_cli.terminal import OnProgress, Terminal, reporting_errors
from sakuin_cli.waiting import await_upload_results, poll

if TYPE_CHECKING:
    from sakuin.platform.s3 import S3Bucket

    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.uploads import Upload, Uploads

_UPLOADS_AT_ONCE = 8
_HTML = "text/html; charset=utf-8"
_YAML = "application/yaml; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PushedFile:
    """The outcome of one file: `not_uploaded`, `pending` (no result yet), or the outcome of the index."""

    upload: "Upload"
    version_id: str | None
    outcome: str
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Returns whether its content, or a newer one, is in the index."""
        return self.outcome in ("applied", "superseded")


def push(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", exists=True, help="Folders, .html files, learns.yml or synonyms.yml."),
    ],
    prefix: PrefixOption = "",
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Upload pages and wait until they are searchable.

    The pages of a folder keep their paths below it.
    """
    from sakuin_cli.uploads import uploads_below

    check_paths(paths)
    with reporting_errors(as_json) as terminal:
        settings = settings_of(data)
        bucket, client = bucket_of(settings), deployment_of(settings)
        began = time.monotonic()
        with terminal.progress("uploaded", "searchable") as on_progress:
            uploads = uploads_below(paths, folder=prefix, material_prefix=settings.material_prefix)
            if not uploads.files and not uploads.clashes:
                where = ", ".join(path.as_posix() for path in paths)
                raise Invalid(f"There is no .html file and no learns.yml in {where}: name a folder of built pages")
            files = push_files(bucket, client, uploads, seconds=timeout, on_progress=on_progress)
        seconds = time.monotonic() - began
    if as_json:
        terminal.document(_document(files, uploads.skipped, seconds))
    else:
        _show(terminal, files, uploads.skipped, seconds)
    raise typer.Exit(0 if all(file.done for file in files) else 1)


def push_files(
    bucket: "S3Bucket", client: "DeploymentClient", uploads: "Uploads", *, seconds: float, on_progress: OnProgress
) -> list[PushedFile]:
    """Uploads files and waits until each is searchable or has failed; returns them ordered by key."""
    # A wrong key or address must fail before the upload.
    client.upload_results([])
    written: list[PushedFile] = []
    for file in _uploaded(bucket, uploads.files):
        written.append(file)
        on_progress("uploaded", len(written), len(uploads.files))
    finished = _with_results(client, written, seconds, on_progress)
    clashed = [PushedFile(one, None, "not_uploaded", uploads.clash_reason(one)) for one in uploads.clashes]
    return sorted((*finished, *clashed), key=lambda file: file.upload.key)


def _uploaded(bucket: "S3Bucket", uploads: "Sequence[Upload]") -> Iterator[PushedFile]:
    """Uploads learns.yml and synonyms.yml, then several pages at once; yields each file after its upload."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    alone = [upload for upload in uploads if upload.material is None] or uploads[:1]
    for upload in alone:
        # If the bucket does not answer here, the whole push fails with one sentence.
        yield _stored(bucket, upload)
    pool = ThreadPoolExecutor(_UPLOADS_AT_ONCE)
    try:
        tries = [pool.submit(_tried, bucket, upload) for upload in uploads[len(alone) :]]
        for stored in as_completed(tries):
            yield stored.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _tried(bucket: "S3Bucket", upload: "Upload") -> PushedFile:
    try:
        return _stored(bucket, upload)
    except Unavailable as error:
        return PushedFile(upload, None, "not_uploaded", str(error))


def _stored(bucket: "S3Bucket", upload: "Upload") -> PushedFile:
    try:
        body = read_bytes(upload.path)
        version_id = bucket.write(upload.key, body, content_type=_HTML if upload.material else _YAML)
    except Unavailable:
        raise
    except SakuinError as error:
        return PushedFile(upload, None, "not_uploaded", str(error))
    if not version_id:
        raise Misconfigured("The bucket has no versioning, which push needs: enable it")
    return PushedFile(upload, version_id, "pending")


def _with_results(
    client: "DeploymentClient", written: Sequence[PushedFile], seconds: float, on_progress: OnProgress
) -> list[PushedFile]:
    versions = [(file.upload.key, file.version_id) for file in written if file.version_id]
    try:
        results = await_upload_results(
            client, versions, poll(seconds), on_progress=lambda count: on_progress("searchable", count, len(versions))
        )
    except Unavailable as error:
        raise Unavailable(
            f"{len(versions)} files were uploaded, but their results could not be read. {error}. "
            "See `sakuin status` later"
        ) from error
    after: list[PushedFile] = []
    for file in written:
        if result := results.get((file.upload.key, file.version_id or "")):
            file = replace(file, outcome=result["outcome"], reason=result["reason"])
        elif file.version_id:
            wanted = "searchable" if file.upload.material else "applied"
            file = replace(file, reason=f"not {wanted} after {seconds:g} s; see `sakuin status`")
        after.append(file)
    return after


def _document(files: Sequence[PushedFile], skipped: int, seconds: float) -> dict[str, object]:
    pages = [file for file in files if file.upload.material is not None]
    beside = [file for file in files if file.upload.material is None]
    learns = [file for file in beside if file.upload.key.endswith("learns.yml")]
    return {
        "pushed": sum(page.done for page in pages),
        "failed": [
            {"path": file.upload.path, "key": file.upload.key, "reason": file.reason or file.outcome}
            for file in files
            if not file.done
        ],
        "skipped": skipped,
        "pages": [{**_file(page), "material": page.upload.material} for page in pages],
        "learns_files": [{**_file(file), "reason": file.reason} for file in learns],
        "synonyms_files": [{**_file(file), "reason": file.reason} for file in beside if file not in learns],
        "seconds": round(seconds, 3),
    }


def _file(file: PushedFile) -> dict[str, object]:
    upload = file.upload
    return {"path": upload.path, "key": upload.key, "version_id": file.version_id, "outcome": file.outcome}


def _show(terminal: Terminal, files: Sequence[PushedFile], skipped: int, seconds: float) -> None:
    from rich.text import Text

    out = terminal.out
    for file in files:
        if not file.done:
            sign = Text(
                "… " if file.outcome in ("waiting", "pending") else "✗ ", "yellow" if file.version_id else "red"
            )
            out.print(sign.append_text(Text(f"{file.upload.path}  ", "default")), soft_wrap=True, end="")
            out.print(f"{_LABELS.get(file.outcome, '')}{file.reason or ''}", soft_wrap=True)
        elif file.reason:
            out.print(Text.assemble(("! ", "yellow"), f"{file.upload.path}  {file.reason}"), soft_wrap=True)
    pages = [file for file in files if file.upload.material is not None]
    parts = [f"{sum(page.done for page in pages)} of {len(pages)} pages searchable"]
    if others := len(files) - len(pages):
        parts.append(f"{others} learns.yml or synonyms.yml")
    if skipped:
        parts.append(f"{skipped} other files skipped")
    style = "bold" if all(file.done for file in files) else "bold red"
    out.print(Text(f"{', '.join(parts)}, in {seconds:.1f} s", style))


_LABELS = {"waiting": "waits: ", "not_uploaded": "not uploaded: "}
