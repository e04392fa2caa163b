"""Indexing of one page version: its chunks, their vectors, and the transaction that applies them."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sakuin import __version__
from sakuin.errors import Conflict, UnreadablePage
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.model import ChangeResult, EventResult, KnowledgeChunk, Learns, MaterialState, PageChange, Source
from sakuin.knowledge.names import chunk_id
from sakuin.knowledge.page import (
    DEFAULT_BOX_SELECTORS,
    EMBEDDED_LENGTH,
    Explanation,
    Page,
    body_text,
    section_of,
    titles_text,
)
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.reading.page_reader import LONGEST_LABEL, MOST_EXPLANATIONS, read_page
from sakuin.knowledge.validation import IndexedChunk, findings_of_page, recorded, unreadable_page
from sakuin.language.indexing import index_words
from sakuin.language.vocabulary import Vocabulary, vocabulary_of
from sakuin.platform.embedding import Embedder, EmbeddingModel, embed_texts
from sakuin.platform.s3 import S3Bucket
from sakuin.retrieval.index_version import PageIndexVersion, StoredIndexVersion, live_version
from sakuin.retrieval.passages import embedded_passages
from sakuin.retrieval.vectors import text_hash
from sakuin.texts.catalogue import coded

# When two workers process one material, the second finds the change of the first and starts again.
_ATTEMPTS = 5


def apply_if_current(
    index: KnowledgeIndex, bucket: S3Bucket, change: PageChange, *, since: int | None = None
) -> ChangeResult:
    """Applies a change. If its sequencer rejects it, applies it only if its version is current in the bucket.

    The sequencers of another bucket start again, and a version that was found by listing has none. `since` is the
    generation of the row when the version was read.
    Raises `Conflict` if the row keeps changing.
    """
    source = change.source
    if source is None:
        return index.apply(change, expected_generation=since)
    applied = index.apply(change, expected_generation=since) if source.sequencer else ChangeResult("superseded", 0)
    if applied.outcome != "superseded":
        return applied
    for _ in range(_ATTEMPTS):
        # Reads the row first: a change after the read of the bucket is then a conflict, and is compared again.
        state = index.state(change.material)
        version = bucket.current_version(source.key)
        if not _is_current(change, source, version) or _is_indexed(source, version, state):
            index.record_upload_result(source, "superseded")
            return replace(applied, outcome="superseded")
        applied = index.apply(change, expected_generation=state.generation if state else None, current=True)
        if applied.outcome != "conflict":
            return applied
    raise Conflict(f"{change.material} changed {_ATTEMPTS} times while it was compared with the bucket")


def _is_current(change: PageChange, source: Source, version: str | None) -> bool:
    if change.deleted:
        return version is None
    return version is not None and source.version_id in (None, version)


def _is_indexed(source: Source, version: str | None, state: MaterialState | None) -> bool:
    """Returns whether the row already equals the bucket: only then is the event really an old one."""
    if state is None or state.source.key != source.key:
        return state is None and version is None
    if version is None:
        return state.status == "deleted"
    return state.status != "deleted" and state.source.version_id == version


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Reads a version of a page, splits it into chunks, embeds texts without a vector, and applies the change.

    A version with the ETag of the searchable one keeps its chunks, and nothing is read.

    `version` is the index version of this code and its settings, `versions` are those that the deployment keeps. A
    change is embedded for the live one, or for `version` if this code does not write the texts of the live one.
    """

    bucket: S3Bucket
    index: KnowledgeIndex
    embedder_of: Callable[[EmbeddingModel], Embedder]
    learns: LearnsSources
    version: PageIndexVersion
    max_page_bytes: int
    most_explanations: int = MOST_EXPLANATIONS
    box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS
    versions: Callable[[], Sequence[StoredIndexVersion]] = tuple

    def index_version(
        self,
        material: str,
        key: str,
        version_id: str | None,
        source: Source | None = None,
        *,
        index_version: str | None = None,
    ) -> EventResult:
        """Indexes one version of a page. Raises `NotFound` if it no longer exists: a newer version replaced it.

        It is embedded for the live index version, or for one of `other_versions` that has the id `index_version`.

        `source` is the upload of the version. Without one the indexed version is indexed again, because something
        other than the page changed; then a version that cannot be read raises `UnreadablePage`.
        """
        upload, embedded = source, 0
        if source is not None and source.etag and source.sequencer:
            page_hash = self._hash(source.etag)
            same = self.index.apply(PageChange(material, source, fingerprint=self.version.id, page_hash=page_hash))
            if same.outcome == "applied":
                return EventResult(material, same)
            state = same.state if same.outcome == "conflict" else self.index.state(material)
        else:
            state = self.index.state(material)
        if _is_replaced(version_id, source, state):
            return _conflict(material, state)
        try:
            stored = self.bucket.read(key, version_id=version_id, max_bytes=self.max_page_bytes)
            page_hash = self._hash(stored.etag)
            page = self._read(stored.body, state)
            # Again while the page's row or a `learns.yml` changes meanwhile.
            for _ in range(_ATTEMPTS):
                learns = self.learns(key, material, page)
                chunks, texts = chunks_of_page(material, page, learns.learns, vocabulary_of(self.version.vocabulary))
                embedded += self._embed(self._others().get(index_version or "", self._live()), chunks, texts)
                indexed = [IndexedChunk(one.anchor, one.learns.items, one.learns.given) for one in chunks]
                change = PageChange(
                    material,
                    upload,
                    chunks,
                    self.version.id,
                    learns_files=learns.files,
                    page_hash=page_hash,
                    findings=recorded(findings_of_page(material, page, indexed)),
                )
                generation = state.generation if state else None
                applied = apply_if_current(self.index, self.bucket, change, since=generation)
                if applied.outcome == "applied" and self.learns.versions(key) != learns.files:
                    # Its own event may have come too early.
                    upload = None
                elif applied.outcome != "conflict":
                    return EventResult(material, applied, chunks=len(chunks), embedded=embedded)
                state = self.index.state(material)
                if _is_replaced(version_id, upload, state):
                    return _conflict(material, state)
        except UnreadablePage as error:
            if source is None:
                raise
            finding = unreadable_page(material, str(error))
            change = PageChange(material, source, error=str(error), findings=recorded([finding]))
            return EventResult(material, apply_if_current(self.index, self.bucket, change), str(error))
        raise Conflict(f"{material} changed {_ATTEMPTS} times while it was read")

    def other_versions(self) -> Collection[str]:
        """Returns the ids of the index versions whose vectors are not those of a change: one for each model."""
        return self._others().keys()

    def _live(self) -> PageIndexVersion:
        live = live_version(self.versions())
        if live is None or live.settings.text_template != self.version.text_template:
            return self.version
        return live.settings.pages

    def _others(self) -> dict[str, PageIndexVersion]:
        """Returns an index version of each space of vectors, with the texts of this code, but for that of a change."""
        versions = (each.settings.pages for each in self.versions())
        spaces = {each.space: each for each in versions if each.text_template == self.version.text_template}
        spaces.pop(self._live().space, None)
        return {each.id: each for each in spaces.values()}

    def _hash(self, etag: str) -> str:
        """Returns the hash of a page and what its chunks depend on; a changed `learns.yml` has its own event."""
        model = self.learns.model.name if self.learns.model else ""
        read_with = [__version__, self.version.id, self.most_explanations, *self.box_selectors, model, etag]
        return hashlib.sha256(json.dumps(read_with).encode()).hexdigest()

    def _read(self, body: bytes, state: MaterialState | None) -> Page:
        """Returns the page of a file, and records the index version if the page's row has another."""
        page = read_page(body, box_selectors=self.box_selectors, most_explanations=self.most_explanations)
        if state is None or state.fingerprint != self.version.id:
            self.index.record_index_version(self.version)
        return page

    def _embed(self, version: PageIndexVersion, chunks: Sequence[KnowledgeChunk], texts: dict[str, str]) -> int:
        """Embeds the texts that have no vector of this index version; returns their number."""
        missing = self.index.missing_vectors(texts.keys(), version)
        others = {each.settings.pages for each in self.versions()} - {version}
        for twin in (each for each in others if each.space != version.space and each.has_vectors_of(version)):
            # Another store has a vector already.
            known = self.index.vectors(missing, twin) if missing else {}
            self.index.store_vectors(known, version)
            missing -= known.keys()
        if not missing:
            return 0
        result = embed_texts(
            self.embedder_of(version.model),
            {name: texts[name] for name in sorted(missing)},
            lambda vectors: self.index.store_vectors(vectors, version),
        )
        for chunk in chunks:
            if reason := result.reason_for(chunk.text_hashes):
                raise UnreadablePage(coded("page.not_embedded", anchor=chunk.anchor, reason=reason))
        return len(missing)


def _is_replaced(version_id: str | None, source: Source | None, state: MaterialState | None) -> bool:
    """Returns whether a change without an upload has nothing to do: another version is indexed now."""
    return source is None and (state is None or state.indexed_version_id != version_id)


def _conflict(material: str, state: MaterialState | None) -> EventResult:
    return EventResult(material, ChangeResult("conflict", state.generation if state else 0))


def chunks_of_page(
    material: str, page: Page, learns: Mapping[str, Learns], vocabulary: Vocabulary
) -> tuple[list[KnowledgeChunk], dict[str, str]]:
    """Returns the chunks of a page, and the texts to embed by the names of their vectors."""
    texts: dict[str, str] = {}
    chunks: list[KnowledgeChunk] = []
    for explanation in page.explanations:
        items = learns[explanation.anchor]
        titles = titles_text(explanation, items.searched, page.title)
        passages = embedded_passages(explanation.text[:EMBEDDED_LENGTH], title=titles)
        texts |= passages
        chunks.append(_chunk(material, page, explanation, items, tuple(passages), vocabulary))
    return chunks, texts


def _chunk(
    material: str,
    page: Page,
    explanation: Explanation,
    learns: Learns,
    passages: tuple[str, ...],
    vocabulary: Vocabulary,
) -> KnowledgeChunk:
    return KnowledgeChunk(
        id=chunk_id(material, explanation.anchor),
        material=material,
        anchor=explanation.anchor,
        title=explanation.title,
        content=explanation.content,
        learns=learns,
        type=explanation.type,
        category=page.category,
        level=page.level,
        page_title=page.title[:LONGEST_LABEL],
        section=(section_of(explanation, page.title) or "")[:LONGEST_LABEL] or None,
        language=page.language,
        prerequisites=page.prerequisites,
        position=explanation.position,
        content_hash=text_hash(explanation.content),
        text_hashes=passages,
        illustrates=explanation.illustrates,
        words=index_words(
            title=explanation.title,
            learns=learns.searched,
            body=body_text(explanation, page.title),
            vocabulary=vocabulary,
        ),
    )
