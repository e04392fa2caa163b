"""Vectors of questions, and what happens when the embedding service fails or rejects one."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Literal

from sakuin.errors import Invalid, Misconfigured, OverBudget, Refused, SakuinError, Unavailable
from sakuin.platform.embedding import QuestionEmbedder, Vector

logger = logging.getLogger(__name__)

# What a search compares: meaning and words, or one of them.
SearchMode = Literal["both", "words", "vectors"]

_BY_WORDS_ALONE = "so only words were compared, not meaning. Results may be missing."


def question_vectors(
    embedder: QuestionEmbedder, texts: Sequence[str], *, mode: SearchMode
) -> tuple[list[Vector | None], str | None]:
    """Embeds questions: returns their vectors, or None for each with the sentence for the answer if the service fails.

    They are also None for a search by words, without a sentence. A search by vectors alone raises the service's error.
    """
    nothing: list[Vector | None] = [None] * len(texts)
    if mode == "words":
        return nothing, None
    try:
        return [*embedder.questions(texts)], None
    except (Unavailable, Invalid, Misconfigured, OverBudget) as error:
        if mode == "vectors":
            raise
        logger.warning("searched by words alone: %s", error)
        return nothing, _degraded(error)


def text_hash(text: str) -> str:
    """Returns the SHA-256 hex digest of a text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _degraded(error: SakuinError) -> str:
    if isinstance(error, Refused | Misconfigured):
        return (
            f"The embedding service rejects this deployment, {_BY_WORDS_ALONE} The operator has to fix the API key or "
            "the embedding settings."
        )
    if isinstance(error, Invalid):
        return f"The embedding service rejects this question, {_BY_WORDS_ALONE} Ask in other words."
    if isinstance(error, OverBudget):
        return (
            f"The tokens of today for questions without a key are used up, {_BY_WORDS_ALONE} Ask again after 00:00 UTC."
        )
    return f"The embedding service does not answer, {_BY_WORDS_ALONE} Ask again in a minute."
