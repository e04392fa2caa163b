"""Formulas in a text, and the terms by which the index finds them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 60  # characters; nobody types a longer formula into a search
_RUN = re.compile(r"[a-zα-ω\d√△∠∫(|\-±][a-zα-ω\d√△∠∫^_()|/+\-=≤≥<>≠≈±×÷°%∥⊥∽≡∞:'!.,·]+")
_SIGN = re.compile(
    r"[\^_√/+=≤≥<>≠≈±×÷°%△∠∥⊥∽≡:!]|\d[-][\da-z]|[a-z]-\d|(?<![a-z])[a-z]-[a-z](?![a-z])|^-\w"
    r"|^(?:\d{1,2}|n)[cph](?:\d{1,2}|r|k)$"
)
_SIDE = re.compile(r"[^=≤≥<>≠,]+")
_JOINTS = frozenset(".,:'!-+=/×÷±<>")
_WORD = re.compile(r"[a-z]{4,}")
_FUNCTIONS = re.compile(r"sin|cos|tan|log|lim|max|min")
_CHOICE = re.compile(r"(?:\d{1,2}|n)([cph])(?:\d{1,2}|r|k)")
_PARTS = re.compile(r"[=≤≥<>≠≈∥⊥∽≡:,+\-±×÷()|]+")
_ATOM = re.compile(r"[a-zα-ω\d]\^[a-z\d]|√[a-z\d]+|\d+/\d+")
_COEFFICIENT = re.compile(r"(?:\d+(?:\.\d+)?|(?<![a-z])[abckmpqr])(?=[xyθ√(])")
_UNKNOWN = re.compile(r"[xyθn]")
_RELATED = re.compile(r"[=^≤≥<>]")
_ZERO = re.compile(r"(?<==)n$")
_FIRST_SIGN = re.compile(r"(^|[=(≤≥<>])\++")
_CONSTANT = re.compile(r"(?<![\^\d/.a-z_])(?:\d+(?:\.\d+)?(?:/\d+)?|[abckmpqr])(?![\d/a-z^(])")


# Signs that stand in formulas alone. Others stand between words, too: TCP/IP, id=5, 1990-2000.
_CERTAIN = re.compile(r"[\^√≤≥≠≈±×÷∫△∠°∥⊥∽≡∞]")
_WORD_OR_YEAR = re.compile(r"[a-z]{2,}|\d{3,}")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: `whole`, `parts` (the terms between its signs, with their powers and roots), and its `shape`.

    The shape abstracts from numbers and coefficients: `x^2-7x+12=0` and `ax^2+bx+c=0` both have `:x^2+x+n=0`.
    """

    whole: str
    parts: tuple[str, ...]
    shape: str | None


def formulas(text: str) -> Iterator[tuple[int, int, Formula]]:
    """Yields start, end and content of every formula in a canonical text."""
    for match in _RUN.finditer(text):
        run = match[0]
        for start, end, formula in _known_run(run) if len(run) <= LONGEST else _in_run(run):
            yield match.start() + start, match.start() + end, formula


def without_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the spans of a formula in a canonical text that are no words: all of it if it is certainly a formula."""
    if not _CERTAIN.search(text, start, end):
        for word in _WORD_OR_YEAR.finditer(text, start, end):
            yield start, word.start()
            start = word.end()
    yield start, end


def _in_run(run: str) -> tuple[tuple[int, int, Formula], ...]:
    """Returns start, end and content of the formulas in signs without spaces, which can also be a word."""
    if not _SIGN.search(run):
        return ()
    pieces = [(start, end, run[start:end]) for start, end in _pieces(run)]
    return tuple(
        (start, end, _formula(piece))
        for start, end, piece in pieces
        if 1 < len(piece) <= LONGEST and _SIGN.search(piece) and not _is_prose(piece)
    )


def _is_prose(piece: str) -> bool:
    return bool(_WORD.search(piece) and _WORD.search(_FUNCTIONS.sub("0", piece)))


_known_run = lru_cache(maxsize=4096)(_in_run)


def _pieces(run: str) -> Iterator[tuple[int, int]]:
    """Yields the span of a run, or of each side of its relations if it is long, without punctuation of the prose."""
    sides = ((0, len(run)),) if len(run) <= LONGEST else ((m.start(), m.end()) for m in _SIDE.finditer(run))
    for begin, stop in sides:
        start, end = begin, stop
        while end > start and (run[end - 1] in _JOINTS or (run[end - 1] == ")" and _surplus(run[start:end]) > 0)):
            end -= 1
        while start < end and run[start] == "(" and _surplus(run[start:end]) < 0:
            start += 1
        yield start, end


def _surplus(run: str) -> int:
    return run[-LONGEST:].count(")") - run[-LONGEST:].count("(")


def _formula(run: str) -> Formula:
    parts = [part for part in _PARTS.split(run) if len(part) > 1 and not part.isdigit()]
    if "^" in run or "√" in run or "/" in run:
        parts += [atom for part in parts for atom in _ATOM.findall(_FUNCTIONS.sub(" ", part)) if atom != part]
    names = tuple(dict.fromkeys(part for part in parts if part != run))
    return Formula(run, names[:12], _shape(run))


def _shape(run: str) -> str | None:
    if choice := _CHOICE.fullmatch(run):
        return f":n{choice[1]}r"
    if "," in run or not _UNKNOWN.search(run) or not _RELATED.search(run):
        return None
    shape = _COEFFICIENT.sub("", run.replace("-", "+"))
    shape = _CONSTANT.sub("n", shape)
    if run.endswith("=0"):
        shape = _ZERO.sub("0", shape)
    return ":" + _FIRST_SIGN.sub(r"\1", shape)
