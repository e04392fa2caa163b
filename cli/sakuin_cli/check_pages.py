"""Whether the index and the pages agree: those in the bucket, or those on this machine before they are pushed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sakuin.domain.page import DEFAULT_BOX_SELECTORS
from sakuin.domain.reading import read_page
from sakuin.domain.validation import (
    Finding,
    IndexedMaterial,
    Report,
    findings_of_page,
    unreadable_page,
)
from sakuin.errors import Invalid, NotFound, UnreadablePage

from sakuin_cli.ports import DeployedLibrary, LocalFiles
from sakuin_cli.uploads import Upload, clash_reason, folder_path, uploads_of

# How many materials are checked, of how many.
Told = Callable[[int, int], None]

# A function has 30 seconds for an answer, and reads each page anew.
_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class CheckPages:
    """Reports what is missing, doubled, unnamed or leads nowhere. With `strict` a box without an id is an error."""

    files: LocalFiles
    library: DeployedLibrary
    material_prefix: str
    box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS

    def whole(self, *, folder: str, strict: bool, told: Told) -> Report:
        """The pages in the bucket, those below `folder` of the library."""
        total = sum(self.library.counts().materials.values())
        findings: list[Finding] = []
        after: str | None = None
        checked = 0
        while True:
            found, after = self.library.findings(prefix=folder_path(folder), after=after, strict=strict, limit=_AT_ONCE)
            findings += found
            checked += _AT_ONCE
            told(total if after is None else min(checked, total), total)
            if after is None:
                return Report.of(findings)

    def local(self, paths: Sequence[str], *, folder: str, strict: bool, told: Told) -> Report:
        """The pages below `paths`, as if they were pushed into `folder`."""
        places = [(file.path, file.place) for path in paths for file in self.files.below(path)]
        uploads = uploads_of(places, folder=folder, material_prefix=self.material_prefix)
        if not uploads.pages and not uploads.clashes:
            raise Invalid(f"There is no .html file in {', '.join(paths)}: name a folder of built pages")
        indexed = self.library.indexed([page.material for page in uploads.pages if page.material])
        findings = [_clash(upload, uploads.clashes) for upload in uploads.clashes]
        for number, page in enumerate(uploads.pages, 1):
            findings += self._judged(page, indexed.get(page.material or ""), strict=strict)
            told(number, len(uploads.pages))
        return Report.of(findings)

    def _judged(self, upload: Upload, indexed: IndexedMaterial | None, *, strict: bool) -> Sequence[Finding]:
        material = upload.material or upload.key
        try:
            page = read_page(self.files.read(upload.path), box_selectors=self.box_selectors)
        except (UnreadablePage, NotFound) as error:
            return [unreadable_page(material, str(error))]
        return findings_of_page(material, page, indexed, strict=strict)


def _clash(upload: Upload, clashes: Sequence[Upload]) -> Finding:
    return Finding(
        "error", "same-key", upload.material or upload.key, None, f"{upload.path!r}: {clash_reason(upload, clashes)}."
    )
