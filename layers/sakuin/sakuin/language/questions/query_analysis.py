"""Analysis of a question: its slots for the search by words, its text for the embedding, and every rewrite step."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sakuin.language.analysis import analyze_canonical, blanked
from sakuin.language.concepts import concept_mentions, find_phrase, longest_mentions, spelling_of_reading
from sakuin.language.letters import to_katakana
from sakuin.language.model import AnalyzedQuery, LexiconEntries, LexiconLookup, RewriteStep
from sakuin.language.notation import canonical
from sakuin.language.questions.conversation import example_request, filler_spans
from sakuin.language.questions.kana import kana_rewrites, kana_word_candidates, possible_readings
from sakuin.language.questions.slots import (
    QueryUnit,
    gram_slots,
    merge_concepts,
    merge_synonyms,
    query_units,
    word_slots,
)
from sakuin.language.questions.translation import corrected_english, is_english, translate
from sakuin.language.questions.typos import Typo, kana_typos, possible_typos
from sakuin.language.readings import compounds
from sakuin.language.unicode_text import folded, storable

LONGEST_QUESTION = 1000  # characters; the rest is ignored
MOST_READINGS = 2000
MOST_WORDS = 60
MOST_SYNONYMS = 20  # phrases in one question, the longest first
_SPACES = re.compile(r"\s+")
_IDEOGRAPH = re.compile(r"[一-鿿]")

Synonyms = Mapping[str, tuple[str, ...]]
Replacement = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    steps: tuple[RewriteStep, ...] = ()

    def with_replaced(self, rule: str, replacements: Iterable[Replacement]) -> "_Draft":
        """Returns the draft after replacements that do not overlap."""
        text = self.text
        steps: list[RewriteStep] = []
        for start, end, meant in sorted(replacements, reverse=True):
            text = text[:start] + meant + text[end:]
            steps.insert(0, RewriteStep(rule, self.text[start:end], meant))
        return _Draft(text, (*self.steps, *steps))

    def with_corrected(self, typos: Iterable[Typo]) -> "_Draft":
        return self.with_replaced("typos", ((typo.start, typo.end, typo.meant) for typo in typos))


def lexicon_lookup(query: str) -> LexiconLookup:
    """Returns what to look up in the index before `query` is analyzed, at most `MOST_READINGS` and `MOST_WORDS`."""
    text = _normalized(query, notation=True)
    if is_english(text):
        return LexiconLookup(frozenset(), {})
    readings = dict.fromkeys(possible_readings(text))
    words: dict[str, str] = {word: to_katakana(word) for _, word in kana_word_candidates(text)}
    for line in analyze_canonical(text).lines:
        for reading, written, _ in compounds(line):
            if len(reading) > 1:
                readings[reading] = None
                words.setdefault(written, reading)
    return LexiconLookup(frozenset(list(readings)[:MOST_READINGS]), dict(list(words.items())[:MOST_WORDS]))


def synonyms_in(query: str, groups: Iterable[tuple[str, ...]]) -> Synonyms:
    """Returns the phrases of `groups` in a question, each with the other phrases of its groups, the longest first."""
    text = canonical(query[:LONGEST_QUESTION])
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for phrase in group:
            if find_phrase(canonical(phrase), text) is not None:
                found.setdefault(phrase, {}).update(dict.fromkeys(other for other in group if other != phrase))
    longest = sorted(found, key=lambda phrase: (-len(phrase), phrase))[:MOST_SYNONYMS]
    return {phrase: tuple(found[phrase]) for phrase in longest}


def analyze_query(query: str, known: LexiconEntries, *, without: Set[str] = frozenset()) -> AnalyzedQuery:
    """Analyzes a question with the lexicon's entries for it.

    `without` has the `Rule`s that are switched off; `synonyms` are those of the glossary and of the site. Only the
    first `LONGEST_QUESTION` characters count. Never raises: a question without words has no slots.
    """
    analyzed = _analyzed(query, known, without)
    if "grams" in without:
        analyzed = replace(analyzed, slots=tuple(slot for slot in analyzed.slots if slot.kind != "gram"))
    example = None if "examples" in without else example_request(_normalized(query, notation=False))
    if example is None:
        return analyzed
    return replace(analyzed, steps=(*analyzed.steps, RewriteStep("examples", example, "")), wants_example=True)


def _analyzed(query: str, known: LexiconEntries, without: Set[str]) -> AnalyzedQuery:
    draft = _first_draft(query, notation="notation" not in without)
    if is_english(draft.text) and not without & {"english", "synonyms"}:
        return _analyzed_english(query, draft, known.synonyms, typos="typos" not in without)
    if "rewriting" not in without:
        draft = _with_kana_rewritten(draft, known, typos="typos" not in without)
    if "typos" not in without:
        draft = draft.with_corrected(possible_typos(draft.text, known))
    fillers = [] if "reduction" in without else list(filler_spans(draft.text))
    question = analyze_canonical(blanked(draft.text, fillers))
    if not any(morpheme.terms for line in question.lines for morpheme in line) and not question.formulas:
        # A question of filler only, such as どうすれば？, is searched as it is.
        fillers, question = [], analyze_canonical(draft.text)
    units = query_units(question)
    steps = (*draft.steps, *(RewriteStep("reduction", draft.text[start:end], "") for start, end in fillers))
    if "synonyms" not in without:
        mentions = longest_mentions(concept_mentions(question.text))
        usual = [(question.text[one.start : one.end], one.concepts[0].japanese[0]) for one in mentions]
        steps += tuple(RewriteStep("synonyms", found, name) for found, name in usual if found != name)
        units, more = _with_site_synonyms(question.text, merge_concepts(units, mentions), known.synonyms)
        steps += more
    slots = [*word_slots(units), *gram_slots(question.text)]
    changed = any(step.rule in ("rewriting", "typos") for step in steps)
    return AnalyzedQuery(query, draft.text if changed else _storable(query), tuple(slots), steps)


def _normalized(query: str, *, notation: bool) -> str:
    text = query[:LONGEST_QUESTION]
    # The second limit is for the few characters that fold into many.
    return _SPACES.sub(" ", canonical(text) if notation else folded(text)).strip()[: 2 * LONGEST_QUESTION]


def _storable(query: str) -> str:
    return storable(query[:LONGEST_QUESTION])


def _first_draft(query: str, *, notation: bool) -> _Draft:
    text, plain = _normalized(query, notation=notation), _normalized(query, notation=False)
    return _Draft(text, (RewriteStep("notation", plain, text),) if text != plain else ())


def _analyzed_english(query: str, draft: _Draft, synonyms: Synonyms, *, typos: bool) -> AnalyzedQuery:
    text, steps = draft.text, draft.steps
    if typos:
        text, replaced = corrected_english(text)
        steps += tuple(RewriteStep("typos", found, meant) for found, meant in replaced)
    translation = translate(text)
    units, more = _with_site_synonyms(text, translation.units, synonyms)
    slots = (*word_slots(units), *gram_slots(translation.rest))
    japanese = " ".join(translation.japanese)
    if not japanese:
        return AnalyzedQuery(query, _storable(query), slots, (*steps, *more))
    # Small multilingual models are weak across languages: the embedded text has the Japanese names and the question.
    steps += (RewriteStep("english", text, japanese), *more)
    return AnalyzedQuery(query, f"{japanese} {_storable(query)}", slots, steps)


def _with_kana_rewritten(draft: _Draft, known: LexiconEntries, *, typos: bool) -> _Draft:
    rewrites = _rewrites(draft.text, known.spellings)
    wrong = kana_typos(draft.text, known, [(start, end) for start, end, _ in rewrites]) if typos else []
    if not wrong:
        return draft.with_replaced("rewriting", rewrites)
    draft = draft.with_corrected(wrong)
    return draft.with_replaced("rewriting", _rewrites(draft.text, known.spellings))


def _rewrites(text: str, spellings: Mapping[str, tuple[str, ...]]) -> list[Replacement]:
    def spellings_of(reading: str) -> tuple[str, ...]:
        if found := spellings.get(reading):
            return found
        spelling = spelling_of_reading(reading)
        return (spelling,) if spelling else ()

    # Beside kanji, short kana are mostly grammar.
    shortest = 3 if _IDEOGRAPH.search(text) else 2
    return [(one.start, one.end, one.spellings[0]) for one in kana_rewrites(text, spellings_of, shortest=shortest)]


def _with_site_synonyms(
    text: str, units: Sequence[QueryUnit], synonyms: Synonyms
) -> tuple[list[QueryUnit], tuple[RewriteStep, ...]]:
    merged, steps = list(units), []
    for phrase, others in sorted(synonyms.items(), key=lambda item: (-len(item[0]), item[0])):
        plain = canonical(phrase)
        if (start := find_phrase(plain, text)) is not None:
            of_others = [query_units(analyze_canonical(canonical(other))) for other in others]
            merged = merge_synonyms(merged, start, start + len(plain), of_others)
            steps += [RewriteStep("synonyms", phrase, other) for other in others]
    return merged, tuple(steps)
