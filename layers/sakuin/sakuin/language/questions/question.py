"""A question as the index is asked it: what is embedded, which words are sought, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# word     a normalised word, a concept of the glossary, a piece of notation
# reading  a 3-gram of the kana reading
SlotKind = Literal["word", "reading"]


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term of the index that says what a slot asks for, with how well it says it (0-1]."""

    term: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing that a question asks for, in every way to say it: a chunk has it as much as it has the best of them."""

    kind: SlotKind
    terms: tuple[WeightedTerm, ...]


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """One thing that was done to a question: `found` was read as `read_as`, by the rule of this name."""

    rule: str
    found: str
    read_as: str


@dataclass(frozen=True, slots=True)
class LexiconLookup:
    """What must be looked up in the index before a question can be understood.

    `readings` are in katakana: every stretch that may be a word written in kana, and how words in kanji are read.
    `words` are words and compounds as they stand in the question, with their reading in katakana: one that the index
    does not read so may be a slip of the keyboard.
    """

    readings: frozenset[str]
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LexiconEntries:
    """What the index says of `LexiconLookup`.

    `written`: a reading's written forms, the most frequent first. `near`: of a word that the index does not have,
    the written forms whose reading is one or two keystrokes away, the nearest and most frequent first.
    `synonyms`: what the site's own list says is the same, phrase to phrases, for those that stand in the question.
    """

    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """A question after all that was done to it; the same question and index give the same.

    `wants_example`: an example is as good an answer as a rule.
    """

    query: str
    text: str
    slots: tuple[Slot, ...]
    steps: tuple[RewriteStep, ...] = ()
    wants_example: bool = False
