"""Typos in a question: conversions into wrong kanji, wrong keys, missing letters.

Only words of the index are meant, and only what neither the index nor a word list has is a typo. Corrections are added.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sakuin.language.analysis import analyze_canonical
from sakuin.language.model import LexiconEntries
from sakuin.language.morphemes import Morpheme
from sakuin.language.numerals import DIGITS
from sakuin.language.questions.draft import Replacement
from sakuin.language.questions.kana import kana_word_candidates
from sakuin.language.readings import SPELLED_WORD
from sakuin.language.vocabulary import LONGEST_SPELLING, Concept, Vocabulary, longest_mentions

LONGEST_COMPOUND = 8  # morphemes
LONGEST_READING = 24  # kana
# Shorter readings have too many homophones.
SHORTEST_READING = 3
# Shorter words of a script with spaces have too many neighbours; from the second length on, two edits are a typo.
SHORTEST_SPELLED, SHORTEST_WITH_TWO = 5, 8
# Characters after a number: 三次, 四角, 二乗.
_COUNTERS = "次乗元倍角辺点項桁回個組番人枚"


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    reading: str
    morphemes: int


def possible_typos(text: str, lexicon: LexiconEntries, vocabulary: Vocabulary) -> list[Replacement]:
    """Returns the typos in a canonical question, without overlaps. What the index or the vocabulary knows is no typo.

    In order of precedence: compounds with the reading of another word of the index or the vocabulary (判別指揮),
    spellings of the vocabulary with one wrong kanji (余事像), words one or two edits from a word of the index. What is
    meant is always a word or a concept of the index.
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


def kana_typos(text: str, lexicon: LexiconEntries, recognized: Sequence[tuple[int, int]]) -> list[Replacement]:
    """Returns words in kana that are one or two edits from a word of the index and recognized only in part."""
    typos = []
    for start, word in kana_word_candidates(text):
        kana = sum(stop - begin for begin, stop in recognized if start <= begin and stop <= start + len(word))
        similar = lexicon.similar.get(word)
        if similar and 0 < kana < len(word):
            typos.append(Replacement(start, start + len(word), similar[0]))
    return typos


def edit_distance(one: str, other: str, *, most: int) -> int:
    """Returns the optimal string alignment distance of two words, or `most` + 1 if it is larger.

    Counts insertions, deletions, substitutions and transpositions of neighbours (restricted Damerau-Levenshtein).
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, sign in enumerate(one, start=1):
        following = [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (sign != wanted))
            if i > 1 and j > 1 and sign == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def possible_concepts(text: str, vocabulary: Vocabulary) -> Iterator[Concept]:
    """Yields the concepts that a canonical question may mean instead of what it says."""
    if not vocabulary.concepts:
        return
    for piece in _pieces(text):
        if found := vocabulary.with_reading(piece.reading):
            yield found[1]
    for place in range(len(text)):
        if _may_be_wrong(text, place) and (typo := _with_another_kanji(text, place, vocabulary)):
            yield vocabulary.japanese_spellings[typo.meant]
    for _, concept in _misspelled_phrases(text, vocabulary):
        yield concept


def _misspelled_phrases(text: str, vocabulary: Vocabulary) -> Iterator[tuple[Replacement, Concept]]:
    """Yields the phrases of the vocabulary of which all words but one stand in the text, and that one with a typo.

    One word alone is no evidence: friction is not a misspelled fraction.
    """
    words = list(vocabulary.latin_words(text))
    right = {word.stem for word in words}
    for phrase, concept in vocabulary.latin_phrases.items() if len(words) > 1 else ():
        if right.isdisjoint(phrase) or sum(word not in right for word in phrase) > 1:
            continue
        for first in range(len(words) - len(phrase) + 1):
            others = [(word, meant) for word, meant in zip(words[first:], phrase, strict=False) if word.stem != meant]
            if len(others) == 1 and _is_typo_of(others[0][0].stem, others[0][1]):
                word, meant = others[0]
                yield Replacement(word.start, word.end, meant), concept


def _is_typo_of(word: str, meant: str) -> bool:
    """Returns whether a word is `meant` with one typo, or with two if it is long. Few typos are in the first letter.

    Words that differ in the last two letters alone are probably forms of one word: serve and server.
    """
    most = 2 if len(word) >= SHORTEST_WITH_TWO else 1
    ending = max(len(word), len(meant)) - 2
    may_be = word[0] == meant[0] and word[:ending] != meant[:ending] and len(word) >= SHORTEST_SPELLED
    return may_be and edit_distance(word, meant, most=most) <= most


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
    for place in range(len(text)) if vocabulary.concepts else ():
        typo = _with_another_kanji(text, place, vocabulary) if _may_be_wrong(text, place) else None
        if typo and not right[place] and vocabulary.japanese_spellings[typo.meant].term in lexicon.known:
            yield typo
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
    for typo, concept in _misspelled_phrases(text, vocabulary):
        word = text[typo.start : typo.end]
        if concept.term in lexicon.known and word not in lexicon.known and not _is_a_word(word):
            yield typo


def _is_a_word(text: str) -> bool:
    """Returns whether a text is a word of Sudachi's dictionary, or of the list of English words."""
    (line,) = analyze_canonical(text).lines
    known = line[0].terms and f"\n{line[0].terms[0]}\n" in _english_words()
    return len(line) == 1 and bool(known or line[0].is_known)


@cache
def _english_words() -> str:
    return Path(__file__).with_name("english_words.txt").read_text("utf-8")


def _without_overlaps(typos: list[Replacement]) -> list[Replacement]:
    chosen: list[Replacement] = []
    for typo in typos:
        if all(typo.end <= other.start or other.end <= typo.start for other in chosen):
            chosen.append(typo)
    return chosen


def _pieces(text: str) -> Iterator[_Piece]:
    """Yields every span with kanji that can be the conversion of a reading."""
    places = 0
    for line in analyze_canonical(text).lines:
        starts = [places]
        for morpheme in line:
            starts.append(starts[-1] + len(morpheme.surface))
        places = starts[-1]
        for first in range(len(line)):
            reading = ""
            for last in range(first, min(first + LONGEST_COMPOUND, len(line))):
                reading += line[last].reading
                if " " in reading or len(reading) > LONGEST_READING:
                    break
                written = text[starts[first] : starts[last + 1]]
                if line[first].terms and line[last].terms and any(map(_is_ideograph, written)):
                    yield _Piece(starts[first], starts[last + 1], reading, last - first + 1)


def _with_another_kanji(text: str, place: int, vocabulary: Vocabulary) -> Replacement | None:
    """Returns the longest spelling of the vocabulary that differs from the text only by the kanji at `place`."""
    patterns = vocabulary.wildcards
    for size in range(min(LONGEST_SPELLING, len(text)), 2, -1):
        for start in range(max(0, place - size + 1), min(place, len(text) - size) + 1):
            end = start + size
            meant = patterns.get(f"{text[start:place]}\0{text[place + 1 : end]}")
            if meant and not _continues(text, start) and not _continues(text, end):
                return Replacement(start, end, meant)
    return None


def _continues(text: str, at: int) -> bool:
    """Returns whether a kanji compound continues across this position."""
    return 0 < at < len(text) and _is_ideograph(text[at - 1]) and _is_ideograph(text[at])


def _may_be_wrong(text: str, at: int) -> bool:
    sign, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if not _is_ideograph(sign):
        return False
    # Numbers are right: 三次関数 is a typo of neither 二次関数 nor 三角関数.
    is_of_number = sign in DIGITS or (before in DIGITS and sign in _COUNTERS)
    beside_kanji = any(_is_ideograph(beside) or beside.isdigit() for beside in (before, after) if beside)
    return not is_of_number and beside_kanji


def _is_ideograph(sign: str) -> bool:
    return "一" <= sign <= "鿿"
