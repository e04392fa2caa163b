"""The vector of a question, or why there is none."""

import logging

from sakuin.errors import Invalid, Misconfigured, Refused, SakuinError, Unavailable
from sakuin.platform.embedding import QuestionEmbedder, Vector
from sakuin.retrieval.legs import Legs

logger = logging.getLogger(__name__)


_BY_WORDS_ALONE = "so only words were compared, not meaning: what is not among the results may be there all the same."


def question_vector(embedder: QuestionEmbedder, text: str, *, legs: Legs) -> tuple[Vector | None, str | None]:
    """The vector, None where only words are asked; with it the sentence for who asked, where it could not be had.

    Who asks by meaning alone gets the error.
    """
    if legs == "words":
        return None, None
    try:
        return embedder.query(text), None
    except (Unavailable, Invalid, Misconfigured) as error:
        if legs == "vectors":
            raise
        logger.warning("searched by words alone: %s", error)
        return None, _degraded(error)


def _degraded(error: SakuinError) -> str:
    """For whoever asked: why, and whether asking again helps."""
    if isinstance(error, Refused | Misconfigured):
        return (
            f"The embedding service does not let this server in, {_BY_WORDS_ALONE} Those who keep the server have to "
            "mend that."
        )
    if isinstance(error, Invalid):
        return f"The embedding service does not take this question, {_BY_WORDS_ALONE} Ask in other words."
    return f"The embedding service does not answer, {_BY_WORDS_ALONE} Ask again in a minute."
