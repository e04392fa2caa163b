"""Japanese terms of English questions, from the vocabulary."""

import re
from collections.abc import Sequence, Set

from sakuin.language.analysis import analyze_canonical
from sakuin.language.letters import stem
from sakuin.language.questions.slots import Phrasing, QueryUnit, add_phrasings, merge_concepts, query_units
from sakuin.language.vocabulary import ConceptMention, Vocabulary, longest_mentions

_WORD = re.compile(r"[a-z]+(?:'[a-z]*)?")
_AUXILIARIES = frozenset({"do", "does", "did"})
_PRONOUNS = frozenset({"i", "you", "we", "they", "he", "she", "it", "this", "that"})
_BEFORE_NOUNS = frozenset({"a", "an", "the", "of", "and", "or"})
_OTHER_LETTERS = re.compile(r"[^\W\d_a-zà-ɏα-ωḀ-ỿ]")


def is_latin(text: str) -> bool:
    """Returns whether a canonical text has words in Latin letters and no letters of other scripts."""
    return not _OTHER_LETTERS.search(text) and any(len(word) > 2 for word in _WORD.findall(text))


def is_verb(text: str, mention: ConceptMention, stop: Set[str]) -> bool:
    """Returns whether a stop word of an English question, which names a concept, is its verb: "does error 7 mean".

    After a pronoun the verb is the next word: "do you mean", but not "do I find the mean".
    """
    words = text[: mention.start].split()
    places = [place for place, word in enumerate(words) if word in _AUXILIARIES]
    subject = words[places[-1] + 1 :] if places else []
    is_stop_word = text[mention.start : mention.end] in stop
    return is_stop_word and bool(subject) and subject[-1] not in _BEFORE_NOUNS and _PRONOUNS.isdisjoint(subject[:-1])


def translate(
    text: str,
    units: Sequence[QueryUnit],
    mentions: Sequence[ConceptMention],
    vocabulary: Vocabulary,
    known: Set[str] = frozenset(),
) -> tuple[list[QueryUnit], tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Returns the units of a canonical question with Japanese variants, whose own words stay.

    Also returns the Japanese names of words that the index lacks, and the spans of such concepts, in order. `known` are
    the words that the index has; they need no Japanese name.
    """
    names: list[tuple[int, str]] = []
    merged = list(units)
    for mention in mentions:
        phrasings: dict[Phrasing, None] = {}
        for concept in mention.concepts:
            spelling = vocabulary.canonical(concept.japanese[0]) if concept.japanese else ""
            names.append((mention.start, spelling))
            words = query_units(analyze_canonical(spelling))
            inner = merge_concepts(words, longest_mentions(vocabulary.mentions(spelling)))
            phrasings.update(dict.fromkeys(phrasing for unit in inner for phrasing in unit.phrasings))
        merged = add_phrasings(merged, mention.start, mention.end, list(phrasings))
    for unit in units:
        word = text[unit.start : unit.end]
        forms = vocabulary.words.get(word) or vocabulary.words.get(stem(word)) or ()
        if forms and not any(mention.start <= unit.start < mention.end for mention in mentions):
            names += [(unit.start, form) for form in forms[:1]]
            merged = add_phrasings(merged, unit.start, unit.end, [(form,) for form in forms])
    lacking = [unit.start for unit in units if not _is_known(unit, known)]
    spans = {mention.start: mention.end for mention in mentions}
    missing_names = [
        name
        for start, name in sorted(names)
        if name and any(start <= place < spans.get(start, start + 1) for place in lacking)
    ]
    translated = [
        (mention.start, mention.end)
        for mention in mentions
        if any(mention.start <= place < mention.end for place in lacking)
    ]
    return merged, tuple(dict.fromkeys(missing_names)), tuple(sorted(translated))


def _is_known(unit: QueryUnit, known: Set[str]) -> bool:
    return all(term in known for term in unit.phrasings[0])
