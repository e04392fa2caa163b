"""The parts of a text: passages that overlap, so that what belongs together is whole in one of them."""

import re

from sakuin.retrieval.vectors import text_hash

# Han, kana, Hangul and full-width signs (Unicode Standard Annex 11): three of them say as much as five Latin letters.
_A_WIDE = "[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]"
# Python finds runs several times faster than each sign, and a class before its own repetition faster than "+".
_WIDE = re.compile(f"{_A_WIDE}{_A_WIDE}*")

# An embedding model compares this much best: docs/explanation/how-a-question-is-answered.md.
_EMBEDDED = 300
# Words are close within a third of it, about one long sentence, or two.
CLOSE = _EMBEDDED // 3


def embedded_passages(text: str, *, title: str = "", learns: str = "") -> dict[str, str]:
    """Returns the texts to embed for a text, with its title before each of them, by the names of their vectors.

    A name is the hash of title and text, and the number of the passage unless it is the first. `learns` say what the
    text is for; they are one passage more, before the others, with a name of its own.
    """
    whole = text_hash(_titled(title, text))
    parts = passages(text, wide=_EMBEDDED)
    first = {f"{text_hash(learns)}/learns": learns} if learns else {}
    return first | {f"{whole}/{number}" if number else whole: _titled(title, part) for number, part in enumerate(parts)}


def _titled(title: str, text: str) -> str:
    return f"{title}\n{text}" if title and text else title or text


def passages(text: str, *, wide: int) -> list[str]:
    """Returns the passages of a text in its order: a text that is short enough is one.

    A passage has `wide` characters if most of the text's are wide, else two thirds more. The next one begins two thirds
    of a passage later.
    """
    length = wide if 2 * len(_WIDE.sub("", text)) < len(text) else wide + wide * 2 // 3
    if len(text) <= length:
        return [text]
    further = -(-(len(text) - length) // (length * 2 // 3))
    starts = ((len(text) - length) * number // further for number in range(further + 1))
    return [text[start : start + length] for start in starts]
