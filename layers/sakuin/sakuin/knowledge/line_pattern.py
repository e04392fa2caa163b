r"""Exact text and a safe subset of regular expressions, as patterns of Postgres for the lines of a stored text.

Postgres matches an expression without captures and backreferences with an automaton, in time proportional to the text.
The subset has literals, `.`, `[…]`, `\d \w \s \b` and their opposites, `^ $`, `|`, groups, and the quantifiers
`* + ? {m,n}`. Its size is limited with all repetitions written out. Each character stands for all that are the same
when folded, and a power for both its forms: to fold each text in the database would take ten times as long.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain

from sakuin.errors import Invalid
from sakuin.language.unicode_text import folded, nfkc, visible

LONGEST_PATTERN = 200  # characters
# Characters and classes, with repetitions written out. 300 take milliseconds to compile.
LARGEST_PATTERN = 300
_DEEPEST = 20
# Members of a range whose other forms belong to it, too.
_LARGEST_RANGE = 200
_ESCAPES = {**{letter: rf"\{letter}" for letter in "DwWsS"}, "d": r"[\d０-９]", "b": r"\y", "B": r"\Y", "t": r"\t"}
_QUANTIFIER = re.compile(r"([*+?]|\{([0-9]{1,3})(,([0-9]{0,3}))?\})([?+]?)")
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


def postgres_pattern(pattern: str) -> str:
    """Returns the pattern for an expression. Raises `Invalid` for what the subset does not have."""
    if len(pattern) > LONGEST_PATTERN:
        raise Invalid(f"'pattern' has {len(pattern):,} characters; the limit is {LONGEST_PATTERN}")
    reader = _Reader(visible(pattern))
    part = reader.alternatives(depth=0)
    if reader.place < len(reader.pattern):
        raise reader.invalid("has a `)` without `(`")
    # Newlines end a line for `^`, `$`, `.` and `[^…]`.
    return f"(?n){part.text}"


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    size: int


@dataclass(slots=True)
class _Reader:
    pattern: str
    place: int = 0

    def invalid(self, problem: str) -> Invalid:
        return Invalid(f"'pattern' {problem}, at character {self.place + 1}. Send a simpler one, or `text`")

    def alternatives(self, *, depth: int) -> _Part:
        if depth > _DEEPEST:
            raise self.invalid(f"has more than {_DEEPEST} groups in each other")
        texts: list[str] = [""]
        size = 1
        while (character := self._next()) not in ("", ")"):
            self.place += 1
            if character == "|":
                texts.append("")
                continue
            part = self._quantified(self._atom(character, depth=depth))
            texts[-1] += part.text
            size += part.size
            if size > LARGEST_PATTERN:
                raise self.invalid(f"is too large with its repetitions: over {LARGEST_PATTERN} characters and classes")
        # An empty alternative is an error in Postgres.
        return _Part("|".join(text or "(?:)" for text in texts), size)

    def _next(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def _atom(self, character: str, *, depth: int) -> _Part:
        match character:
            case "(":
                return self._group(depth)
            case "[":
                return self._bracket()
            case "\\":
                return _Part(self._escape(), 1)
            case "." | "^" | "$":
                return _Part(character, 1)
            case "*" | "+" | "?" | "{":
                self.place -= 1
                raise self.invalid(
                    rf"has `{character}` with nothing to repeat (write `\{character}` for the character)"
                )
            case _:
                return _literal(character)

    def _group(self, depth: int) -> _Part:
        if self._next() == "?":
            if not self.pattern.startswith("?:", self.place):
                raise self.invalid("has `(?`: only groups `(…)` and `(?:…)` are possible")
            self.place += 2
        inner = self.alternatives(depth=depth + 1)
        if self._next() != ")":
            raise self.invalid("has a `(` without `)`")
        self.place += 1
        return _Part(f"(?:{inner.text})", inner.size)

    def _escape(self) -> str:
        letter = self._next()
        self.place += 1
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if not letter or letter.isalnum():
            self.place -= 1
            raise self.invalid(rf"has `\{letter}`: only \d \w \s \b, their opposites, \t and signs are possible")
        return _literal(letter).text

    def _bracket(self) -> _Part:
        inner, first = "", True
        if self._next() == "^":
            inner, self.place = "^", self.place + 1
        while (character := self._next()) != "]" or first:
            self.place += 1
            if not character:
                raise self.invalid("has a `[` without `]`")
            inner += self._member(character)
            first = False
        self.place += 1
        return _Part(f"[{inner}]", 1)

    def _member(self, character: str) -> str:
        """Returns a member of a class: a range, an escape, or a character."""
        if character == "\\" and self._next() in ("d", "w", "s"):
            return self._escape().strip("[]")
        low = self._end_of_range(character)
        if self._next() != "-" or self.pattern[self.place + 1 : self.place + 2] in ("", "]"):
            return _members(low)
        self.place += 2
        high = self._end_of_range(self.pattern[self.place - 1])
        if low > high:
            raise self.invalid("has a range that ends before it begins")
        between = map(chr, range(ord(low), ord(high) + 1)) if ord(high) - ord(low) < _LARGEST_RANGE else ()
        return f"{_escaped(low)}-{_escaped(high)}{_members(between)}"

    def _end_of_range(self, character: str) -> str:
        if character == "\\":
            character = self._next()
            self.place += 1
            if not character or character.isalnum():
                raise self.invalid(rf"has `\{character}` in a class")
        return character

    def _quantified(self, part: _Part) -> _Part:
        found = _QUANTIFIER.match(self.pattern, self.place)
        if found is None:
            return part
        self.place = found.end()
        whole, least, comma, most, _ = found.groups()
        times = int(most or least) if least is not None else 1
        if most and int(most) < int(least):
            raise self.invalid("has a repetition whose end is before its beginning")
        if times * part.size > LARGEST_PATTERN:
            raise self.invalid(f"is too large with its repetitions: over {LARGEST_PATTERN} characters and classes")
        if self._next() in ("*", "+", "?") or _QUANTIFIER.match(self.pattern, self.place):
            raise self.invalid("has two quantifiers in a row")
        # Whether a quantifier is greedy makes no difference to whether a line matches.
        return _Part(f"(?:{part.text}){whole}", part.size * max(times, 1) + bool(comma))


def _literal(character: str) -> _Part:
    return _Part(_same_text(character), max(1, len(folded(character))))


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
    one = _members(character)
    one = one if one == _escaped(character) else f"[{one}]"
    form, apart = folded(character), unicodedata.normalize("NFD", character)
    parts = form if len(form) > 1 else apart if apart != character else ""
    return f"(?:{one}|{''.join(map(_same, parts))})" if parts else one


def _members(characters: Iterable[str]) -> str:
    """Returns the members of a class that are the same as some characters."""
    members: dict[str, None] = {}
    for character in characters:
        form = folded(character)
        cases = (each for each in (character, form, form.upper()) if len(each) == 1)
        members |= dict.fromkeys((*cases, *_other_forms().get(form, "")))
    return "".join(map(_escaped, members))


def _escaped(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character
