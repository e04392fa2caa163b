"""Vectors of texts and questions, and what happens when the embedding service fails or rejects a text."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.errors import Invalid, Misconfigured, Refused, SakuinError, Unavailable
from sakuin.platform.embedding import Embedder, QuestionEmbedder, RequestSize, Vector, fitting, requests

logger = logging.getLogger(__name__)

# What a search compares: meaning and words, or one of them.
SearchMode = Literal["both", "words", "vectors"]

# A text that no service rejects because of its content.
_HARMLESS = "1"
_BY_WORDS_ALONE = "so only words were compared, not meaning. Results may be missing."


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """The vectors by the names of their texts, and the reasons why texts were rejected."""

    vectors: Mapping[str, Vector]
    refused: Mapping[str, str]

    def reason_for(self, names: Iterable[str]) -> str | None:
        """Returns why the first of these texts that was rejected was; None if none was."""
        return next((self.refused[name] for name in names if name in self.refused), None)


def embed_texts(
    embedder: Embedder,
    texts: Mapping[str, str],
    keep: Callable[[Mapping[str, Vector]], None],
    size: RequestSize | None = None,
) -> EmbeddedTexts:
    """Embeds texts by their names in requests of the right size; a text that the service rejects fails alone.

    Calls `keep` with the vectors of each request before the next request. Cuts a text that is too long. Raises
    `Refused` if the service rejects even a harmless text: then the configuration is wrong, not the texts.
    """
    vectors: dict[str, Vector] = {}
    refused: dict[str, str] = {}
    names, size = list(texts), size or RequestSize()
    for request in requests(list(texts.values()), size):
        part, names = names[: len(request)], names[len(request) :]
        size.begin()
        for embedded, reasons in _embed_by_halves(embedder, [(name, texts[name]) for name in part]):
            size.end()
            if embedded:
                keep(embedded)
            vectors |= embedded
            refused |= reasons
            size.begin()
    if refused:
        _embed_harmless_text(embedder)
    return EmbeddedTexts(vectors, refused)


def question_vector(embedder: QuestionEmbedder, text: str, *, mode: SearchMode) -> tuple[Vector | None, str | None]:
    """Embeds a question: returns its vector, or None with the sentence for the answer if the service fails.

    Both are None for a search by words. A search by vectors alone raises the service's error.
    """
    if mode == "words":
        return None, None
    try:
        return embedder.query(text), None
    except (Unavailable, Invalid, Misconfigured) as error:
        if mode == "vectors":
            raise
        logger.warning("searched by words alone: %s", error)
        return None, _degraded(error)


def text_hash(text: str) -> str:
    """Returns the SHA-256 hex digest of a text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _embed_harmless_text(embedder: Embedder) -> None:
    try:
        embedder.passages([_HARMLESS])
    except Invalid as error:
        message = f"{error}, whatever the text: check EMBEDDING_MODEL and OPENAI_BASE_URL"
        raise Refused(message, vendor="openai") from error


def _embed_by_halves(
    embedder: Embedder, texts: Sequence[tuple[str, str]]
) -> Iterator[tuple[dict[str, Vector], dict[str, str]]]:
    """Embeds texts; finds the rejected ones by bisection."""
    try:
        vectors = embedder.passages([text for _, text in texts])
    except Invalid as error:
        if len(texts) == 1:
            yield _embed_beginning(embedder, *texts[0], error)
            return
        half = len(texts) // 2
        yield from _embed_by_halves(embedder, texts[:half])
        yield from _embed_by_halves(embedder, texts[half:])
        return
    yield {name: vector for (name, _), vector in zip(texts, vectors, strict=True)}, {}


def _embed_beginning(
    embedder: Embedder, name: str, text: str, error: Invalid
) -> tuple[dict[str, Vector], dict[str, str]]:
    beginning = fitting(text)
    if beginning == text:
        return {}, {name: str(error)}
    try:
        vectors = embedder.passages([beginning])
    except Invalid as again:
        return {}, {name: str(again)}
    logger.warning("a text was too long: its first %d of %d characters are embedded", len(beginning), len(text))
    return {name: vectors[0]}, {}


def _degraded(error: SakuinError) -> str:
    if isinstance(error, Refused | Misconfigured):
        return (
            f"The embedding service rejects this deployment, {_BY_WORDS_ALONE} The operator has to fix the API key or "
            "the embedding settings."
        )
    if isinstance(error, Invalid):
        return f"The embedding service rejects this question, {_BY_WORDS_ALONE} Ask in other words."
    return f"The embedding service does not answer, {_BY_WORDS_ALONE} Ask again in a minute."
