"""Formulas in a text, and the terms by which the index finds them."""

import re
from collections.abc import Iterator
from functools import lru_cache

from sakuin.language.morphemes import LONGEST_TERM

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
_PARTS = re.compile(r"[=≤≥<>≠≈∥⊥∽≡:,+\-±×÷()|]+")

# Signs that stand in formulas alone. Others stand between words, too: TCP/IP, id=5, 1990-2000.
_CERTAIN = re.compile(r"[\^√≤≥≠≈±×÷∫△∠°∥⊥∽≡∞]")
_WORD_OR_YEAR = re.compile(r"[a-z]{2,}|\d{3,}")


# Start and end of a formula, and its terms.
Formula = tuple[int, int, tuple[str, ...]]


def formulas(text: str) -> Iterator[Formula]:
    """Yields the formulas in a canonical text. Their terms are the whole, and what is between relations and signs."""
    for match in _RUN.finditer(text):
        run = match[0]
        for start, end, terms in _known_run(run) if len(run) <= LONGEST else _in_run(run):
            yield match.start() + start, match.start() + end, terms


def without_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the spans of a formula in a canonical text that are no words: all of it if it is certainly a formula."""
    if not _CERTAIN.search(text, start, end):
        for word in _WORD_OR_YEAR.finditer(text, start, end):
            yield start, word.start()
            start = word.end()
    yield start, end


def _in_run(run: str) -> tuple[Formula, ...]:
    """Returns the formulas in signs without spaces, which can also be a word."""
    if not _SIGN.search(run):
        return ()
    pieces = [(start, end, run[start:end]) for start, end in _pieces(run)]
    return tuple(
        (start, end, _terms(piece))
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


def _terms(run: str) -> tuple[str, ...]:
    parts = [part for part in _PARTS.split(run) if len(part) > 1 and not part.isdigit()]
    names = (name for name in dict.fromkeys((run, *parts[:12])) if len(name.encode()) <= LONGEST_TERM)
    return tuple(names) or (run[:12],)
