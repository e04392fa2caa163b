"""The materials in the bucket: their files, their validation, and the reindexing of outdated ones."""

import base64
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, UnreadablePage
from sakuin.knowledge.learns.authored import LARGEST_FILE, learns_keys, parse_learns
from sakuin.knowledge.messages import MaterialQueue
from sakuin.knowledge.model import MaterialState
from sakuin.knowledge.names import OWN_FOLDER, TURNS_TEXT, authored_file, folder_name, is_in_folder, material_of_key
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS, Finding, IndexedChunk, Page
from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords
from sakuin.knowledge.reading.page_reader import MOST_EXPLANATIONS, read_page
from sakuin.knowledge.validation import (
    collapsed_page,
    findings_of_page,
    missing_page,
    unreadable_file,
    unreadable_page,
    waiting_page,
)
from sakuin.language.unicode_text import nfc, one_line
from sakuin.limits import check_limit
from sakuin.platform.s3 import S3Bucket, UploadTarget
from sakuin.texts.catalogue import coded

_LONGEST_KEY = 1024  # bytes, the limit of S3
# Programs that read such a key again might take it for another path.
_AMBIGUOUS = re.compile(rf"[\x00-\x1f\x7f\\\ud800-\udfff{TURNS_TEXT}]|%(?:2e|2f|5c)", re.IGNORECASE)
_UPLOAD_SECONDS = 900
# Bytes of a description in JSON: `tools/list` has one, and stays short.
LONGEST_DESCRIPTION = 400


@dataclass(frozen=True, slots=True)
class Library:
    """The pages of the bucket: files for authors, and comparisons with the records of the index.

    A `folder` has no slash at its end, and is empty for the whole library; its caller opens nothing else.
    """

    records: MaterialRecords
    index: KnowledgeIndex
    bucket: S3Bucket
    queue: MaterialQueue
    prefix: str
    max_page_bytes: int
    box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS
    most_explanations: int = MOST_EXPLANATIONS

    def files(self, folder: str, *, after: str = "", limit: int = 1000) -> tuple[dict[str, str], str | None]:
        """Returns the ETags of files by key, of the whole folder in pages, and the `after` of the next page."""
        return self.bucket.etags_page(self._beginning(folder), after=after, limit=limit)

    def text(self, key: str, folder: str) -> str:
        """Returns a `learns.yml` or `synonyms.yml`; raises `NotFound`, and `Invalid` if it is not UTF-8."""
        self.check_key(key, folder)
        if not authored_file(key, prefix=self.prefix):
            raise Invalid(f"{key} is neither a learns.yml nor a synonyms.yml")
        try:
            return self.bucket.read(key, max_bytes=LARGEST_FILE).body.decode()
        except UnicodeDecodeError as error:
            raise Invalid(f"{key} is not UTF-8: replace it") from error

    def upload_target(self, key: str, folder: str, *, size: int, md5: bytes) -> UploadTarget:
        """Returns a presigned URL to upload a file with this MD5 within 15 minutes."""
        headers = {
            "Content-Type": self._checked_type(key, folder, size),
            "Content-Length": str(size),
            "Content-MD5": base64.b64encode(md5).decode(),
        }
        return self.bucket.upload_target(key, seconds=_UPLOAD_SECONDS, headers=headers)

    def page(self, key: str) -> Page:
        """Returns the page of a key as it is read now; raises `NotFound` and `UnreadablePage`."""
        body = self.bucket.read(key, max_bytes=self.max_page_bytes).body
        return read_page(body, box_selectors=self.box_selectors, most_explanations=self.most_explanations)

    def write(self, key: str, body: bytes) -> None:
        """Uploads a page, a `learns.yml` or a `synonyms.yml`; its event has it indexed."""
        self.bucket.write(key, body, content_type=self._checked_type(key, "", len(body)))

    def _checked_type(self, key: str, folder: str, size: int) -> str:
        """Returns the content type of a file to upload, once its key and size are checked."""
        self.check_key(key, folder)
        if nfc(key) != key:
            raise Invalid(f"The key {key!r} must be NFC")
        is_page = not authored_file(key, prefix=self.prefix)
        most = self.max_page_bytes if is_page else LARGEST_FILE
        check_limit(size, most, what=f"bytes of {key}", limit="page_bytes" if is_page else "fixed")
        return f"{'text/html' if is_page else 'application/yaml'}; charset=utf-8"

    def learns_file(self, page_key: str, material: str) -> tuple[str, bytes, str | None]:
        """Returns the key, the text and the version of the `learns.yml` in which a page's lists are, or would be.

        That is the nearest file that names the page, else the nearest one, else a new one in the page's folder: without
        text and version.
        """
        files = []
        for key in learns_keys(page_key, self.prefix):
            with suppress(NotFound):
                stored = self.bucket.read(key, max_bytes=LARGEST_FILE)
                files.append((key, stored.body, stored.version_id))
        named = [file for file in files if parse_learns(file[1]).for_material(material)]
        return (named or files or [(learns_keys(page_key, self.prefix)[0], b"", None)])[0]

    def write_learns(self, key: str, body: bytes, *, version: str | None) -> None:
        """Uploads a `learns.yml`; raises `Conflict` if it is no longer the version that was changed."""
        if self.bucket.current_version(key) != version:
            raise Conflict(coded("form.changed", key=key))
        self.write(key, body)

    def reindex(self, material: str) -> None:
        """Asks to index the current version of a page again."""
        reason = coded("letter.console")
        self.index.note_requests([material], reason)
        self.queue.reindex([material], reason=reason)

    def remove(self, key: str, folder: str) -> str:
        """Removes a file and returns the id of its delete marker."""
        self.check_key(key, folder)
        return self.bucket.remove(key)

    def check_key(self, key: str, folder: str) -> None:
        """Raises `Invalid` unless it is the key of an author's file, and `Forbidden` if that is not in the folder."""
        segments = key.split("/")
        is_clear = {"", ".", ".."}.isdisjoint(segments) and not _AMBIGUOUS.search(key)
        if not is_clear or len(key.encode()) > _LONGEST_KEY:
            rule = "it begins with a name, and has no `..`, `//`, backslash, %2F or signs that turn text around"
            raise Invalid(f"{key[:200]!r} is no key: {rule}")
        if not key.startswith(self._beginning(folder)) or key.removeprefix(self.prefix).startswith(OWN_FOLDER):
            raise Forbidden(f"This key opens {self._beginning(folder) or 'pages'!r} alone, and not {key[:200]!r}")
        if material_of_key(key, prefix=self.prefix) is None and not authored_file(key, prefix=self.prefix):
            raise Invalid(f"{key[:200]!r} is neither a page (.html) nor a learns.yml or synonyms.yml")

    def check_material(self, material: str, folder: str) -> None:
        """Raises `Forbidden` for a material that is not in the folder."""
        if not is_in_folder(nfc(material), folder):
            raise Forbidden(f"This key opens {folder!r} alone, and not {material[:200]!r}")

    def describe(self, folder: str, description: str) -> None:
        """Replaces what the owner says of the library ("") or of a folder, on one line; an empty text deletes it."""
        text = one_line(description)
        size = len(json.dumps(text, ensure_ascii=False).encode()) - len('""')
        if size > LONGEST_DESCRIPTION:
            many = f"{LONGEST_DESCRIPTION} English or {LONGEST_DESCRIPTION // 3} Japanese letters"
            raise Invalid(f"The description has {size:,} bytes; the limit is {LONGEST_DESCRIPTION}: about {many}")
        self.records.describe(folder_name(folder), text)

    def _beginning(self, folder: str) -> str:
        return f"{self.prefix}{folder}/" if folder else self.prefix

    def findings(
        self, *, prefix: str = "", after: str | None = None, strict: bool = False, limit: int = 50
    ) -> tuple[Sequence[Finding], str | None]:
        """Returns findings about `limit` materials below `prefix`, and the cursor of the next page (None: the end)."""
        files = self.bucket.keys(self.prefix + prefix)
        keys = {material: key for key in files if (material := material_of_key(key, prefix=self.prefix))}
        indexed, next_cursor = self.records.materials(prefix=prefix, after=after, limit=limit)
        stored = {state.material: state.source.key for state in indexed}
        lost = {one.material: one for one in map(self.collapsed, indexed) if one}
        names = sorted(name for name in {*keys, *stored} if after is None or name > after)
        page, following = names[:limit], names[limit - 1] if len(names) > limit else None
        following = following or next_cursor
        anchors = self.records.indexed_materials(page)
        findings: list[Finding] = []
        for material in page:
            if material.startswith(OWN_FOLDER):
                # The canary deletes its page before its record, so that for a moment the page is missing.
                continue
            key = stored.get(material) or keys.get(material, "")
            findings += self._findings_of_page(material, key, anchors.get(material), strict=strict)
            if material in lost:
                findings.append(lost[material])
        if after is None:
            findings += [waiting_page(*one) for one in self.records.competing_keys() if one[0].startswith(prefix)]
            broken = self.records.broken_files()
            findings += [unreadable_file(*file) for file in broken if file[0].startswith(self.prefix + prefix)]
        return findings, following

    def collapsed(self, state: MaterialState) -> Finding | None:
        """Returns the finding about a page that an upload took much of, None about any other."""
        return collapsed_page(state.material, state.collapse, self.bucket.name) if state.collapse else None

    def _findings_of_page(
        self, material: str, key: str, indexed: Sequence[IndexedChunk] | None, *, strict: bool = False
    ) -> Sequence[Finding]:
        try:
            page = self.page(key)
        except NotFound:
            return [] if indexed is None else [missing_page(material, indexed)]
        except UnreadablePage as error:
            return [unreadable_page(material, str(error))]
        return findings_of_page(material, page, indexed, strict=strict)
