"""What of an explanation is embedded, and how an index names what its vectors were made with."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sakuin.domain.page import Explanation

# A change of either builds every chunk again; the analyzer's code is `sakuin.domain.language`.
RECIPE = "title+headings+learns+content/1"
ANALYZER = "sudachi-small-A+kana3+notation+glossary/2"
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
    """What an index was built with. Only vectors of the same `space` are ever compared."""

    model: EmbeddingModel
    recipe: str
    analyzer: str

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        return digest(asdict(self))

    @property
    def space(self) -> str:
        """16 hex digits of what makes vectors comparable: all but the analyzer. SQL's `space_of` gives the same."""
        model = self.model
        parts = (model.name, str(model.dimensions), model.query_prefix, model.passage_prefix, self.recipe)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def digest(parts: Mapping[str, object]) -> str:
    """16 hex digits, the same for the same parts in any order."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def whole_text(explanation: Explanation, learns: tuple[str, ...], page_title: str) -> str:
    """All that an explanation can be found by: its name, where it stands, what it teaches, what it says."""
    parts = (explanation.title, _where(explanation, page_title), "、".join(learns), explanation.content)
    return "\n".join(part for part in parts if part)


def body_text(explanation: Explanation, page_title: str) -> str:
    """The same without its name and what it teaches, whose words count more."""
    return "\n".join(part for part in (_where(explanation, page_title), explanation.content) if part)


def embedded_text(whole: str) -> str:
    """The part of a whole text whose vector stands for it."""
    return whole[:EMBEDDED_LENGTH]


def text_hash(text: str) -> str:
    """SHA-256 hex of a text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _where(explanation: Explanation, page_title: str) -> str:
    return " > ".join(dict.fromkeys((page_title, *explanation.headings)))
