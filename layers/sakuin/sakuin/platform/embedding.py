"""Embedding models, the Protocols of embedders, and texts in requests of the right size."""

import base64
import logging
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.errors import Invalid, Refused
from sakuin.platform.run_all import in_portions

logger = logging.getLogger(__name__)

Vector = Sequence[float]

# OpenAI accepts 2,048 texts and 300,000 tokens in a request; a Japanese character is about one token.
_MAX_TEXTS = 64
_MAX_CHARACTERS = 20_000
# A model on two cores embeds 1,000 characters a second: it answers the first request within five seconds, and a worker
# that has to end loses no more.
_FIRST_CHARACTERS = 5_000
_LEAST_CHARACTERS = 1_000
_FAST_SECONDS, _SLOW_SECONDS = 1.0, 10.0
# A text may have 8,192 tokens, and a token has at least one byte; the rest is for the prefix of a model.
_ALWAYS_FITS = 8_000

# A text that no service rejects because of its content.
_HARMLESS = "1"

# The length of vectors: the columns of the database have it.
DIMENSIONS = 1536


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model with everything that changes its vectors.

    The prefixes are added before queries and passages: e5 models need them, OpenAI's do not.
    """

    name: str
    dimensions: int
    query_prefix: str = ""
    passage_prefix: str = ""


class QuestionEmbedder(Protocol):
    """Embeds questions."""

    def questions(self, texts: Sequence[str]) -> list[Vector]:
        """Returns a vector of `dimensions` floats and length 1 for each of a few questions, by one request."""


class Embedder(QuestionEmbedder, Protocol):
    """Embeds texts and questions."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Returns a vector of `dimensions` floats and length 1 for each text, in their order. May be empty."""


@dataclass(slots=True)
class RequestSize:
    """The characters of the next request: twice as many after a fast answer, half as many after a slow one."""

    characters: int = _FIRST_CHARACTERS
    clock: Callable[[], float] = time.monotonic
    began: float = 0.0

    def begin(self) -> None:
        """Records the time of a request."""
        self.began = self.clock()

    def end(self) -> None:
        """Records the time of its answer."""
        seconds = self.clock() - self.began
        if seconds < _FAST_SECONDS:
            self.characters = min(self.characters * 2, _MAX_CHARACTERS)
        elif seconds > _SLOW_SECONDS:
            self.characters = max(self.characters // 2, _LEAST_CHARACTERS)


def packed(vector: Vector) -> str:
    """Returns a vector as base64 of 16-bit floats, as the database has them, the highest byte first."""
    return base64.b64encode(struct.pack(f">{len(vector)}e", *vector)).decode()


def unpacked(text: str, *, header: int = 0) -> Vector:
    """Returns the vector of such a text, which begins with `header` other bytes. Raises `ValueError`."""
    content = base64.b64decode(text, validate=True)[header:]
    if len(content) % 2:
        raise ValueError("A vector has an even number of bytes")
    return struct.unpack(f">{len(content) // 2}e", content)


def requests(texts: Sequence[str], size: RequestSize | None = None) -> Iterator[list[str]]:
    """Splits the texts, in their order, into requests that a service accepts, of at most the `size` of the moment."""
    moment = size or RequestSize(_MAX_CHARACTERS)
    return in_portions(texts, len, lambda count, characters: count > _MAX_TEXTS or characters > moment.characters)


def fitting(text: str) -> str:
    """Returns the longest beginning of a text that a service always accepts, whatever its characters are."""
    return text.encode("utf-8", "replace")[:_ALWAYS_FITS].decode("utf-8", "ignore")


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
