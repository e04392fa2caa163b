"""One version of one page becomes what the index says about its material."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sakuin.errors import Conflict, SakuinError, UnreadablePage
from sakuin.knowledge.embedded_text import body_text, embedded_text, whole_text
from sakuin.knowledge.learns.sources import LearnsOfPage, LearnsSources
from sakuin.knowledge.model import KnowledgeChunk, Learns, PageChange, PageResult, Source
from sakuin.knowledge.names import chunk_id
from sakuin.knowledge.page import Explanation, Page
from sakuin.knowledge.page_change import apply_if_current
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.reading.page_reader import MOST_EXPLANATIONS, read_page
from sakuin.language.indexing import index_words
from sakuin.platform.embedding import Embedder
from sakuin.platform.s3 import Bucket
from sakuin.retrieval.embed_texts import embed_texts, text_hash
from sakuin.retrieval.index_version import PageIndexVersion

# Two workers on one material: the second sees what the first did and tries again.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class PageTarget:
    """An index that pages are written to. One that is not `live` may be late: `maintain` asks for the page again."""

    fingerprint: PageIndexVersion
    embedder: Embedder
    live: bool


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Reads a version, cuts it into chunks, embeds what has no vector yet, and applies it in one transaction.

    `fingerprint` is what this code and its settings make. `kept` are the indexes to embed for; none: its own alone.
    """

    bucket: Bucket
    index: KnowledgeIndex
    embedder: Embedder
    learns: LearnsSources
    fingerprint: PageIndexVersion
    max_page_bytes: int
    most_explanations: int = MOST_EXPLANATIONS
    kept: Callable[[], Sequence[PageTarget]] = tuple

    def index_version(
        self, material: str, key: str, version_id: str | None, source: Source | None = None
    ) -> PageResult:
        """Indexes one version of a page. One that is gone raises `NotFound`: a newer one took its place.

        `source` is the upload that the version came with. Without one the indexed version is indexed again, because
        something else than the page changed; if it cannot be read any more, that is `UnreadablePage`.
        """
        state = self.index.state(material)
        generation = state.generation if state else None
        embedded = 0
        try:
            stored = self.bucket.read(key, version_id=version_id, max_bytes=self.max_page_bytes)
            page = read_page(stored.body, most_explanations=self.most_explanations)
            if state is None or state.fingerprint != self.fingerprint.id:
                self.index.record_index_version(self.fingerprint)
            for _ in range(_ATTEMPTS):
                learns = self.learns(key, material, page)
                chunks, texts = _chunks(material, page, learns)
                spent, late = self._embed(chunks, texts)
                embedded += spent
                change = PageChange(material, source, chunks=chunks, fingerprint=self.fingerprint.id)
                applied = apply_if_current(self.index, self.bucket, change, since=generation)
                if applied.outcome == "conflict":
                    state = self.index.state(material)
                    if source is None and (state is None or state.indexed_version_id != version_id):
                        # The version that was to be indexed again is no longer the indexed one.
                        return PageResult(applied)
                    generation = state.generation if state else None
                elif applied.outcome == "applied" and self.learns.versions(key) != learns.files:
                    # A learns.yml came between reading and applying; its own event may have come too early.
                    source, generation = None, applied.generation
                else:
                    return PageResult(applied, len(chunks), embedded, provisional=learns.provisional, reason=late)
        except UnreadablePage as error:
            if source is None:
                raise
            change = PageChange(material, source, error=str(error))
            applied = apply_if_current(self.index, self.bucket, change)
            return PageResult(applied, embedded=embedded, reason=str(error))
        raise Conflict(f"Others changed {material} {_ATTEMPTS} times while it was read")

    def _embed(self, chunks: Sequence[KnowledgeChunk], texts: dict[str, str]) -> tuple[int, str | None]:
        """How many texts were embedded, and why an index that does not answer has to wait for its own."""
        embedded, late = 0, None
        for each in self.kept() or (PageTarget(self.fingerprint, self.embedder, live=True),):
            try:
                embedded += self._embed_for(each, chunks, texts)
            except SakuinError as error:
                # What answers must not wait for what is built beside it.
                if each.live:
                    raise
                late = f"The index {each.fingerprint.id} waits for its vectors: {error}"
        return embedded, late

    def _embed_for(self, kept: PageTarget, chunks: Sequence[KnowledgeChunk], texts: dict[str, str]) -> int:
        missing = self.index.missing_vectors(texts.keys(), kept.fingerprint)
        if not missing:
            return 0
        done = embed_texts(
            kept.embedder,
            {text_hash: texts[text_hash] for text_hash in sorted(missing)},
            lambda vectors: self.index.store_vectors(vectors, kept.fingerprint),
        )
        for chunk in chunks:
            if reason := done.refused.get(chunk.text_hash):
                raise UnreadablePage(f"#{chunk.anchor} cannot be embedded: {reason}. Correct its text")
        return len(missing)


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
