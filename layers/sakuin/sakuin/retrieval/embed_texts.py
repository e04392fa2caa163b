"""Embeds texts in requests of the right size; a text that is refused fails alone."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sakuin.errors import Invalid, Refused
from sakuin.platform.embedding import Embedder, Vector, fitting, requests

logger = logging.getLogger(__name__)


# What no service refuses for its own sake.
_HARMLESS = "1"


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """The vectors by the names of their texts, and why texts have none."""

    vectors: Mapping[str, Vector]
    refused: Mapping[str, str]


def embed_texts(
    embedder: Embedder, texts: Mapping[str, str], keep: Callable[[Mapping[str, Vector]], None]
) -> EmbeddedTexts:
    """Embeds texts by their names; `keep` is given what an answer brought before the next is asked for.

    A text that is too long is embedded by its beginning. Where everything is refused it is not the texts' fault, and
    `Refused` is raised.
    """
    vectors: dict[str, Vector] = {}
    refused: dict[str, str] = {}
    names = list(texts)
    for request in requests(list(texts.values())):
        part, names = names[: len(request)], names[len(request) :]
        for answered, reasons in _answers(embedder, [(name, texts[name]) for name in part]):
            if answered:
                keep(answered)
            vectors |= answered
            refused |= reasons
    if refused:
        _ask_for_any(embedder)
    return EmbeddedTexts(vectors, refused)


def _ask_for_any(embedder: Embedder) -> None:
    """Raises what it raises: then nothing was learnt about the texts."""
    try:
        embedder.passages([_HARMLESS])
    except Invalid as error:
        said = f"{error}, whatever the text: check EMBEDDING_MODEL, EMBEDDING_DIMENSIONS and OPENAI_BASE_URL"
        raise Refused(said, vendor="openai") from error


def _answers(
    embedder: Embedder, texts: Sequence[tuple[str, str]]
) -> Iterator[tuple[dict[str, Vector], dict[str, str]]]:
    """The vectors of the texts, those that are refused found by halving."""
    try:
        vectors = embedder.passages([text for _, text in texts])
    except Invalid as error:
        if len(texts) == 1:
            yield _alone(embedder, *texts[0], error)
            return
        half = len(texts) // 2
        yield from _answers(embedder, texts[:half])
        yield from _answers(embedder, texts[half:])
        return
    yield {name: vector for (name, _), vector in zip(texts, vectors, strict=True)}, {}


def _alone(embedder: Embedder, name: str, text: str, error: Invalid) -> tuple[dict[str, Vector], dict[str, str]]:
    beginning = fitting(text)
    if beginning == text:
        return {}, {name: str(error)}
    try:
        vectors = embedder.passages([beginning])
    except Invalid as again:
        return {}, {name: str(again)}
    logger.warning("a text was too long: its first %d of %d characters are embedded", len(beginning), len(text))
    return {name: vectors[0]}, {}


def text_hash(text: str) -> str:
    """SHA-256 hex of a text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
