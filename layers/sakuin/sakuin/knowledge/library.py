"""Validation of the materials, and the reindexing of outdated ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import Invalid, NotFound, UnreadablePage
from sakuin.knowledge.canary import OWN_FOLDER
from sakuin.knowledge.learns.learns_yml import LARGEST_FILE, LEARNS_FILE, parse_learns
from sakuin.knowledge.messages import MaterialQueue
from sakuin.knowledge.names import material_of_key
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords
from sakuin.knowledge.reading.page_reader import MOST_EXPLANATIONS, read_page
from sakuin.knowledge.reconcile import is_authored_file
from sakuin.knowledge.synonyms_yml import parse_synonyms
from sakuin.knowledge.validation import (
    Finding,
    IndexedMaterial,
    findings_of_page,
    missing_page,
    unreadable_file,
    unreadable_page,
    waiting_page,
)
from sakuin.platform.s3 import S3Bucket


@dataclass(frozen=True, slots=True)
class Library:
    """Compares the pages of the bucket with the records of the index."""

    records: MaterialRecords
    index: KnowledgeIndex
    bucket: S3Bucket
    queue: MaterialQueue
    prefix: str
    fingerprint: str
    max_page_bytes: int
    box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS
    most_explanations: int = MOST_EXPLANATIONS

    def findings(
        self, *, prefix: str = "", after: str | None = None, strict: bool = False, limit: int = 50
    ) -> tuple[Sequence[Finding], str | None]:
        """Returns findings about `limit` materials below `prefix`, and the cursor of the next page (None: the end)."""
        stored_keys = self.bucket.keys(self.prefix + prefix)
        keys = {material: key for key in stored_keys if (material := material_of_key(key, prefix=self.prefix))}
        indexed = self.records.materials(prefix=prefix, after=after, limit=limit)
        stored = {state.material: state.source.key for state in indexed.items}
        names = sorted(name for name in {*keys, *stored} if after is None or name > after)
        page, following = names[:limit], names[limit - 1] if len(names) > limit else None
        if following is None:
            following = indexed.next_cursor
        anchors = self.records.indexed_materials(page)
        findings: list[Finding] = []
        for material in page:
            if material.startswith(OWN_FOLDER):
                # The canary deletes its page before its record, so that for a moment the page is missing.
                continue
            key = stored.get(material) or keys.get(material, "")
            findings += self._findings_of_page(material, key, anchors.get(material), strict=strict)
        if after is None:
            findings += [waiting_page(*one) for one in self.records.competing_keys() if one[0].startswith(prefix)]
            findings += [file for key in stored_keys if (file := self._finding_of_file(key))]
        return findings, following

    def reapply_outdated(self) -> int:
        """Asks to reindex every material of another index version. Returns how many there are."""
        outdated = self.index.outdated_materials(self.fingerprint)
        self.queue.reindex(outdated, reason="built with other settings")
        return len(outdated)

    def _finding_of_file(self, key: str) -> Finding | None:
        """Returns the finding about a `learns.yml` or `synonyms.yml` that cannot be read, None for any other key."""
        if is_authored_file(key, self.prefix):
            try:
                body = self.bucket.read(key, max_bytes=LARGEST_FILE).body
                parse_learns(body) if key.endswith(LEARNS_FILE) else parse_synonyms(body)
            except NotFound:
                return None  # It was deleted a moment ago.
            except Invalid as error:
                return unreadable_file(key, str(error))
        return None

    def _findings_of_page(
        self, material: str, key: str, indexed: IndexedMaterial | None, *, strict: bool = False
    ) -> Sequence[Finding]:
        try:
            body = self.bucket.read(key, max_bytes=self.max_page_bytes).body
            page = read_page(body, box_selectors=self.box_selectors, most_explanations=self.most_explanations)
        except NotFound:
            return [missing_page(material, indexed)] if indexed else []
        except UnreadablePage as error:
            return [unreadable_page(material, str(error))]
        return findings_of_page(material, page, indexed, strict=strict)
