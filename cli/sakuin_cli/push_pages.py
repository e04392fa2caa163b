"""Pages on this machine become searchable."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Literal

from sakuin.domain.material_version import Outcome
from sakuin.errors import Invalid, Misconfigured, SakuinError, Unavailable
from sakuin.ports.materials import MaterialBucket

from sakuin_cli.await_receipts import AwaitReceipts
from sakuin_cli.ports import LocalFiles
from sakuin_cli.uploads import Upload, clash_reason, uploads_of

Phase = Literal["uploaded", "searchable"]
# Phase, how many are done, of how many.
Told = Callable[[Phase, int, int], None]

_UPLOADS_AT_ONCE = 8
_HTML = "text/html; charset=utf-8"
_YAML = "application/yaml; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PushedFile:
    """What became of one file. `pending` was uploaded and is not known to be searchable."""

    upload: Upload
    version_id: str | None
    outcome: Outcome | Literal["not_uploaded", "pending"]
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Whether its content, or a newer one, is in the index."""
        return self.outcome in ("applied", "superseded")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of all files; `skipped` ones are neither pages nor `learns.yml`."""

    files: tuple[PushedFile, ...]
    skipped: int
    seconds: float

    @property
    def failed(self) -> tuple[PushedFile, ...]:
        """The files whose content is not in the index."""
        return tuple(file for file in self.files if not file.done)


@dataclass(frozen=True, slots=True)
class PushPages:
    """Uploads files through the bucket and waits until the versions it wrote are searchable, or have failed."""

    files: LocalFiles
    bucket: MaterialBucket
    receipts: AwaitReceipts
    material_prefix: str

    def __call__(self, paths: Sequence[str], *, folder: str, seconds: float, told: Told) -> Pushed:
        """Pushes what lies below `paths`, into `folder` of the library, and waits `seconds` at most."""
        began = self.receipts.clock()
        places = [(file.path, file.place) for path in paths for file in self.files.below(path)]
        uploads = uploads_of(places, folder=folder, material_prefix=self.material_prefix)
        if not uploads.files and not uploads.clashes:
            raise Invalid(
                f"There is no .html file and no learns.yml in {', '.join(paths)}: name a folder of built pages"
            )
        # A wrong key or address must not leave pages behind that nobody waits for.
        self.receipts.library.receipts([])
        written: list[PushedFile] = []
        for file in self._written(uploads.files):
            written.append(file)
            told("uploaded", len(written), len(uploads.files))
        awaited = self._awaited(written, seconds, told)
        clashed = (
            PushedFile(file, None, "not_uploaded", clash_reason(file, uploads.clashes)) for file in uploads.clashes
        )
        files = sorted((*awaited, *clashed), key=lambda file: file.upload.key)
        return Pushed(tuple(files), uploads.skipped, self.receipts.clock() - began)

    def _written(self, uploads: Sequence[Upload]) -> Iterator[PushedFile]:
        """Each file when it is stored: the `learns.yml` files, then several pages at once."""
        alone = [upload for upload in uploads if upload.material is None] or uploads[:1]
        for upload in alone:
            # A bucket that does not answer here fails the whole push: one sentence, not one for each page.
            yield self._stored(upload)
        pool = ThreadPoolExecutor(_UPLOADS_AT_ONCE)
        try:
            for stored in as_completed(pool.submit(self._tried, upload) for upload in uploads[len(alone) :]):
                yield stored.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _tried(self, upload: Upload) -> PushedFile:
        try:
            return self._stored(upload)
        except Unavailable as error:
            return PushedFile(upload, None, "not_uploaded", str(error))

    def _stored(self, upload: Upload) -> PushedFile:
        try:
            body = self.files.read(upload.path)
            version_id = self.bucket.write(upload.key, body, content_type=_HTML if upload.material else _YAML)
        except Unavailable:
            raise
        except SakuinError as error:
            return PushedFile(upload, None, "not_uploaded", str(error))
        if not version_id:
            raise Misconfigured(
                "The bucket keeps no versions, so nobody can tell when a page is searchable: enable them"
            )
        return PushedFile(upload, version_id, "pending")

    def _awaited(self, written: Sequence[PushedFile], seconds: float, told: Told) -> list[PushedFile]:
        versions = [(file.upload.key, file.version_id) for file in written if file.version_id]
        try:
            receipts = self.receipts(
                versions, seconds=seconds, arrived=lambda count: told("searchable", count, len(versions))
            )
        except Unavailable as error:
            raise Unavailable(
                f"{len(versions)} files were uploaded, but what became of them cannot be asked. {error}. "
                "Look at `sakuin status` later"
            ) from error
        known = [receipts.get((file.upload.key, file.version_id or "")) for file in written]
        return [
            replace(file, outcome=receipt.outcome, reason=receipt.reason)
            if receipt
            else replace(file, reason=file.reason or _late(file.upload, seconds))
            for file, receipt in zip(written, known, strict=True)
        ]


def _late(upload: Upload, seconds: float) -> str:
    awaited = "searchable" if upload.material else "applied"
    return f"not {awaited} after {seconds:g} s; look at `sakuin status`"
