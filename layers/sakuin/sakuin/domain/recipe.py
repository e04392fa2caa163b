"""What of an explanation is embedded, and how an index names what its vectors were made with."""

import hashlib
import json
from dataclasses import asdict, dataclass

from sakuin.domain.page import Explanation

# A change of either builds every chunk again; the analyzer's code is `sakuin.domain.language.analysis`.
RECIPE = "title+headings+learns+content/1"
ANALYZER = "sudachi-small-A+kana3/1"
# OpenAI takes 8,192 tokens a text; Japanese is about one token a character.
EMBEDDED_LENGTH = 6000


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model with everything that changes its vectors.

    `dimensions` is what the endpoint is asked for; the prefixes go before queries and passages
    (e5 models want them, OpenAI's do not).
    """

    name: str
    dimensions: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What an index was built with. Vectors of two fingerprints are never compared."""

    model: EmbeddingModel
    recipe: str
    analyzer: str

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        parts = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


def whole_text(explanation: Explanation, learns: tuple[str, ...], page_title: str) -> str:
    """All that an explanation can be found by: its name, where it stands, what it teaches, what it says."""
    where = " > ".join(dict.fromkeys((page_title, *explanation.headings)))
    parts = (explanation.title, where, "、".join(learns), explanation.content)
    return "\n".join(part for part in parts if part)


def embedded_text(whole: str) -> str:
    """The part of a whole text whose vector stands for it."""
    return whole[:EMBEDDED_LENGTH]


def text_hash(text: str) -> str:
    """SHA-256 hex of a text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
