"""One version of one page becomes what the index says of its material."""

from dataclasses import dataclass

from sakuin.domain.knowledge import KnowledgeChunk, Learns
from sakuin.domain.language.indexing import index_words
from sakuin.domain.material import chunk_id
from sakuin.domain.material_version import Applied, Source
from sakuin.domain.page import Explanation, Page
from sakuin.domain.reading import read_page
from sakuin.domain.recipe import Fingerprint, body_text, embedded_text, text_hash, whole_text
from sakuin.errors import Conflict, UnreadablePage
from sakuin.ports.embedding import Embedder
from sakuin.ports.materials import KnowledgeIndex, MaterialBucket
from sakuin.services.learns_sources import LearnsOfPage, LearnsSources

# Two workers on one material: the second sees what the first did and tries again.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class PageResult:
    """What became of a page, and what it cost: `embedded` texts had no vector yet.

    `provisional`: some `learns` wait for a language model that was late.
    """

    applied: Applied
    chunks: int = 0
    embedded: int = 0
    provisional: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ApplyPage:
    """Reads a version, cuts it into chunks, embeds what has no vector yet, and applies it in one transaction."""

    bucket: MaterialBucket
    index: KnowledgeIndex
    embedder: Embedder
    learns: LearnsSources
    fingerprint: Fingerprint
    max_page_bytes: int

    def uploaded(self, material: str, source: Source) -> PageResult:
        """Applies an uploaded version. One that is gone raises `NotFound`: it was superseded."""
        return self._apply(material, source, key=source.key, version_id=source.version_id)

    def again(self, material: str, key: str, version_id: str | None) -> PageResult:
        """Applies the indexed version again, because something else than the page changed."""
        return self._apply(material, None, key=key, version_id=version_id)

    def _apply(self, material: str, source: Source | None, *, key: str, version_id: str | None) -> PageResult:
        state = self.index.state(material)
        generation = state.generation if state else None
        try:
            stored = self.bucket.read(key, version_id=version_id, max_bytes=self.max_page_bytes)
            page = read_page(stored.body)
        except UnreadablePage as error:
            if source is None:
                raise
            return PageResult(self.index.fail(material, source, str(error)), reason=str(error))

        if state is None or state.fingerprint != self.fingerprint.id:
            self.index.remember(self.fingerprint)
        embedded = 0
        for _ in range(_ATTEMPTS):
            learns = self.learns(key, material, page)
            chunks, texts = _chunks(material, page, learns)
            embedded += self._embed(texts)
            applied = self.index.apply(
                material, source, chunks, fingerprint=self.fingerprint.id, expected_generation=generation
            )
            if applied.outcome == "conflict":
                state = self.index.state(material)
                if source is None and (state is None or state.indexed_version_id != version_id):
                    # The version that was to be applied again is no longer the indexed one.
                    return PageResult(applied)
                generation = state.generation if state else None
                continue
            if applied.outcome == "applied" and self.learns.versions(key) != learns.files:
                # A learns.yml came between reading and applying; its own event may have come too early.
                source, generation = None, applied.generation
                continue
            return PageResult(applied, len(chunks), embedded, provisional=learns.provisional)
        raise Conflict(f"{material} was changed by others {_ATTEMPTS} times while it was read")

    def _embed(self, texts: dict[str, str]) -> int:
        missing = self.index.missing_vectors(texts.keys(), self.fingerprint)
        if not missing:
            return 0
        hashes = sorted(missing)
        vectors = self.embedder.passages([texts[text_hash] for text_hash in hashes])
        self.index.keep_vectors(dict(zip(hashes, vectors, strict=True)), self.fingerprint)
        return len(hashes)


def _chunks(material: str, page: Page, learns: LearnsOfPage) -> tuple[list[KnowledgeChunk], dict[str, str]]:
    texts: dict[str, str] = {}
    chunks: list[KnowledgeChunk] = []
    for explanation in page.explanations:
        items = learns.learns[explanation.anchor]
        whole = whole_text(explanation, items.items, page.title)
        text = embedded_text(whole)
        texts[text_hash(text)] = text
        chunks.append(_chunk(material, page, explanation, items, whole))
    return chunks, texts


def _chunk(material: str, page: Page, explanation: Explanation, learns: Learns, whole: str) -> KnowledgeChunk:
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
        prerequisites=page.prerequisites,
        position=explanation.position,
        content_hash=text_hash(explanation.content),
        text_hash=text_hash(embedded_text(whole)),
        illustrates=explanation.illustrates,
        words=index_words(title=explanation.title, learns=learns.items, body=body_text(explanation, page.title)),
    )
