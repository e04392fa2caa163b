"""Uploads to the library and deletions from it, until the index has applied them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.knowledge.learns.authored import learns_keys, parse_learns
from sakuin.knowledge.names import LEARNS_FILE, material_of_key

from sakuin_cli.client import portions
from sakuin_cli.files import read_bytes
from sakuin_cli.site.pages import content_of
from sakuin_cli.terminal import OnProgress
from sakuin_cli.waiting import await_upload_results, poll

if TYPE_CHECKING:
    from sakuin.knowledge.page import IndexedChunk

    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.uploads import Upload, Uploads

# The lists that are expected, by material and anchor.
Waiting = dict[str, Mapping[str, tuple[str, ...]]]

_UPLOADS_AT_ONCE, _UPLOADS_A_REQUEST = 8, 100


@dataclass(frozen=True, slots=True)
class Change:
    """The outcome of one file or deletion.

    `outcome` is `not_uploaded` or `not_removed`, `pending` (no result yet), or the outcome of the index. `path` is the
    file, None for a deletion; `material` is None for a `learns.yml` and a `synonyms.yml`; `version_id` is that of the
    upload or of the delete marker.
    """

    key: str | None
    material: str | None
    path: str | None
    version_id: str | None
    outcome: str
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Returns whether the index has applied it, or something newer."""
        return self.outcome == "applied" or (self.path is not None and self.outcome == "superseded")


def push_files(library: "LibraryFiles", uploads: "Uploads", *, seconds: float, on_progress: OnProgress) -> list[Change]:
    """Uploads files and waits until each is searchable or has failed; returns them ordered by key."""
    written: list[Change] = []
    for file in _uploaded(library, uploads.files):
        written.append(file)
        on_progress("uploaded", len(written), len(uploads.files))
    try:
        finished = _with_results(library.client, written, seconds, "searchable", on_progress)
    except Unavailable as error:
        number = sum(file.version_id is not None for file in written)
        raise Unavailable(
            f"{number} files were uploaded, but their results could not be read. {error}. See `sakuin status` later"
        ) from error
    clashed = [not_uploaded(one, uploads.clash_reason(one)) for one in uploads.clashes]
    return sorted((*finished, *clashed), key=lambda file: file.key or "")


def remove_keys(
    library: "LibraryFiles", keys: "Sequence[tuple[str, str | None]]", *, seconds: float, on_progress: OnProgress
) -> list[Change]:
    """Deletes `(key, material)` and waits until the index has removed them; a failure does not stop the others."""
    removed = [_removed(library, key, material) for key, material in keys]
    newer = "a newer version was uploaded at the same time; it stays"
    return [
        replace(one, reason=newer) if one.outcome == "superseded" and one.reason is None else one
        for one in _with_results(library.client, removed, seconds, "removed", on_progress)
    ]


def await_learns(library: "LibraryFiles", changes: Sequence[Change], *, seconds: float) -> list[Change]:
    """Waits until pages have the `learns` of the files that were pushed; a file whose pages still wait is pending.

    Entries that another `learns.yml` may replace, in a folder nearer to the page, are not waited for.
    """
    stored = library.etags()
    waiting: dict[str, Waiting] = {}
    for one in changes:
        if one.done and one.path is not None and (one.key or "").endswith(LEARNS_FILE):
            parsed = parse_learns(read_bytes(one.path))
            pages = {key: material_of_key(key, prefix=library.prefix) or "" for key in stored if key.endswith(".html")}
            nearest = {key: next((k for k in learns_keys(key, library.prefix) if k in stored), "") for key in pages}
            named = {name: parsed.for_material(name) for key, name in pages.items() if nearest[key] == one.key}
            waiting[one.key or ""] = {name: lists for name, lists in named.items() if lists}
    for _ in poll(seconds) if any(waiting.values()) else ():
        indexed = library.client.indexed({name for lists_of in waiting.values() for name in lists_of})
        for lists_of in waiting.values():
            for name in [name for name, lists in lists_of.items() if _has_learns(indexed.get(name, ()), lists)]:
                del lists_of[name]
        if not any(waiting.values()):
            break
    late = {key: f"{len(some)} of its pages wait; see `sakuin status`" for key, some in waiting.items() if some}
    return [replace(one, outcome="pending", reason=late[one.key]) if one.key in late else one for one in changes]


def _has_learns(chunks: "Sequence[IndexedChunk]", lists: Mapping[str, tuple[str, ...]]) -> bool:
    return all(chunk.learns_given == lists[chunk.anchor] for chunk in chunks if chunk.anchor in lists)


def not_uploaded(upload: "Upload", reason: str) -> Change:
    """Returns the outcome of a file that is left out."""
    return Change(upload.key, upload.material, upload.path, None, "not_uploaded", reason)


def _removed(library: "LibraryFiles", key: str, material: str | None) -> Change:
    try:
        return Change(key, material, None, library.remove(key), "pending")
    except Unavailable as error:
        return Change(key, material, None, None, "not_removed", str(error))


def _uploaded(library: "LibraryFiles", uploads: "Sequence[Upload]") -> Iterator[Change]:
    """Uploads learns.yml and synonyms.yml, then several pages at once; yields each file after its upload."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    alone = [upload for upload in uploads if upload.material is None] or uploads[:1]
    for some in portions(alone, _UPLOADS_A_REQUEST):
        library.announce(some)
        # If the bucket does not answer here, the whole push fails with one sentence.
        yield from (_stored(library, upload) for upload in some)
    pool = ThreadPoolExecutor(_UPLOADS_AT_ONCE)
    try:
        for some in portions(uploads[len(alone) :], _UPLOADS_A_REQUEST):
            library.announce(some)
            for stored in as_completed([pool.submit(_tried, library, upload) for upload in some]):
                yield stored.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _tried(library: "LibraryFiles", upload: "Upload") -> Change:
    try:
        return _stored(library, upload)
    except Unavailable as error:
        return not_uploaded(upload, str(error))


def _stored(library: "LibraryFiles", upload: "Upload") -> Change:
    try:
        version_id = library.write(upload.key, content_of(upload.path))
    except (Misconfigured, Unavailable):
        raise
    except SakuinError as error:
        return not_uploaded(upload, str(error))
    if not version_id:
        raise Misconfigured("The bucket has no versioning, which push needs: enable it")
    return Change(upload.key, upload.material, upload.path, version_id, "pending")


def _with_results(
    client: "DeploymentClient", changes: Sequence[Change], seconds: float, phase: str, on_progress: OnProgress
) -> list[Change]:
    versions = [(one.key, one.version_id) for one in changes if one.key and one.version_id]
    results = await_upload_results(
        client, versions, poll(seconds), on_progress=lambda count: on_progress(phase, count, len(versions))
    )
    late = sorted(set(versions) - results.keys())
    reasons = client.upload_results(late)[1] if late else {}
    after: list[Change] = []
    for one in changes:
        if result := results.get((one.key or "", one.version_id or "")):
            one = replace(one, outcome=result["outcome"], reason=result["reason"])
        elif one.outcome == "pending":
            missing = "still searchable" if one.path is None else "not searchable" if one.material else "not applied"
            reason = reasons.get(one.key or "", f"{missing} after {seconds:g} s")
            one = replace(one, reason=f"{reason}; see `sakuin status`")
        after.append(one)
    return after
