"""The data of text analysis: words for the index, and questions as they are searched."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

# Words behind this place are not indexed: one SQL statement could not write them all.
LONGEST_BODY = 100_000  # characters


@dataclass(frozen=True, slots=True)
class IndexedWords:
    """The terms and readings of one text, as the index stores them.

    `impacts`: the weight of each term, (0-1]; multiplied by the term's IDF it is the term's share of BM25F.
    `readings`: pairs of a katakana reading and its spelling in this text. They resolve questions written in kana.
    `spelled`: words of scripts with spaces, as the text spells them, with their terms. They say what is no typo.
    """

    impacts: Mapping[str, float]
    readings: frozenset[tuple[str, str]]
    spelled: Mapping[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Readings with their spellings; a word of a script with spaces is its own reading."""
        return self.readings | {(word, word) for word in self.spelled}


# word     a normalised word, a concept of the vocabulary or a formula
# gram     what counts little and is never shown as matched: character grams, and typed words that no other slot has
SlotKind = Literal["word", "gram"]
# Rules of query analysis that can be switched off; a rewrite step carries the name of its rule.
Rule = Literal["notation", "rewriting", "typos", "synonyms", "english", "grams", "examples"]


# The first character of a term that names a concept of the vocabulary.
CONCEPT_SIGN = "#"


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing that a question asks for, as alternative terms. The best matching term of a chunk counts."""

    kind: SlotKind
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """One change of a question: the rule `rule` interpreted `found` as `read_as`.

    `folder`: the folder whose pages it concerns, with a slash at its end; empty for all.
    """

    rule: str
    found: str
    read_as: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class LexiconLookup:
    """The words to look up in the index's lexicon before a question is analyzed.

    `readings`: katakana readings of all possible words in kana, and of the words in kanji.
    `words`: words that may have a typo, with their readings: in katakana, or the word itself in a script with spaces.
    Terms of which only the presence matters have an empty reading.
    """

    readings: frozenset[str]
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LexiconEntries:
    """The lexicon's answer to a `LexiconLookup`.

    `spellings`: by reading, the spellings in the index, the most frequent first.
    `similar`: by word that the index does not have, spellings whose reading is one or two edits away, the closest and
    most frequent first.
    `known`: the words and terms of the lookup that the index has. They are correct as typed.
    `synonyms`: groups of phrases that mean the same, of which the question may have one. They are by the folder whose
    pages they apply to, with a slash at its end; those of "" apply everywhere.
    `live`: the id of the live index version; None before the first.
    """

    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    similar: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synonyms: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    live: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "LexiconEntries":
        """Returns what the SQL functions `lexicon_entries` and `table_lexicon_entries` answer."""
        spellings, similar = ({word: tuple(forms) for word, forms in row[kind].items()} for kind in ("written", "near"))
        groups: dict[str, list[tuple[str, ...]]] = {}
        for group in row["synonyms"]:
            groups.setdefault(group["folder"], []).append(tuple(group["phrases"]))
        return cls(spellings, similar, groups, frozenset(row["known"]), row["live"])


# number: 1,046 and 第四条; code: CVE-2024-3094, set_cookie(), macOS, ISO; name: 佐藤, Marseille.
SpecificKind = Literal["number", "code", "name"]


@dataclass(frozen=True, slots=True)
class Specific:
    """A number, a code or a name of a question, as typed. `forms` are what a text may have of it."""

    text: str
    kind: SpecificKind
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lack:
    """What the best text lacks of a question: `absent` are the specifics, as typed, that no other text has either.

    `doubts` are the kinds of what it lacks, and `absent_` with the kinds of what no text has. Beside formulas, and
    in an exercise, a number is an example, and no doubt.
    """

    doubts: frozenset[str] = frozenset()
    absent: tuple[str, ...] = ()


NO_LACK = Lack()


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """A question ready for the search. The same question and lexicon entries give the same result.

    `text` is embedded, `slots` are searched by words; for the pages below a folder of `folder_slots`, its slots are.
    `steps` explain the changes, `understood_as` is the question with them (None without changes). With `wants_example`,
    examples rank without their usual penalty. `known` are the typed words that the index has, `changed` those of them
    that are not searched as typed. `added` are the searched words that no typed word has. `specifics` are what a
    text in the question's `language` has to have. `asks_nothing`: it has stop words or signs alone.
    """

    query: str
    text: str
    slots: tuple[Slot, ...]
    steps: tuple[RewriteStep, ...] = ()
    wants_example: bool = False
    understood_as: str | None = None
    known: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    folder_slots: Mapping[str, tuple[Slot, ...]] = field(default_factory=dict)
    specifics: tuple[Specific, ...] = ()
    language: str = "/"
    asks_nothing: bool = False

    def with_results(self, matched: Iterable[Collection[str]]) -> "AnalyzedQuery":
        """Returns the question with `understood_as` only if a result has an added word; `matched` has those of each."""
        changes = self.understood_as and any(not set(self.added).isdisjoint(words) for words in matched)
        return self if changes else replace(self, understood_as=None)
