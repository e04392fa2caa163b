"""A question as the index is asked it: its words in every way to say them, and every step on the way there."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sakuin.language.analysis import blanked, read
from sakuin.language.concepts import longest, named_concepts, place_of, spelling_read
from sakuin.language.folding import folded, seen
from sakuin.language.kana import kana_readings, kana_words, rewritten_runs
from sakuin.language.letters import hiragana_as_katakana
from sakuin.language.notation import canonical
from sakuin.language.questions.conversation import silent_stretches
from sakuin.language.questions.examples import example_asked_for
from sakuin.language.questions.question import AnalyzedQuery, LexiconEntries, LexiconLookup, RewriteStep, Slot
from sakuin.language.questions.slots import (
    Asked,
    asked_words,
    reading_slots,
    with_concepts,
    with_other_phrases,
    word_slots,
)
from sakuin.language.questions.translation import corrected, is_english, translated
from sakuin.language.questions.typos import kana_typos, possible_typos
from sakuin.language.readings import compounds

# What is longer is cut: a question of a thousand characters has said what it asks.
LONGEST_QUESTION = 1000  # characters

MOST_READINGS = 2000

MOST_WORDS = 60

_SPACES = re.compile(r"\s+")

_IDEOGRAPH = re.compile(r"[一-鿿]")


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    steps: tuple[RewriteStep, ...] = ()

    def with_replaced(self, rule: str, replaced: Iterable[tuple[int, int, str]]) -> "_Draft":
        """The draft with stretches replaced that do not overlap."""
        text = self.text
        steps: list[RewriteStep] = []
        for start, end, meant in sorted(replaced, reverse=True):
            text = text[:start] + meant + text[end:]
            steps.insert(0, RewriteStep(rule, self.text[start:end], meant))
        return _Draft(text, (*self.steps, *steps))


def words_to_look_up(query: str) -> LexiconLookup:
    """What must be looked up in the index before `query` can be understood; bounded, however long the query is."""
    text = _settled(query, notation=True)
    if is_english(text):
        return LexiconLookup(frozenset(), {})
    readings = dict.fromkeys(kana_readings(text))
    words: dict[str, str] = {word: hiragana_as_katakana(word) for _, word in kana_words(text)}
    for line in read(text).lines:
        for reading, written, _ in compounds(line):
            if len(reading) > 1:
                readings[reading] = None
                words.setdefault(written, reading)
    return LexiconLookup(frozenset(list(readings)[:MOST_READINGS]), dict(list(words.items())[:MOST_WORDS]))


def analyze_query(query: str, known: LexiconEntries, *, without: Set[str] = frozenset()) -> AnalyzedQuery:
    """`query` with what the index knows of its words; the same query and knowledge give the same.

    `without` names rules that are switched off: `notation`, `english`, `rewriting`, `typos`, `reduction`, `synonyms`
    (the glossary and the site's list), `readings`, `examples`. Only the first 1,000 characters count. Never an error:
    a question without a word has no slots.
    """
    found = _analyzed(query, known, without)
    example = None if "examples" in without else example_asked_for(_settled(query, notation=False))
    if example is None:
        return found
    return replace(found, steps=(*found.steps, RewriteStep("examples", example, "")), wants_example=True)


def _analyzed(query: str, known: LexiconEntries, without: Set[str]) -> AnalyzedQuery:
    draft = _begun(query, notation="notation" not in without)
    if is_english(draft.text) and not without & {"english", "synonyms"}:
        return _english(query, draft, known.synonyms, typos="typos" not in without)
    as_typed = read(draft.text)
    if "rewriting" not in without:
        draft = _with_kana_read(draft, known, typos="typos" not in without)
    if "typos" not in without:
        draft = draft.with_replaced(
            "typos", ((slip.start, slip.end, slip.meant) for slip in possible_typos(draft.text, known))
        )
    silent = [] if "reduction" in without else list(silent_stretches(draft.text))
    question = read(blanked(draft.text, silent))
    if not any(morpheme.terms for line in question.lines for morpheme in line) and not question.formulas:
        # Whoever asks only どうすれば？ asks for that.
        silent, question = [], read(draft.text)
    asked = asked_words(question)
    steps = (*draft.steps, *(RewriteStep("reduction", draft.text[start:end], "") for start, end in silent))
    if "synonyms" not in without:
        asked, more = _with_synonyms(question.text, asked, known.synonyms)
        steps += more
    slots: list[Slot] = word_slots(asked)
    # A formula has no reading, and the prose around it is in every text.
    if "readings" not in without and not as_typed.formulas:
        slots += reading_slots(question if as_typed.text == draft.text else as_typed)
    changed = any(step.rule in ("rewriting", "typos") for step in steps)
    return AnalyzedQuery(query, draft.text if changed else _as_asked(query), tuple(slots), steps)


def _settled(query: str, *, notation: bool) -> str:
    text = query[:LONGEST_QUESTION]
    # A few characters fold into many.
    return _SPACES.sub(" ", canonical(text) if notation else folded(text)).strip()[: 2 * LONGEST_QUESTION]


def _as_asked(query: str) -> str:
    return seen(query[:LONGEST_QUESTION])


def _begun(query: str, *, notation: bool) -> _Draft:
    text, plain = _settled(query, notation=notation), _settled(query, notation=False)
    return _Draft(text, (RewriteStep("notation", plain, text),) if text != plain else ())


def _english(query: str, draft: _Draft, synonyms: Mapping[str, tuple[str, ...]], *, typos: bool) -> AnalyzedQuery:
    text, steps = draft.text, draft.steps
    if typos:
        text, replaced = corrected(text)
        steps += tuple(RewriteStep("typos", found, meant) for found, meant in replaced)
    said = translated(text)
    asked, more = _with_site_synonyms(text, said.asked, synonyms)
    slots = tuple(word_slots(asked))
    japanese = " ".join(said.japanese)
    if not japanese:
        return AnalyzedQuery(query, _as_asked(query), slots, (*steps, *more))
    # Small models of many languages are weak across them: the Japanese names stand beside the question.
    steps += (RewriteStep("english", text, japanese), *more)
    return AnalyzedQuery(query, f"{japanese} {_as_asked(query)}", slots, steps)


def _with_kana_read(draft: _Draft, known: LexiconEntries, *, typos: bool) -> _Draft:
    found = _rewritten(draft.text, known.written)
    wrong = kana_typos(draft.text, known, [(start, end) for start, end, _ in found]) if typos else []
    if not wrong:
        return draft.with_replaced("rewriting", found)
    draft = draft.with_replaced("typos", ((slip.start, slip.end, slip.meant) for slip in wrong))
    return draft.with_replaced("rewriting", _rewritten(draft.text, known.written))


def _rewritten(text: str, written: Mapping[str, tuple[str, ...]]) -> list[tuple[int, int, str]]:
    def forms(reading: str) -> tuple[str, ...]:
        if found := written.get(reading):
            return found
        spelling = spelling_read(reading)
        return (spelling,) if spelling else ()

    # Beside kanji, kana are mostly grammar.
    shortest = 3 if _IDEOGRAPH.search(text) else 2
    return [(one.start, one.end, one.written[0]) for one in rewritten_runs(text, forms, shortest=shortest)]


def _with_synonyms(
    text: str, asked: Sequence[Asked], synonyms: Mapping[str, tuple[str, ...]]
) -> tuple[list[Asked], tuple[RewriteStep, ...]]:
    named = longest(named_concepts(text))
    usual = [(text[one.start : one.end], one.concepts[0].japanese[0]) for one in named]
    result, more = _with_site_synonyms(text, with_concepts(asked, named), synonyms)
    return result, (*(RewriteStep("synonyms", found, name) for found, name in usual if found != name), *more)


def _with_site_synonyms(
    text: str, asked: Sequence[Asked], synonyms: Mapping[str, tuple[str, ...]]
) -> tuple[list[Asked], tuple[RewriteStep, ...]]:
    result, steps = list(asked), []
    for phrase, others in sorted(synonyms.items(), key=lambda item: (-len(item[0]), item[0])):
        plain = canonical(phrase)
        if (start := place_of(plain, text)) is not None:
            rows = [asked_words(read(canonical(other))) for other in others]
            result = with_other_phrases(result, (start, start + len(plain)), rows)
            steps += [RewriteStep("synonyms", phrase, other) for other in others]
    return result, tuple(steps)
