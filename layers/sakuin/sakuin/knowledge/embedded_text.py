"""The text of an explanation that is embedded."""

from sakuin.knowledge.page import Explanation

# OpenAI takes 8,192 tokens a text; Japanese is about one token a character.
EMBEDDED_LENGTH = 6000


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


def _where(explanation: Explanation, page_title: str) -> str:
    return " > ".join(dict.fromkeys((page_title, *explanation.headings)))
