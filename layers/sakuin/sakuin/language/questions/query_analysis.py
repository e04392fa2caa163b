"""Analysis of a question: its slots for the search by words, its text for the embedding, and every rewrite step."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from sakuin.language.analysis import AnalyzedText, analyze_canonical, blanked
from sakuin.language.letters import stem, to_katakana
from sakuin.language.model import AnalyzedQuery, LexiconEntries, LexiconLookup, RewriteStep, Slot
from sakuin.language.notation import canonical
from sakuin.language.questions.draft import Draft, Replacement
from sakuin.language.questions.function_words import asks_nothing, language_of, may_be_german, stop_words
from sakuin.language.questions.kana import kana_rewrites, kana_word_candidates, possible_readings
from sakuin.language.questions.slots import (
    MOST_SLOTS,
    QueryUnit,
    add_phrasings,
    gram_slots,
    merge_concepts,
    query_units,
    word_slots,
)
from sakuin.language.questions.specifics import specifics_of
from sakuin.language.questions.translation import is_latin, is_verb, translate
from sakuin.language.questions.typos import possible_concepts, possible_typos, spelled_words
from sakuin.language.readings import compounds
from sakuin.language.synonyms import SPELLINGS, Group
from sakuin.language.unicode_text import folded, storable
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary, find_phrase, longest_mentions

LONGEST_QUESTION = 1000  # characters; the rest is ignored
MOST_READINGS = 2000
MOST_WORDS = 150
MOST_SYNONYMS = 20  # phrases in one question, the longest first
MOST_FOLDERS = 8  # with synonyms of their own for one question
_SPACES = re.compile(r"\s+")
_IDEOGRAPH = re.compile(r"[一-鿿]")
_EXAMPLE = re.compile(
    r"例題|具体例|実例"
    r"|(?<![一-鿿])例(?:を|が|で|も)?(?:見|み[せた]|教え|おしえ|知り|しり|欲し|ほし|挙げ|あげ|出し|解[いき])"
    r"|\b(?:worked )?examples?\b"
)

# By phrase of a question, the phrases that mean the same.
Synonyms = Mapping[str, tuple[str, ...]]


def lexicon_lookup(query: str, vocabulary: Vocabulary = NO_VOCABULARY) -> LexiconLookup:
    """Returns what to look up in the index before `query` is analyzed, at most `MOST_READINGS` and `MOST_WORDS`."""
    text = _normalized(query, vocabulary, notation=True)
    readings = dict.fromkeys(possible_readings(text))
    misspelled = {word: to_katakana(word) for _, word in kana_word_candidates(text)}
    misspelled |= {word.surface: word.surface for _, word in spelled_words(text)}
    terms: dict[str, str] = {}
    lines = analyze_canonical(text).lines
    for line in lines:
        readings |= dict.fromkeys(reading for reading, _, _ in compounds(line) if len(reading) > 1)
    for line in (*lines, *analyze_canonical(_normalized(query, vocabulary, notation=False)).lines):
        terms |= {term: "" for morpheme in line for term in (morpheme.surface, *morpheme.terms) if morpheme.terms}
    if vocabulary.concepts:
        named = (vocabulary.with_reading(reading) for reading in readings)
        concepts = [*(one[1] for one in named if one), *possible_concepts(text, vocabulary)]
        terms = {concept.term: "" for concept in concepts} | terms
    words = dict(list(misspelled.items())[: MOST_WORDS // 2])
    words |= {term: "" for term in terms if term not in words}
    return LexiconLookup(frozenset(list(readings)[:MOST_READINGS]), dict(list(words.items())[:MOST_WORDS]))


def synonyms_in(query: str, groups: Iterable[Group]) -> Synonyms:
    """Returns the phrases of `groups` in a question, each with the other phrases of its groups, the longest first."""
    text = canonical(query[:LONGEST_QUESTION])
    others: dict[str, dict[str, None]] = {}
    for group in groups:
        for phrase in group:
            if find_phrase(canonical(phrase), text) is not None:
                others.setdefault(phrase, {}).update(dict.fromkeys(other for other in group if other != phrase))
    longest = sorted(others, key=lambda phrase: (-len(phrase), phrase))[:MOST_SYNONYMS]
    return {phrase: tuple(others[phrase]) for phrase in longest}


def folder_synonyms(query: str, groups: Mapping[str, Sequence[Group]]) -> Mapping[str, Synonyms]:
    """Returns, for "" and each folder with a group in the question, what `synonyms_in` finds there and above it.

    Of many folders, the first `MOST_FOLDERS` count, those nearest to the top first.
    """
    folders = [folder for folder in groups if folder and synonyms_in(query, groups[folder])]
    nearest = sorted(folders, key=lambda folder: (folder.count("/"), folder))[:MOST_FOLDERS]
    return {
        folder: synonyms_in(query, [group for above in groups if folder.startswith(above) for group in groups[above]])
        for folder in ("", *nearest)
    }


def analyze_query(
    query: str, lexicon: LexiconEntries, vocabulary: Vocabulary = NO_VOCABULARY, *, without: Set[str] = frozenset()
) -> AnalyzedQuery:
    """Analyzes a question with the lexicon's entries for it. What was typed stays; variants are added.

    `without` has the `Rule`s that are switched off; `synonyms` are those of the vocabulary and of the lexicon. Only the
    first `LONGEST_QUESTION` characters count. Never raises: a question without words has no slots.
    """
    language = "latin/german" if may_be_german(query) else language_of(query)
    vocabulary = vocabulary.of_language(language.partition("/")[2])
    plain = _normalized(query, vocabulary, notation=False)
    notation = _normalized(query, vocabulary, notation="notation" not in without)
    draft = Draft(notation, notation, (RewriteStep("notation", plain, notation),) if notation != plain else ())
    if "rewriting" not in without:
        draft = draft.with_replaced("rewriting", _rewrites(draft.text, lexicon, vocabulary))
    if "typos" not in without:
        draft = draft.with_replaced("typos", possible_typos(draft.text, lexicon, vocabulary))
    variant, typed = analyze_canonical(draft.text), analyze_canonical(draft.typed)
    steps = draft.steps
    stop = stop_words(query[:LONGEST_QUESTION])
    units = typed_units = _units(typed, lexicon, stop)
    subject = NO_VOCABULARY if "synonyms" in without else vocabulary
    mentions = [each for each in longest_mentions(subject.mentions(typed.text)) if not is_verb(typed.text, each, stop)]
    units = merge_concepts(units, mentions)
    names: tuple[str, ...] = ()
    translated: tuple[tuple[int, int], ...] = ()
    if is_latin(draft.typed):
        if not without & {"english", "synonyms"}:
            units, names, translated = translate(typed.text, units, mentions, subject, lexicon.known)
    else:
        usual = [(typed.text[one.start : one.end], one.concepts[0]) for one in mentions]
        steps += tuple(
            RewriteStep("synonyms", phrase, concept.japanese[0])
            for phrase, concept in usual
            if concept.japanese and phrase != concept.japanese[0]
        )
    if draft.pieces:
        variant_mentions = longest_mentions(subject.mentions(variant.text))
        units = draft.with_variants(units, merge_concepts(_units(variant, lexicon, stop), variant_mentions))
        if is_latin(draft.typed):
            pieces = [piece.variant for piece in draft.pieces]
            corrected = [
                each for each in variant_mentions if any(each.start < end and start < each.end for start, end in pieces)
            ]
            translated += tuple(draft.typed_span(each.start, each.end) for each in corrected)
    if names:
        steps += (RewriteStep("english", draft.text, " ".join(names)),)
    plain_units = query_units(analyze_canonical(plain))
    terms = dict.fromkeys(term for unit in plain_units for term in unit.phrasings[0])
    known_terms = tuple(term for term in terms if term in lexicon.known)
    as_typed = {term for unit in typed_units for phrasing in unit.phrasings for term in phrasing}
    stops = ((one.start, one.end) for one in query_units(typed) if typed.text[one.start : one.end] in stop)
    remaining = [Slot("gram", (word,)) for word in known_terms if word not in as_typed]
    grams = [] if "grams" in without else _grams(typed, variant, draft, (*translated, *stops))
    slots: dict[str, tuple[Slot, ...]] = {}
    groups = {} if "synonyms" in without else {**lexicon.synonyms, "": [*lexicon.synonyms.get("", ()), *SPELLINGS]}
    for folder, synonyms in folder_synonyms(query, groups).items():
        units_of_folder, added = _with_synonyms(draft.typed, units, synonyms, vocabulary)
        slots[folder] = (*word_slots(units_of_folder), *remaining, *grams)
        steps += tuple(replace(step, folder=folder) for step in added if not _has_step(steps, step, folder))
    searched = dict.fromkeys(term for slot in slots[""] for term in slot.terms)
    words = dict.fromkeys(term for unit in units for phrasing in unit.phrasings for term in phrasing)
    text, understood = _texts(query, draft, names)
    example = None if "examples" in without else _EXAMPLE.search(plain)
    is_empty = asks_nothing(query[:LONGEST_QUESTION])
    named = [typed.text[one.start : one.end] for one in mentions]
    steps += () if example is None else (RewriteStep("examples", example[0], ""),)
    return AnalyzedQuery(
        query,
        text,
        slots.pop(""),
        steps,
        wants_example=example is not None,
        understood_as=understood,
        known=known_terms,
        changed=tuple(word for word in known_terms if word not in searched),
        added=tuple(word for word in words if word not in as_typed),
        folder_slots=slots,
        specifics=() if is_empty else specifics_of(query[:LONGEST_QUESTION], steps, named),
        language=language,
        asks_nothing=is_empty,
    )


def _texts(query: str, draft: Draft, names: Sequence[str]) -> tuple[str, str | None]:
    """Returns the text for the embedding, and how the question was understood (None: as typed).

    Prefixes the question with known names and spellings of words that the index lacks: small multilingual models match
    poorly across languages and in kana. Corrections of words in Latin letters do not help (0049).
    """
    typed = storable(query[:LONGEST_QUESTION])
    variant = [draft.text] if draft.pieces else []
    embedded = " ".join((*names, *([] if is_latin(draft.typed) else variant), typed))
    return embedded, " ".join((*names, *(variant or [typed]))) if names or variant else None


def _grams(typed: AnalyzedText, variant: AnalyzedText, draft: Draft, without: Sequence[tuple[int, int]]) -> list[Slot]:
    """Returns the slots of character grams: of what was typed, and of its variants.

    `without` are the spans of stop words, and of words that are searched in another language: these have no grams.
    """
    slots = gram_slots(blanked(typed.text, sorted(set(without))))
    for piece in draft.pieces:
        if not any(start <= piece.typed[0] < end for start, end in without):
            slots += gram_slots(variant.text[slice(*piece.variant)])
    return slots[:MOST_SLOTS]


def _units(question: AnalyzedText, lexicon: LexiconEntries, stop: Set[str]) -> list[QueryUnit]:
    """Returns the units of a question without stop words; if it has no others, those that the index has.

    Of a question in Latin letters, single letters go, too.
    """
    latin = is_latin(question.text)
    content, others = [], []
    for unit in query_units(question):
        word = question.text[unit.start : unit.end]
        if word in stop:
            others += [unit] if {word, stem(word)} & lexicon.known else []
        elif not latin or len(word) > 1 or word.isdigit():
            content.append(unit)
    return content or others


def _normalized(query: str, vocabulary: Vocabulary, *, notation: bool) -> str:
    text = query[:LONGEST_QUESTION]
    # The second limit is for the few characters that fold into many.
    return _SPACES.sub(" ", vocabulary.canonical(text) if notation else folded(text)).strip()[: 2 * LONGEST_QUESTION]


def _rewrites(text: str, lexicon: LexiconEntries, vocabulary: Vocabulary) -> list[Replacement]:
    def spellings_of(reading: str) -> tuple[str, ...]:
        if rewrites := lexicon.spellings.get(reading):
            return rewrites
        concept = vocabulary.with_reading(reading)
        return (concept[0],) if concept and concept[1].term in lexicon.known else ()

    # Beside kanji, short kana are mostly grammar.
    shortest = 3 if _IDEOGRAPH.search(text) else 2
    rewrites = kana_rewrites(text, spellings_of, shortest=shortest)
    return [one for one in rewrites if text[one.start : one.end] not in lexicon.known]


def _with_synonyms(
    text: str, units: Sequence[QueryUnit], synonyms: Synonyms, vocabulary: Vocabulary
) -> tuple[list[QueryUnit], tuple[RewriteStep, ...]]:
    merged, steps = list(units), []
    for phrase, others in sorted(synonyms.items(), key=lambda item: (-len(item[0]), item[0])):
        plain = vocabulary.canonical(phrase)
        if (start := find_phrase(plain, text)) is not None:
            of_others = [query_units(analyze_canonical(vocabulary.canonical(other))) for other in others]
            phrasings = [tuple(term for unit in synonym for term in unit.phrasings[0]) for synonym in of_others]
            merged = add_phrasings(merged, start, start + len(plain), phrasings)
            steps += [RewriteStep("synonyms", phrase, other) for other in others]
    return merged, tuple(steps)


def _has_step(steps: Iterable[RewriteStep], step: RewriteStep, folder: str) -> bool:
    """Returns whether a step is among those for a folder: its own, or those for folders above it."""
    return any(folder.startswith(one.folder) and replace(one, folder="") == step for one in steps)
