"""An exact text as a pattern of Postgres for the lines of a stored text.

Each character stands for all that are the same when folded, and a power for both its forms: to fold each text in the
database would take ten times as long. The pattern has no repetitions, so that Postgres reads each text once.
"""

import re
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import chain

from sakuin.language.unicode_text import folded, nfkc, visible

_SPECIAL = frozenset("\\^$.[]{}()|*+?-")
# Where Unicode has characters for compatibility that stand for one other: up to the letters of mathematics.
_COMPATIBLE = chain(range(0xA0, 0x3400), range(0xF900, 0x10000), range(0x1D400, 0x1D800))
_HALF_WIDTH = re.compile("[\uff66-\uff9f]+")
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_AS_POWERS = str.maketrans({raised: f"^{digit}" for digit, raised in enumerate(_RAISED)})
_POWER_OR_OTHER = re.compile(r"\^([0-9])|.", re.DOTALL)


def exact_pattern(text: str) -> str:
    """Returns the pattern of lines that contain a text."""
    return f"(?n){_same_text(_HALF_WIDTH.sub(lambda kana: nfkc(kana[0]), visible(text)))}"


def _same_text(text: str) -> str:
    """Returns what matches a text, each character by itself: a rule of folding for words could change its end."""
    powers = _POWER_OR_OTHER.finditer(text.translate(_AS_POWERS))
    return "".join(_power(int(found[1])) if found[1] else _same(found[0]) for found in powers)


def _power(digit: int) -> str:
    return rf"(?:\^\{{?{digit}\}}?|{_RAISED[digit]})"


@cache
def _other_forms() -> dict[str, str]:
    """Returns, by folded character, the others that become it."""
    forms: defaultdict[str, str] = defaultdict(str)
    for other in map(chr, _COMPATIBLE):
        if (form := folded(other)) != other and len(form) == 1:
            forms[form] += other
    return forms


def _same(character: str) -> str:
    """Returns what matches a character, also in several parts: a letter and its marks, the letters of a ligature."""
    members = _members(character)
    same = members if members == _escaped(character) else f"[{members}]"
    form, apart = folded(character), unicodedata.normalize("NFD", character)
    parts = form if len(form) > 1 else apart if apart != character else ""
    return f"(?:{same}|{''.join(map(_same, parts))})" if parts else same


def _members(character: str) -> str:
    """Returns the members of a class that are the same as a character."""
    form = folded(character)
    cases = (case for case in (character, form, form.upper()) if len(case) == 1)
    return "".join(map(_escaped, dict.fromkeys((*cases, *_other_forms().get(form, "")))))


def _escaped(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character
