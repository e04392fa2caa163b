"""Typos in a question: conversions into wrong kanji, wrong keys, missing letters.

Only words of the index are meant, and only what neither the index nor a word list has is a typo. Corrections are added.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from sakuin.language.analysis import analyze_canonical
from sakuin.language.model import LexiconEntries
from sakuin.language.morphemes import Morpheme
from sakuin.language.questions.draft import Replacement
from sakuin.language.questions.function_words import is_english_word
from sakuin.language.questions.kana import kana_word_candidates
from sakuin.language.readings import SPELLED_WORD
from sakuin.language.vocabulary import Concept, Vocabulary, longest_mentions

LONGEST_COMPOUND = 8  # morphemes
LONGEST_READING = 24  # kana
# Shorter readings have too many homophones.
SHORTEST_READING = 3
# Shorter words of a script with spaces have too many neighbours.
SHORTEST_SPELLED = 5
_ALIKE = 0.8  # one wrong letter of five


class _Piece(NamedTuple):
    start: int
    end: int
    reading: str
    morphemes: int


def possible_typos(text: str, lexicon: LexiconEntries, vocabulary: Vocabulary) -> list[Replacement]:
    """Returns the typos in a canonical question, without overlaps. What the index or the vocabulary knows is no typo.

    In order of precedence: compounds with the reading of another word of the index or the vocabulary (判別指揮), words
    one or two edits from a word of the index. What is meant is always a word or a concept of the index.
    """
    right = [False] * len(text)
    for mention in longest_mentions(vocabulary.mentions(text)):
        right[mention.start : mention.end] = [True] * (mention.end - mention.start)
    pieces = sorted(_pieces(text), key=lambda one: (one.start - one.end, one.start))
    for piece in pieces:
        written = text[piece.start : piece.end]
        if written in lexicon.known or written in lexicon.spellings.get(piece.reading, ()):
            right[piece.start : piece.end] = [True] * (piece.end - piece.start)
    typos: list[Replacement] = []
    for typo in _candidates(text, lexicon, vocabulary, pieces, right):
        if typo.meant != text[typo.start : typo.end] and not all(right[typo.start : typo.end]):
            typos.append(typo)
            right[typo.start : typo.end] = [True] * (typo.end - typo.start)
    return _without_overlaps(typos)


def possible_concepts(text: str, vocabulary: Vocabulary) -> Iterator[Concept]:
    """Yields the concepts that are read like a part of a canonical question."""
    for piece in _pieces(text) if vocabulary.concepts else ():
        if found := vocabulary.with_reading(piece.reading):
            yield found[1]


def _is_typo_of(word: str, meant: str) -> bool:
    """Returns whether a word is `meant` with a typo or, if it is long, with two. Few typos are in the first letter.

    Words that differ in the last two letters alone are probably forms of one word: serve and server.
    """
    ending = max(len(word), len(meant)) - 2
    may_be = word[0] == meant[0] and word[:ending] != meant[:ending] and len(word) >= SHORTEST_SPELLED
    return may_be and SequenceMatcher(None, word, meant, autojunk=False).ratio() >= _ALIKE


def spelled_words(text: str) -> Iterator[tuple[int, Morpheme]]:
    """Yields position and morpheme of the words of scripts with spaces that are long enough for a typo."""
    at = 0
    for line in analyze_canonical(text).lines:
        for morpheme in line:
            long_enough = len(morpheme.surface) >= SHORTEST_SPELLED
            if long_enough and morpheme.terms and SPELLED_WORD.fullmatch(morpheme.surface):
                yield at, morpheme
            at += len(morpheme.surface)


def _candidates(
    text: str, lexicon: LexiconEntries, vocabulary: Vocabulary, pieces: list[_Piece], right: list[bool]
) -> Iterator[Replacement]:
    # A single dictionary word is no typo, even if it is not a word of this subject.
    compounds = [piece for piece in pieces if piece.morphemes > 1]
    for piece in compounds:
        if len(piece.reading) < SHORTEST_READING or all(right[piece.start : piece.end]):
            continue
        if meant := next(iter(lexicon.spellings.get(piece.reading, ())), None):
            yield Replacement(piece.start, piece.end, meant)
        elif (named := vocabulary.with_reading(piece.reading)) and named[1].term in lexicon.known:
            yield Replacement(piece.start, piece.end, named[0])
    for start, word in kana_word_candidates(text):
        closest = next((form for form in lexicon.similar.get(word, ()) if form not in word), None)
        if closest and not _is_a_word(word) and not any(right[start : start + len(word)]):
            yield Replacement(start, start + len(word), closest)
    for start, morpheme in spelled_words(text):
        word = morpheme.surface
        if not lexicon.known.isdisjoint((word, *morpheme.terms)) or _is_a_word(word):
            continue
        if closest := next((form for form in lexicon.similar.get(word, ()) if _is_typo_of(word, form)), None):
            yield Replacement(start, start + len(word), closest)


def _is_a_word(text: str) -> bool:
    """Returns whether a text is a word of Sudachi's dictionary, or of the list of English words."""
    (line,) = analyze_canonical(text).lines
    is_known = bool(line[0].terms) and is_english_word(line[0].terms[0])
    return len(line) == 1 and (is_known or line[0].is_known)


def _without_overlaps(typos: list[Replacement]) -> list[Replacement]:
    chosen: list[Replacement] = []
    for typo in typos:
        if all(typo.end <= other.start or other.end <= typo.start for other in chosen):
            chosen.append(typo)
    return chosen


def _pieces(text: str) -> Iterator[_Piece]:
    """Yields every span with kanji that can be the conversion of a reading."""
    place = 0
    for line in analyze_canonical(text).lines:
        starts = list(accumulate((len(morpheme.surface) for morpheme in line), initial=place))
        place = starts[-1]
        has_kanji = [any(map(_is_ideograph, morpheme.surface)) for morpheme in line]
        for first in (at for at, morpheme in enumerate(line) if morpheme.terms):
            reading = ""
            for last in range(first, min(first + LONGEST_COMPOUND, len(line))):
                reading += line[last].reading
                if " " in reading or len(reading) > LONGEST_READING:
                    break
                if line[last].terms and any(has_kanji[first : last + 1]):
                    yield _Piece(starts[first], starts[last + 1], reading, last - first + 1)


def _is_ideograph(sign: str) -> bool:
    return "一" <= sign <= "鿿"
