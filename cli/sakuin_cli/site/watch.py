"""Follows the files of a folder: pushes what changed, and says which explanations did."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sakuin.errors import NotFound, SakuinError, UnreadablePage
from sakuin.knowledge.page import Page

from sakuin_cli.rest import Record
from sakuin_cli.site.changes import Change, not_uploaded, push_files, remove_keys
from sakuin_cli.site.library import etag
from sakuin_cli.site.pages import content_of, local_page
from sakuin_cli.site.plan import losses_of, reason_to_refuse
from sakuin_cli.site.uploads import Upload, Uploads, uploads_below

if TYPE_CHECKING:
    from sakuin_cli.site.config import Site
    from sakuin_cli.site.library import LibraryFiles

# Title and content by anchor.
Texts = Mapping[str, tuple[str, str]]


@dataclass
class Follower:
    """The files of a site as they were last pushed; `waiting` shows that a push of changes is not finished.

    If the site is the `whole` library, no change is refused.
    """

    library: "LibraryFiles"
    box_selectors: Sequence[str]
    site: "Site"
    deleting: bool
    seconds: float
    whole: bool = False
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    _tags: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, Texts] = field(default_factory=dict)
    _files: dict[str, Upload] = field(default_factory=dict)

    def remember(self) -> None:
        """Takes the present files as pushed."""
        for file in self._uploads().files:
            self._remember(file, _tag(file) or "")

    def follow(
        self, events: Iterable[object], on_change: Callable[[Record], None], on_error: Callable[[SakuinError], None]
    ) -> None:
        """Pushes what has changed after each of the `events`; what failed is tried again after the next one."""
        for _ in events:
            try:
                with self.waiting():
                    changes = self.push_changes()
                for one in changes:
                    on_change(one)
            except SakuinError as error:
                on_error(error)

    def push_changes(self) -> list[Record]:
        """Pushes the files that differ from the last time, and deletes those that are gone if that is wanted.

        Returns what became of each, with the anchors that came, changed and went.
        """
        began = time.monotonic()
        uploads = self._uploads()
        tags = {file.key: tag for file in uploads.files if (tag := _tag(file)) is not None}
        changed = [file for file in uploads.files if tags.get(file.key, "") not in ("", self._tags.get(file.key))]
        refused = {} if self.whole else self._refused(changed)
        accepted = tuple(file for file in changed if file.key not in refused)
        changes = [not_uploaded(file, refused[file.key]) for file in changed if file.key in refused]
        if accepted:
            changes += push_files(*(self.library, Uploads(accepted, (), ())), seconds=self.seconds, on_progress=_ignore)
        here = {file.key for file in uploads.files}
        gone = [(key, file.material) for key, file in self._files.items() if key not in here]
        if self.deleting:
            changes += remove_keys(self.library, gone, seconds=self.seconds, on_progress=_ignore)
        else:
            kept = "it is gone here, and stays in the library without --delete"
            changes += [Change(key, material, None, None, "kept", kept) for key, material in gone]
        found = [self._followed(change, time.monotonic() - began) for change in changes]
        for file in accepted:
            self._remember(file, tags[file.key])
        for key, _ in gone:
            del self._files[key], self._tags[key], self._texts[key]
        return found

    def _refused(self, changed: Sequence[Upload]) -> dict[str, str]:
        """Returns by key why files stay here."""
        refused = {file.key: reason for file in changed if (reason := self._reason_to_refuse(file))}
        known = [file for file in changed if file.material and file.key in self._tags]
        for key, loss in losses_of(self.library.client, known, self.box_selectors).items():
            refused[key] = f"{loss}. `sakuin push --yes` pushes it"
        return refused

    def _reason_to_refuse(self, file: Upload) -> str:
        """Returns why a `learns.yml` or `synonyms.yml` stays here; entries that this site pushed before may go."""
        if file.material is not None:
            return ""
        stored = self.library.etags().get(file.key)
        is_compared = stored is not None and stored != self._tags.get(file.key)
        carried = {one.material or "" for one in self._files.values()}
        return reason_to_refuse(self.library, file, carried, is_compared=is_compared)

    def _uploads(self) -> Uploads:
        return uploads_below(self.site.paths, folder=self.site.prefix, material_prefix=self.library.prefix)

    def _remember(self, file: Upload, tag: str) -> None:
        self._files[file.key], self._tags[file.key] = file, tag
        self._texts[file.key] = _texts(local_page(file.path)) if file.material is not None else {}

    def _followed(self, change: Change, seconds: float) -> Record:
        before = self._texts.get(change.key or "", {})
        page = local_page(change.path) if change.material is not None and change.path is not None else None
        after = _texts(page) if page is not None else before if change.outcome == "kept" else {}
        changed = [anchor for anchor in after if anchor in before and before[anchor] != after[anchor]]
        return {
            "material": change.material or change.key,
            "key": change.key,
            "outcome": change.outcome,
            "reason": change.reason,
            "explanations": len(after) if page is not None else None,
            "lost": page.words.lost if isinstance(page, Page) else None,
            "added": [anchor for anchor in after if anchor not in before],
            "changed": changed,
            "removed": [anchor for anchor in before if anchor not in after],
            "deleted": change.path is None and change.done,
            "seconds": round(seconds, 3),
        }


def _texts(page: Page | str) -> Texts:
    return {} if isinstance(page, str) else {one.anchor: (one.title, one.content) for one in page.explanations}


def _tag(file: Upload) -> str | None:
    """Returns the ETag of a file, None if it is gone again or being written: the next event shows it."""
    try:
        return etag(content_of(file.path))
    except (NotFound, UnreadablePage):
        return None


def _ignore(_phase: str, _done: int, _total: int | None) -> None:
    """Shows no progress: a save takes about a second."""


def saved(folders: Iterable[Path]) -> Iterator[object]:
    """Yields after files below the folders were saved and nothing has changed for half a second; ends with Ctrl-C."""
    from watchfiles import watch

    try:
        # A generator may delete and write a whole site.
        yield from watch(*folders, debounce=5000, step=500)
    except KeyboardInterrupt:
        return
