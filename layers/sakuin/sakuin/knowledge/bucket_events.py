"""Events of the materials bucket, and how the index follows them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Conflict, Invalid, NotFound, UnreadablePage
from sakuin.knowledge.ask_model import AskModel
from sakuin.knowledge.index_page import IndexPage, PageVersion
from sakuin.knowledge.learns.authored import LARGEST_FILE, parse_learns, parse_synonyms
from sakuin.knowledge.messages import (
    AskLearns,
    BucketEvent,
    MaterialQueue,
    ObjectRemoved,
    ObjectWritten,
    RecheckKey,
    ReindexMaterial,
    read_event,
)
from sakuin.knowledge.model import AuthoredFile, BucketVersion, EventResult, PageChange, PageRecord, Source
from sakuin.knowledge.names import LEARNS_FILE, OWN_FOLDER, authored_file, material_of_key, reads_as_another
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.platform.s3 import S3Bucket
from sakuin.platform.waiting import Record, WorkRow
from sakuin.texts.catalogue import coded, joined

# An older upload did not wait for so long: the database is new.
_LONGEST_WAIT = timedelta(days=7)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class BucketEvents:
    """A `QueueWork`: processes the messages of the material queue, in any order and any number of times.

    `prefix` is the part of S3 keys that is not part of a material's name. After each event `count_event`
    takes the milliseconds from an upload until it was searchable; None for any other event. At last `announce` takes
    what an event has to say of the page.

    A file of an author is applied as it is in the bucket now: an old event applies the current version.
    """

    bucket: S3Bucket
    index: KnowledgeIndex
    queue: MaterialQueue
    pages: IndexPage
    ask_model: AskModel
    prefix: str
    logger: Logger
    metrics: Metrics
    count_event: Callable[[float | None], None] = lambda _fresh: None
    announce: Callable[[Mapping[str, Any]], None] = lambda _page: None

    def read(self, message: Mapping[str, Any]) -> BucketEvent | None:
        return read_event(message)

    def row_of(self, asked: BucketEvent) -> WorkRow | None:
        """Returns the row of a page or a file. What asks for `learns` has one of its own, in `pending_learns`."""
        if isinstance(asked, AskLearns):
            return None
        if isinstance(asked, ReindexMaterial):
            return WorkRow("page", asked.material, is_requested=True)
        is_requested = isinstance(asked, RecheckKey)
        key = asked.key if isinstance(asked, RecheckKey) else asked.source.key
        if authored_file(key, prefix=self.prefix):
            return WorkRow("file", key, is_requested=is_requested)
        if (material := material_of_key(key, prefix=self.prefix)) is None:
            return None
        return WorkRow("page", material, source={"bucket": self.bucket.name, "key": key}, is_requested=is_requested)

    def process(self, asked: BucketEvent, record: Record | None) -> None:
        """Processes one event, and logs and counts its result."""
        started = time.perf_counter()
        result = self.process_event(asked, PageRecord.of(record) if record else None)
        self._report(asked, result, (time.perf_counter() - started) * 1000)
        if result.applied and result.applied.announcement:
            self.announce(result.applied.announcement)

    def process_event(self, event: BucketEvent, record: PageRecord | None = None) -> EventResult:
        """Processes one event. `record` is what was known of its page before."""
        if isinstance(event, AskLearns):
            return self.ask_model(event.material)
        if isinstance(event, ReindexMaterial):
            return self._reindex(event, record or self.index.record(event.material))
        if isinstance(event, RecheckKey):
            event = self._current_event(event)
        key = event.source.key
        if file := authored_file(key, prefix=self.prefix):
            name, folder = file
            apply = self._index_learns if name == LEARNS_FILE else self._index_synonyms
            return apply(event.source, folder)
        material = material_of_key(key, prefix=self.prefix)
        if material is None:
            if reads_as_another(key) and isinstance(event, ObjectWritten):
                self.index.record_upload_result(event.source, "failed", coded("file.key"))
            return EventResult(None, reason=f"{key} is not a page")
        record = record or self.index.record(material)
        if isinstance(event, ObjectRemoved):
            removed = self._remove(material, event, record)
            if isinstance(removed, EventResult):
                return removed
            written, record = removed, self.index.record(material)
        else:
            written = event.source
        try:
            result = self.pages(PageVersion(material, written.key, written.version_id, written), record)
        except NotFound:
            self.index.record_upload_result(written, "superseded")
            return EventResult(material, reason="this version no longer exists: a newer version replaced it")
        return self._with_others(result, record)

    def give_up(self, asked: BucketEvent, reason: str) -> None:
        """Records on the material that its message becomes a dead letter. The indexed version stays searchable.

        If a newer version was applied, the material does not change. A reindex has no version that could fail.
        """
        if isinstance(asked, ReindexMaterial | AskLearns):
            return
        error = coded("page.given_up", reason=reason)
        if isinstance(asked, RecheckKey):
            self._fail_current(asked.key, error)
            return
        source = asked.source
        material = material_of_key(source.key, prefix=self.prefix)
        if material is None:
            if authored_file(source.key, prefix=self.prefix):
                # Reconciliation does not ask for this version again.
                self.index.record_authored_file(AuthoredFile(source.key, source.version_id))
            self.index.record_upload_result(source, "failed", error)
            return
        applied = self.index.apply(PageChange(material, source, error=error), expected_generation=None)
        if applied.outcome == "superseded":
            # A client may wait for the result of this version.
            self.index.record_upload_result(source, "superseded", error)

    def _index_learns(self, source: Source, folder: str) -> EventResult:
        """Asks to index the pages again that a `learns.yml` names, and those that it named before."""
        version = source.version_id
        try:
            version, body = self._current_text(source.key)
            file = parse_learns(body)
        except Invalid as error:
            return self._reject(source, version, error)
        authored = AuthoredFile(source.key, version, folder, file.materials)
        pages = self.index.materials_named_in(authored)
        reason = coded("letter.changed", key=source.key)
        self.index.note_requests(pages, reason)
        self.queue.reindex(pages, reason=reason)
        self.index.record_authored_file(authored)
        self.index.record_upload_result(source, "applied", joined(file.problems))
        return EventResult(None, asked=len(pages))

    def _index_synonyms(self, source: Source, folder: str) -> EventResult:
        """Stores the synonyms that a folder's file has now; none without one. One that cannot be read changes nothing.

        Raises `Conflict` if another worker stores some meanwhile.
        """
        # Reads the row first: what another worker reads and stores after that is newer.
        generation = self.index.synonyms_generation(source.key)
        version = source.version_id
        try:
            version, body = self._current_text(source.key)
            file = parse_synonyms(body)
        except Invalid as error:
            return self._reject(source, version, error)
        if not self.index.store_synonyms(source.key, version, folder, file.groups, expected_generation=generation):
            raise Conflict(f"{source.key} changed while it was read")
        self.index.record_upload_result(source, "applied", joined(file.problems))
        return EventResult(None)

    def _current_text(self, key: str) -> tuple[str | None, bytes]:
        """Returns the current version of a file and its text; None and an empty one if it was removed."""
        try:
            stored = self.bucket.read(key, max_bytes=LARGEST_FILE)
        except NotFound:
            return None, b""
        return stored.version_id, stored.body

    def _reject(self, source: Source, version: str | None, error: Invalid) -> EventResult:
        self.index.record_authored_file(AuthoredFile(source.key, version))
        self.index.record_upload_result(source, "failed", str(error))
        return EventResult(None, reason=f"{source.key} cannot be read: {error}")

    def _remove(self, material: str, removal: ObjectRemoved, record: PageRecord) -> EventResult | Source:
        """Removes a page. Returns the result, or the version that has to be indexed instead."""
        source = removal.source
        if not removal.marker:
            current = self.bucket.current_version(source.key)
            if current is not None:
                if not self._is_known(material, source):
                    return EventResult(material, reason="the removed version was not current")
                # The version before the removed one is current again.
                return Source(source.bucket, source.key, current, source.sequencer)
        result = self.pages(PageVersion(material, source.key, None, source, removed=True), record)
        # Another spelling of the same key may have waited for this material.
        return (result.applied and result.applied.next_owner) or result

    def _is_known(self, material: str, source: Source) -> bool:
        """Returns whether the index knows the removed version. A version of another key of the material counts too."""
        state = self.index.state(material)
        if state is None:
            return False
        return state.source.key != source.key or source.version_id in (
            state.indexed_version_id,
            state.source.version_id,
        )

    def _current_event(self, asked: RecheckKey) -> ObjectWritten | ObjectRemoved:
        """Returns the event of the current version of a key. Its sequencer is not known."""
        current = self.bucket.current(asked.key)
        if current is None:
            return ObjectRemoved(Source(self.bucket.name, asked.key, None, ""), marker=True)
        return ObjectWritten(Source(self.bucket.name, asked.key, current.version_id, "", current.modified.isoformat()))

    def _reindex(self, asked: ReindexMaterial, record: PageRecord) -> EventResult:
        version = record.indexed_version_id
        if version is None:
            return EventResult(asked.material, reason="the material is not indexed")
        page = PageVersion(asked.material, record.key, version, index_version=asked.index_version)
        try:
            result = self.pages(page, record)
        except NotFound:
            return EventResult(asked.material, reason="the indexed version no longer exists: its own event follows")
        except UnreadablePage as error:
            return EventResult(asked.material, reason=f"the indexed version can no longer be read: {error}")
        return result if asked.index_version else self._with_others(result, record)

    def _with_others(self, result: EventResult, record: PageRecord) -> EventResult:
        """Returns the result. If the page is indexed now, it asks for its vectors in the other index versions."""
        is_indexed = result.applied and result.applied.outcome == "applied" and result.chunks
        if result.material and is_indexed and (versions := self.pages.other_versions(record.index_versions)):
            self.index.note_requests([result.material], "an index version lacks its vectors")
            self.queue.index_for(result.material, versions)
        return result

    def _fail_current(self, key: str, error: str) -> None:
        """Records the error for the current version in the bucket, unless the index knows that version already."""
        material = material_of_key(key, prefix=self.prefix)
        if material is None:
            return
        # Reads the row first: a newer change then makes this one a conflict.
        state = self.index.state(material)
        version = self.bucket.current_version(key)
        if version is not None and (state is None or state.source.version_id != version):
            change = PageChange(material, Source(self.bucket.name, key, version, ""), error=error)
            generation = state.generation if state else None
            self.index.apply(change, expected_generation=generation, bucket=BucketVersion(version))

    def _report(self, asked: BucketEvent, result: EventResult, milliseconds: float) -> None:
        applied = result.applied
        self.logger.info(
            "bucket event processed",
            bucket_event=type(asked).__name__,
            material=result.material,
            outcome=applied.outcome if applied else "ignored",
            reason=result.reason,
            chunks=result.chunks,
            embedded=result.embedded,
            asked=result.asked,
            milliseconds=round(milliseconds),
        )
        fresh = None
        if applied is not None:
            is_new = applied.outcome == "applied"
            self.metrics.add_metric("PagesApplied" if is_new else "PagesNotApplied", MetricUnit.Count, 1)
            self.metrics.add_metric("KnowledgeChunks", MetricUnit.Count, result.chunks if is_new else 0)
            self.metrics.add_metric("TextsEmbedded", MetricUnit.Count, result.embedded)
            self.metrics.add_metric("PageMilliseconds", MetricUnit.Milliseconds, milliseconds)
            if applied.uploaded_at is not None and not str(result.material).startswith(OWN_FOLDER):
                waited = datetime.now(UTC) - datetime.fromisoformat(applied.uploaded_at)
                if waited < _LONGEST_WAIT:
                    fresh = max(waited / _MILLISECOND, 0.0)
                    self.metrics.add_metric("FreshnessMilliseconds", MetricUnit.Milliseconds, fresh)
        self.count_event(fresh)
