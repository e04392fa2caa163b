"""Indexing of one page version: its chunks, their vectors, and the transaction that applies them."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sakuin import __version__
from sakuin.errors import Conflict, UnreadablePage
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.model import (
    BucketVersion,
    ChangeResult,
    EventResult,
    KnowledgeChunk,
    Learns,
    PageChange,
    PageRecord,
    Source,
)
from sakuin.knowledge.names import chunk_id
from sakuin.knowledge.page import (
    DEFAULT_BOX_SELECTORS,
    EMBEDDED_LENGTH,
    Explanation,
    IndexedChunk,
    Page,
    body_text,
    section_of,
    titles_text,
)
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.reading.page_reader import LONGEST_LABEL, MOST_EXPLANATIONS, read_page
from sakuin.knowledge.validation import findings_of_page, recorded, unreadable_page
from sakuin.language.indexing import index_words
from sakuin.language.model import IndexedWords
from sakuin.language.vocabulary import vocabulary_of
from sakuin.platform.embedding import Embedder, EmbeddingModel, Vector, embed_texts
from sakuin.platform.s3 import S3Bucket
from sakuin.retrieval.index_version import PageIndexVersion, StoredIndexVersion, live_version
from sakuin.retrieval.passages import embedded_passages
from sakuin.retrieval.vectors import text_hash
from sakuin.texts.catalogue import coded

# When two workers process one material, the second finds the change of the first and starts again.
_ATTEMPTS = 5
_NO_WORDS = IndexedWords({}, frozenset())


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A version of a page, or with `removed` its removal.

    `source` is its upload. Without one, the indexed version is indexed again because something other than the page
    changed. `index_version` is the id of the one that it is embedded for, None for the live one.
    """

    material: str
    key: str
    version_id: str | None
    source: Source | None = None
    removed: bool = False
    index_version: str | None = None


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Reads a version of a page, splits it into chunks, embeds texts without a vector, and applies the change.

    A version with the ETag of the searchable one keeps its chunks, and nothing is read.

    `version` is the index version of this code and its settings, which `add_version` adds. A change is embedded for the
    live one, or for `version` if this code does not write the texts of the live one.
    """

    bucket: S3Bucket
    index: KnowledgeIndex
    embedder_of: Callable[[EmbeddingModel], Embedder]
    learns: LearnsSources
    version: PageIndexVersion
    add_version: Callable[[], None]
    max_page_bytes: int
    most_explanations: int = MOST_EXPLANATIONS
    box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS

    def __call__(self, page: PageVersion, record: PageRecord | None = None) -> EventResult:
        """Indexes one version of a page; `record` is what is known of it. A version that cannot be read fails.

        Raises `NotFound` if the version no longer exists: a newer version replaced it. Without an upload, raises
        `UnreadablePage` if it cannot be read.
        """
        material, requested, embedded = page.material, page, 0
        record = record or self.index.record(material)
        # Again while the page's row or a `learns.yml` changes meanwhile.
        for _ in range(_ATTEMPTS):
            if page.source is None and record.indexed_version_id != page.version_id:
                # Another version is indexed now.
                return EventResult(material, ChangeResult("conflict", record.generation))
            try:
                change, new = self._change(page, record)
            except UnreadablePage as error:
                if requested.source is None:
                    raise
                findings = recorded([unreadable_page(material, str(error))])
                change, new = PageChange(material, requested.source, error=str(error), findings=findings), 0
            embedded += new
            try:
                applied = self._apply(change, record.generation)
            except Conflict:
                # The row of known words was replaced meanwhile.
                applied = ChangeResult("conflict", record.generation)
            if applied.outcome == "applied" and self._is_outdated(page, change):
                # The event of the `learns.yml` may have come too early.
                page = replace(page, source=None)
            elif applied.outcome != "conflict":
                return EventResult(material, applied, change.error, len(change.chunks or ()), embedded)
            record = self.index.record(material)
        raise Conflict(f"{material} changed {_ATTEMPTS} times while it was read")

    def other_versions(self, versions: Sequence[StoredIndexVersion]) -> Collection[str]:
        """Returns the ids of the index versions whose vectors are not those of a change: one for each model."""
        return self._others(versions).keys()

    def _change(self, page: PageVersion, record: PageRecord) -> tuple[PageChange, int]:
        """Returns the change that makes a version searchable, and how many texts were embedded for it."""
        if page.removed:
            return PageChange(page.material, page.source, deleted=True), 0
        fingerprint = self.version.id
        if page.source and page.source.etag:
            page_hash = self._hash(page.source.etag)
            searchable = (record.status, record.key, record.fingerprint, record.page_hash)
            if searchable == ("ready", page.key, fingerprint, page_hash):
                return PageChange(page.material, page.source, fingerprint=fingerprint, page_hash=page_hash), 0
        stored = self.bucket.read(page.key, version_id=page.version_id, max_bytes=self.max_page_bytes)
        content = read_page(stored.body, box_selectors=self.box_selectors, most_explanations=self.most_explanations)
        learns = self.learns(page.key, page.material, content)
        version = self._others(record.index_versions).get(page.index_version or "", self._live(record.index_versions))
        has_rows = any(each.store == "turbopuffer" for each in (self.version, *_pages(record.index_versions)))
        is_same = (record.fingerprint, record.language) == (fingerprint, content.language)
        words = record.words if is_same and not has_rows else {}
        chunks, texts = chunks_of_page(page.material, content, learns.learns, self.version.vocabulary, words)
        vectors, embedded = self._vectors(version, record, chunks, texts, stores_all=has_rows)
        indexed = [IndexedChunk(one.anchor, one.learns.items, one.learns.given) for one in chunks]
        change = PageChange(
            page.material,
            page.source,
            chunks,
            fingerprint,
            learns_files=learns.files,
            page_hash=self._hash(stored.etag),
            findings=recorded(findings_of_page(page.material, content, indexed)),
            words=content.words,
            vectors=vectors,
            space=version.space,
            has_rows=has_rows,
        )
        return change, embedded

    def _apply(self, change: PageChange, generation: int) -> ChangeResult:
        """Applies a change. If its sequencer rejects it, applies it only if its version is current in the bucket.

        The sequencers of another bucket start again, and a version that was found by listing has none.
        """
        source = change.source
        if source is None or source.sequencer:
            applied = self.index.apply(change, expected_generation=generation)
            if source is None or applied.outcome != "superseded":
                return applied
            generation = applied.generation
        bucket = BucketVersion(self.bucket.current_version(source.key))
        return self.index.apply(change, expected_generation=generation, bucket=bucket)

    def _is_outdated(self, page: PageVersion, change: PageChange) -> bool:
        """Returns whether a `learns.yml` changed since the chunks were written with it."""
        return change.chunks is not None and self.learns.versions(page.key) != change.learns_files

    def _live(self, versions: Sequence[StoredIndexVersion]) -> PageIndexVersion:
        live = live_version(versions)
        if live is None or live.settings.text_template != self.version.text_template:
            return self.version
        return live.settings.pages

    def _others(self, versions: Sequence[StoredIndexVersion]) -> dict[str, PageIndexVersion]:
        """Returns one index version for each other embedding space that uses this code's text template."""
        template = self.version.text_template
        spaces = {each.space: each for each in _pages(versions) if each.text_template == template}
        spaces.pop(self._live(versions).space, None)
        return {each.id: each for each in spaces.values()}

    def _hash(self, etag: str) -> str:
        """Returns the hash of a page and what its chunks depend on; a changed `learns.yml` has its own event."""
        model = self.learns.model.name if self.learns.model else ""
        read_with = [__version__, self.version.id, self.most_explanations, *self.box_selectors, model, etag]
        return hashlib.sha256(json.dumps(read_with).encode()).hexdigest()

    def _vectors(
        self,
        version: PageIndexVersion,
        record: PageRecord,
        chunks: Sequence[KnowledgeChunk],
        texts: Mapping[str, str],
        *,
        stores_all: bool,
    ) -> tuple[dict[str, Vector], int]:
        """Embeds the texts that have no vector of this index version, and returns their number.

        Stores the vectors, but unless `stores_all` those of the last request, which it returns: they are stored with
        the change.
        """
        if self.version not in _pages(record.index_versions):
            self.add_version()
        missing = self.index.missing_vectors(texts.keys(), version)
        for twin in set(_pages(record.index_versions)) - {version}:
            if missing and twin.space != version.space and twin.has_vectors_of(version):
                # Another store has a vector already.
                stored = self.index.vectors(missing, twin)
                self.index.store_vectors(stored, version)
                missing -= stored.keys()
        unstored = set(missing)

        def keep(vectors: Mapping[str, Vector]) -> None:
            if stores_all or unstored != vectors.keys():
                self.index.store_vectors(vectors, version)
                unstored.difference_update(vectors)

        if not missing:
            return {}, 0
        result = embed_texts(self.embedder_of(version.model), {name: texts[name] for name in sorted(missing)}, keep)
        for chunk in chunks:
            if reason := result.reason_for(chunk.text_hashes):
                raise UnreadablePage(coded("page.not_embedded", anchor=chunk.anchor, reason=reason))
        return {name: result.vectors[name] for name in unstored}, len(missing)


def _pages(versions: Sequence[StoredIndexVersion]) -> list[PageIndexVersion]:
    return [each.settings.pages for each in versions]


def chunks_of_page(
    material: str, page: Page, learns: Mapping[str, Learns], vocabulary: str, known: Mapping[str, Sequence[Any]]
) -> tuple[list[KnowledgeChunk], dict[str, str]]:
    """Returns the chunks of a page, and the texts to embed by the names of their vectors.

    `known` are the rows of words by anchor, as in `PageRecord`. The words of the same text are not analyzed again.
    """
    texts: dict[str, str] = {}
    chunks: list[KnowledgeChunk] = []
    for explanation in page.explanations:
        items = learns[explanation.anchor]
        title = titles_text(explanation, page.title)
        with_learns = titles_text(explanation, page.title, items.searched) if items.searched else ""
        passages = embedded_passages(explanation.text[:EMBEDDED_LENGTH], title=title, learns=with_learns)
        texts |= passages
        number, *hashes = known.get(explanation.anchor, (None,))
        same = hashes == [text_hash(explanation.content), next(iter(passages))]
        words = _NO_WORDS if same else _words(page, explanation, items, vocabulary)
        chunk = _chunk(material, page, explanation, items, tuple(passages), words)
        chunks.append(replace(chunk, words_row=number if same else None))
    return chunks, texts


def _chunk(
    material: str, page: Page, explanation: Explanation, learns: Learns, passages: tuple[str, ...], words: IndexedWords
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
        fields=page.fields or None,
        words=words,
    )


def _words(page: Page, explanation: Explanation, learns: Learns, vocabulary: str) -> IndexedWords:
    subject, body = vocabulary_of(vocabulary).of_language(page.language or ""), body_text(explanation, page.title)
    return index_words(title=explanation.title, learns=learns.searched, body=body, vocabulary=subject)
