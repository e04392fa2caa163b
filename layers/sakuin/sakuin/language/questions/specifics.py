"""The numbers, codes and names of a question, and those that a text does not have.

They are known by their form: digits, signs inside a word, capitals inside a sentence, Sudachi's proper nouns, and words
in Latin letters or katakana that neither the list of English words nor Sudachi's dictionary has. Common nouns and verbs
never count: an answer may use other words.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from sakuin.language.analysis import AnalyzedText, analyze, analyze_canonical
from sakuin.language.character_grams import character_grams
from sakuin.language.letters import stem, to_katakana
from sakuin.language.model import NO_LACK, AnalyzedQuery, Lack, RewriteStep, Specific, SpecificKind
from sakuin.language.notation import canonical
from sakuin.language.numerals import KANJI, value_of
from sakuin.language.questions.function_words import (
    is_english_word,
    is_same_language,
    language_of,
    may_be_german,
    stop_words,
)
from sakuin.language.questions.german import german_names
from sakuin.language.unicode_text import folded, nfc, nfkc, storable

HasTerms = Callable[[list[list[str]]], Iterable[bool]]
TextsWith = Callable[[list[str]], Sequence[str]]
MOST = 12
# A longer text is compared so far.
_COMPARED = 20_000  # characters
# Without the arguments of a call. Behind another sign a hyphen begins no option: &-Zeichen, `x`-Taste.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_À-ɏ])(?!(?:(?<=[]&%*?!=|^~)}»-])|(?<=[A-Za-z0-9)][\"'`“”’]))-)"
    r"(?>(?a:(?:[\w$@#./:\\+<>-]|\(\))*(?:\w|\(\))))(?![À-ɏ])"
)
_SIGNS = re.compile(r"^[#.:\\+<>()]+-*")
_QUANTITY = re.compile(r"[#$]*\d[\d.,:/-]*(?:-?[a-z%]+|[A-Z]{1,2})?(?:-[A-Z]?[a-z]+)*")
_CODE = re.compile(
    r"--?[A-Za-z]\w+.*|.*[A-Za-z0-9](?:_|::|->)[A-Za-z0-9].*|.*\w\(\)|_+[A-Za-z].*|[@$][A-Za-z].*"
    r"|(?=.*[A-Za-z])(?=.*\d).+|.*[a-z][A-Z].*|[A-Z]{2,}s?|[a-z_-]{2,}(?:\.[a-z_-]{2,})+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|/[\w.-]+/[\w./-]+|[\w.-]+(?:/[\w.-]+){2,}|(?=.*[.-])[\w./-]+/[\w.-]+"
)
# Options and keys of settings. With a stop word it is a phrase: up-to-date.
_OPTION = re.compile(r"[a-z]{2,}(?:-[a-z]{2,})+")
_IN_BACKTICKS = re.compile(r"`([^`\n]{2,60})`")
_PART = re.compile(r"\d+|[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TYPED_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)*(?!\d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_LEADING_ZEROS = re.compile(r"^0+(?=\d)")
_VERSION = re.compile(r"[vV](?=\d+\.\d)")
# A kanji of a number is a part of a word unless it counts.
_COUNTERS = "次条章節項号版巻回年月日度時分秒人個台倍位級種世歳点本冊階乗割円"
# In Chinese 哪一年 is which year, and 百分之 percent.
_COUNTED = re.compile(f"(?<!哪)(?!百分[之比])(?:第[{KANJI}]+|[{KANJI}]+[{_COUNTERS}])")
_KANJI_NUMBER = re.compile(f"[{KANJI}]+")
_LETTERS = re.compile(r"[^\W\d_ぁ-ヿ一-鿿]+")
_POSSESSIVE = re.compile(r"(?<=\w\w\w)['’]\w*$")
_WORD = re.compile(r"[^\W\d_ぁ-ヿ一-鿿]+(?:['’-][^\W\d_ぁ-ヿ一-鿿]+)*")
_KATAKANA = re.compile(r"[ァ-ヶー]{3,}")
_HAN_OR_KANA = re.compile(r"[ぁ-ヶ一-鿿]")
_BEGINS_SENTENCE = re.compile(r"(?:^|[.!?:。！？…])[\s\"'“‘(¿¡«„「]*$")
_MAY_BE_ENGLISH = ("latin/", "latin/english")
# As short words as the list has.
_LEAST_UNLISTED = 5
# From 0.
_SPELLED = """
zero/zeroth one/first two/second three/third four/fourth five/fifth six/sixth seven/seventh eight/eighth nine/ninth
ten/tenth eleven/eleventh twelve/twelfth thirteen/thirteenth fourteen/fourteenth fifteen/fifteenth sixteen/sixteenth
seventeen/seventeenth eighteen/eighteenth nineteen/nineteenth twenty/twentieth
"""
# A question with so many numbers is an exercise.
_OF_AN_EXERCISE = 3
_MARK = re.compile("[\u0300-\u036f]")
_FORMULA = re.compile(r"[^\W_]\s*[=≠≤≥±]\s*[-+−±]?\s*[^\W_]|\\frac|\\sqrt|√")


def specifics_of(query: str, steps: Sequence[RewriteStep], concepts: Collection[str]) -> tuple[Specific, ...]:
    """Returns the specifics of a question, in its order. The names of `concepts` are words of the subject."""
    typed = " ".join(nfkc(storable(query)).split())
    found: dict[tuple[int, int], Specific] = {}
    for start, text, kind in (*_codes(typed), *_numbers(typed), *_names(typed), *_japanese_names(typed, concepts)):
        if all(end <= start or start + len(text) <= begin for begin, end in found):
            found[start, start + len(text)] = Specific(text, kind, _forms(text, kind, steps))
    return tuple({one.forms: one for _, one in sorted(found.items(), key=lambda each: each[0])}.values())[:MOST]


def missing_from(text: str, question: AnalyzedQuery) -> tuple[str, ...]:
    """Returns the specifics of a question that a text does not have, as typed.

    A text in another language may write a name in another way: there only numbers and codes count, and words in Latin
    letters of a question in another script.
    """
    if not question.specifics:
        return ()
    compared = _Compared(text[:_COMPARED])
    has_names = is_same_language(question.language, language_of(text))
    is_latin = question.language.startswith("latin/")
    counted = (
        one for one in question.specifics if has_names or one.kind != "name" or (one.text.isascii() and not is_latin)
    )
    return tuple(one.text for one in counted if not compared.has(one))


def lack_of(text: str, question: AnalyzedQuery, has_terms: HasTerms, texts_with: TextsWith) -> Lack:
    """Returns what a text lacks of a question. `has_terms` and `texts_with` are those of `absent`."""
    missing = missing_from(text, question)
    if not missing:
        return NO_LACK
    lacking = [one for one in question.specifics if one.text in missing]
    nowhere = absent(lacking, has_terms, texts_with)
    numbers = sum(one.kind == "number" for one in question.specifics)
    is_example = numbers >= _OF_AN_EXERCISE or any(map(_FORMULA.search, (text, question.query)))
    counted = [one for one in lacking if one.kind != "number" or not is_example]
    doubts = {name for one in counted for name in (one.kind, *([f"absent_{one.kind}"] if one.text in nowhere else ()))}
    return Lack(frozenset(doubts), nowhere)


def absent(specifics: Sequence[Specific], has_terms: HasTerms, texts_with: TextsWith) -> tuple[str, ...]:
    """Returns the specifics, as typed, of which no form is in the index.

    `has_terms` says for each list of terms whether a text has all of them, and `texts_with` returns the texts that have
    all of some terms, none if they are too many: a text with the parts of a code may not have the code. It is asked
    after `has_terms`, for some of the same lists.
    """
    forms = [(one, terms) for one in specifics for terms in _terms_of_forms(one) if terms]
    has = has_terms([terms for _, terms in forms])
    forms_there = [form for form, is_there in zip(forms, has, strict=True) if is_there]
    present = {one.text for one, terms in forms_there if _is_there(one, terms, texts_with)}
    with_terms = dict.fromkeys(one.text for one, _ in forms)
    return tuple(text for text in with_terms if text not in present)


def _is_there(one: Specific, terms: list[str], texts_with: TextsWith) -> bool:
    """Returns whether one of the texts with all terms of a form has it: the parts of a code may stand apart."""
    if one.kind != "code" or (len(terms) == 1 and not one.text.startswith("-")):
        return True
    texts = texts_with(terms)
    return not texts or any(_Compared(text[:_COMPARED]).has(one) for text in texts)


def _terms_of_forms(one: Specific) -> list[list[str]]:
    """Returns, for each form, terms of the index that a text with this form has."""
    if one.kind == "name":
        return [list(dict.fromkeys(character_grams(form[: max(4, len(form) - 2)]))) for form in one.forms]
    return [_terms(analyze(form)) for form in one.forms]


def _terms(text: AnalyzedText) -> list[str]:
    return [term for line in text.lines for morpheme in line for term in morpheme.terms]


def _codes(typed: str) -> Iterator[tuple[int, str, SpecificKind]]:
    for match in _IN_BACKTICKS.finditer(typed):
        yield match.start(1), match[1], "code"
    stop, language = stop_words(typed) - {"no"}, language_of(typed)
    is_foreign = may_be_german(typed) or (language.startswith("latin/") and language not in _MAY_BE_ENGLISH)
    for match in _TOKEN.finditer(typed):
        token = _VERSION.sub("", _SIGNS.sub("", match[0]))
        is_loud = token.isalpha() and typed.isupper() and " " in typed
        parts = token.split("-")
        # In other languages than English options have English words: asiatisch-amerikanisch is none.
        is_option = (
            _OPTION.fullmatch(token) and stop.isdisjoint(parts) and not (is_foreign and any(map(_is_unlisted, parts)))
        )
        if (is_option or _CODE.fullmatch(token)) and not _QUANTITY.fullmatch(token) and not is_loud:
            yield match.start() + match[0].index(token), token, "code"


def _numbers(typed: str) -> Iterator[tuple[int, str, SpecificKind]]:
    for pattern in (_TYPED_NUMBER, _COUNTED):
        for match in pattern.finditer(typed):
            yield match.start(), match[0], "number"


def _names(typed: str) -> Iterator[tuple[int, str, SpecificKind]]:
    """Yields words with a capital inside a sentence, and unlisted words of a question in English or in Japanese.

    In a title a capital says nothing. There two of them side by side are a name. In German it says little.
    """
    stop, language, is_german = stop_words(typed), language_of(typed), may_be_german(typed)
    all_words = [*_WORD.finditer(typed)]
    words = [match for match in all_words if match[0].lower() not in stop]
    begins = {match.start() for match in all_words if _BEGINS_SENTENCE.search(typed[: match.start()])}
    capitals = [word for word in words if word[0][0].isupper() and len(word[0]) > 1]
    inside = [word for word in capitals if word.start() not in begins]
    is_title = len(words) > 2 and len(capitals) == len(words)
    if language.startswith("han/"):
        inside = capitals
    elif is_german:
        inside = [*german_names(all_words, begins, stop)]
    elif is_title:
        ends = {word.end() + 1 for word in inside}
        starts = {word.start() - 1 for word in inside}
        inside = [word for word in inside if word.start() in ends or word.end() in starts]
    if (typed.isascii() and not is_german) or language == "han/japanese":
        unlisted = [word for word in words if _is_unlisted(word[0].lower())]
        # Most words of another language are not in the list.
        is_english = language == "latin/english" or len(unlisted) <= 1 + sum(map(_is_listed, words))
        inside += unlisted if is_english or language == "han/japanese" else []
    for word in inside:
        yield word.start(), _POSSESSIVE.sub("", word[0]), "name"


def _is_listed(word: re.Match[str]) -> bool:
    return is_english_word(stem(word[0].lower()))


def _is_unlisted(word: str) -> bool:
    word = stem(word)
    return word.isascii() and word.isalpha() and len(word) >= _LEAST_UNLISTED and not is_english_word(word)


def _japanese_names(typed: str, concepts: Collection[str]) -> Iterator[tuple[int, str, SpecificKind]]:
    if not language_of(typed).startswith("han/"):
        return
    at = 0
    for morpheme in (each for line in analyze_canonical(folded(typed)).lines for each in line):
        word, at = morpheme.surface, at + len(morpheme.surface)
        is_name = morpheme.kind == "固有名詞" and len(word) > 1 and not _KANJI_NUMBER.match(word)
        is_new = _KATAKANA.fullmatch(word) and not morpheme.is_known
        is_hidden = re.fullmatch("[ぁ-ゖー]+|[ -~]+", word) or any(word in concept for concept in concepts)
        if (is_name or is_new) and not is_hidden:
            yield at - len(word), word, "name"


def _forms(text: str, kind: SpecificKind, steps: Sequence[RewriteStep]) -> tuple[str, ...]:
    """Returns how a text may write it: as typed, and as the search reads it."""
    if kind == "number":
        kanji = _KANJI_NUMBER.search(text)
        value = value_of(kanji[0] if kanji else text)
        number = str(value) if value is not None else _LEADING_ZEROS.sub("", text.replace(",", ""))
        return (number, *_spelled(value))
    form = re.sub("(?<=[A-Z]{2})s$", "", text) if kind == "code" else folded(text)
    forms = [form]
    for step in steps:
        if step.rule in ("rewriting", "typos", "synonyms") and step.found:
            if step.found in form.lower():
                forms.append(form.lower().replace(step.found, folded(step.read_as)))
            elif form.lower() in step.found:
                forms.append(folded(step.read_as))
    return tuple(dict.fromkeys(forms))


def _spelled(value: int | None) -> Sequence[str]:
    spelled = _SPELLED.split()
    return spelled[value].split("/") if value is not None and value < len(spelled) else ()


@dataclass(frozen=True)
class _Compared:
    """A text in the forms in which specifics are compared."""

    text: str

    @cached_property
    def plain(self) -> str:
        return _plain(canonical(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_LETTERS.findall(self.plain))

    @cached_property
    def numbers(self) -> frozenset[str]:
        kanji = (value_of(number) for number in _KANJI_NUMBER.findall(self.plain))
        parts = (number.split(".") for number in _NUMBER.findall(self.plain))
        # 2.10 is in 2.10.3, and 3 in 03.
        digits = (_LEADING_ZEROS.sub("", ".".join(part[:size])) for part in parts for size in range(1, len(part) + 1))
        return frozenset((*digits, *map(str, filter(None, kanji))))

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(_terms(analyze(self.text)))

    def has(self, one: Specific) -> bool:
        """Returns whether the text has one of its forms."""
        if one.kind == "number":
            return any(form in self.numbers or form in self.words for form in one.forms)
        if one.kind == "code":
            return any(pattern.search(self.plain) for form in one.forms for pattern in _code_patterns(form))
        return any(self._has_name(form) for form in one.forms)

    def _has_name(self, form: str) -> bool:
        if _HAN_OR_KANA.search(form):
            terms = _terms(analyze_canonical(form))
            return to_katakana(form) in to_katakana(self.plain) or (bool(terms) and self.terms.issuperset(terms))
        return all(self._has_word(part) for part in _LETTERS.findall(_plain(form)))

    def _has_word(self, word: str) -> bool:
        """Returns whether a word is in the text, in any inflection: the last letters may differ."""
        if word in self.words or len(word) < 4:
            return word in self.words
        start = word[: max(4, len(word) - 2)]
        has_form = any(each.startswith(start) and abs(len(each) - len(word)) < 4 for each in self.words)
        return has_form or word in self.plain.replace(" ", "").replace("-", "")


def _plain(text: str) -> str:
    return text if text.isascii() else nfc(_MARK.sub("", unicodedata.normalize("NFD", text)))


@lru_cache(maxsize=256)
def _code_patterns(form: str) -> list[re.Pattern[str]]:
    """Returns what finds a code with any sign or none between its parts, and the words that an abbreviation is of."""
    parts = _PART.findall(form)
    if not parts:
        # The name of a sign in a vocabulary: 判別式 for D>0.
        return [re.compile(re.escape(form))]
    written = [f"0*{part.lstrip('0')}" if part.isdigit() else part.lower() for part in parts]
    before = r"(?<!\d)" if parts[0].isdigit() else "(?<![a-z])"
    before = "(?:--|[–—])" if form.startswith("--") else "-" if form.startswith("-") else before
    # No space stands for the sign of set_value.
    sign = r"(?:[^\w\s]|_)" if "_" in form else r"[\W_]"
    # As many signs as typed, or two of another spelling.
    signs = ["", *(f"{sign}{{0,{max(len(gap), 2)}}}" for gap in _PART.split(form)[1:-1])]
    body = "".join(gap + part for gap, part in zip(signs, written, strict=True))
    patterns = [before + body + (r"(?!\d)" if parts[-1].isdigit() else "(?![a-rt-z])")]
    if form.isupper() and form.isalpha() and len(form) < 6:
        patterns.append(r"\W+(?:(?:of|and|the|for|de|der|und)\W+)*".join(rf"\b{sign}\w*" for sign in form.lower()))
    return [re.compile(pattern) for pattern in patterns]
