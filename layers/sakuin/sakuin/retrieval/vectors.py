"""Vectors of questions, and what happens when the embedding service fails or rejects one."""

import hashlib
import logging
from typing import Literal

from sakuin.errors import Invalid, Misconfigured, Refused, SakuinError, Unavailable
from sakuin.platform.embedding import QuestionEmbedder, Vector

logger = logging.getLogger(__name__)

# What a search compares: meaning and words, or one of them.
SearchMode = Literal["both", "words", "vectors"]

_BY_WORDS_ALONE = "so only words were compared, not meaning. Results may be missing."


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


def _degraded(error: SakuinError) -> str:
    if isinstance(error, Refused | Misconfigured):
        return (
            f"The embedding service rejects this deployment, {_BY_WORDS_ALONE} The operator has to fix the API key or "
            "the embedding settings."
        )
    if isinstance(error, Invalid):
        return f"The embedding service rejects this question, {_BY_WORDS_ALONE} Ask in other words."
    return f"The embedding service does not answer, {_BY_WORDS_ALONE} Ask again in a minute."
