"""Words of questions that ask for nothing, whatever the subject."""

import re
import unicodedata
from collections import Counter
from collections.abc import Set
from functools import cache
from pathlib import Path

from sakuin.language.unicode_text import is_japanese

_ENGLISH_QUESTIONS = """
tell explain help teach show give need want know learn understand using use used get got getting make makes
making mean meaning way ways work works working given example examples called thing things
can could will shall may might must please yes about into
"""
# Words of German questions that no other language has. The list of stop words lacks most of them.
_GERMAN_QUESTIONS = """
wer wen wem wessen wann warum wieso weshalb wozu womit wofür wodurch worauf woran worin woraus worüber wovon wohin woher
wieviel wieviele wurde wurden
"""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_KANA = re.compile("[ぁ-ゖァ-ヶ]")
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
# Characters that say what language a text is in.
_SAMPLE = 2000
_BEFORE_SENTENCE = (".", "!", "?", ":")


def stop_words(query: str) -> frozenset[str]:
    """Returns the words of a question, in lower case, that ask for nothing in its language.

    That is the language whose list has most of its words. A list other than the English one counts with two words: die
    alone is English, too. A word with a capital letter inside a sentence is a name (IT, The Who), and no stop word.
    """
    words, names = set(), set()
    for match in _WORD.finditer(query.replace("’", "'")):
        word, before = match[0], query[: match.start()].rstrip(" \"'“‘(¿¡")
        begins = not before or before.endswith(_BEFORE_SENTENCE)
        parts = {word.lower(), *word.lower().split("'")}
        words |= parts
        has_capital = word[0].isupper() and word[1:2].isalpha() and not query.isupper()
        if has_capital and not (begins and word[1:].islower()):
            names |= parts
    _, found = _most_listed(words)
    if len(found) == 1:
        found = words & _stop_words()["english"]
    return frozenset(part for word in found for part in (word, *word.split("'"))) - names


def asks_nothing(query: str) -> bool:
    """Returns whether a question has stop words and operators of other search engines alone, or no word at all."""
    words = [word for word in re.findall(r"\w+", query) if word not in _OPERATORS]
    # IT alone is a name.
    is_name = len(words) == 1 and query.isupper()
    return not is_name and stop_words(query).issuperset(word.lower() for word in words)


def language_of(text: str) -> str:
    """Returns the script of most letters of a text and, of some, its language: `latin/german`, `han/japanese`.

    The language is empty if it is not known. Hangul and kana count as Han; a text without kana may be Chinese.
    """
    letters = [sign for sign in text[:_SAMPLE] if sign.isalpha()]
    if not letters:
        return "/"
    if 4 * sum(map(is_japanese, letters)) >= len(letters):
        return "han/japanese" if _KANA.search(text[:_SAMPLE]) else "han/"
    ((script, _),) = Counter(unicodedata.name(sign, "?").partition(" ")[0].lower() for sign in letters).most_common(1)
    words = {word.lower() for word in _WORD.findall(text[:_SAMPLE])}
    language, found = _most_listed(words)
    others = max(len(words & list_) for name, list_ in _stop_words().items() if name != language)
    is_known = script == "latin" and len(found) > others + 1 and 10 * len(found) > len(words)
    return f"{script}/{language if is_known else ''}"


def may_be_german(text: str) -> bool:
    """Returns whether a text is probably German, of which a short question has few stop words."""
    language = language_of(text)
    words = {word.lower() for word in _WORD.findall(text)}
    most, listed = _most_listed(words)
    is_german = (most == "german" and bool(listed)) or not words.isdisjoint(_GERMAN_QUESTIONS.split())
    return language == "latin/german" or (language == "latin/" and is_german)


def is_same_language(one: str, other: str) -> bool:
    """Returns whether a text in `other` may be in the language of a question in `one`, both of `language_of`.

    German has capitals that say nothing about a question whose language is not known.
    """
    (script, language), (of_other, language_of_other) = one.split("/"), other.split("/")
    if script != of_other or script == "han":
        return script == of_other and language_of_other == "japanese"
    return language == language_of_other or not language_of_other or (not language and language_of_other != "german")


def _most_listed(words: Set[str]) -> tuple[str, Set[str]]:
    by_language = {language: words & list_ for language, list_ in _stop_words().items()}
    language = max(by_language, key=lambda one: (len(by_language[one]), one == "english"))
    return language, by_language[language]


def is_english_word(word: str) -> bool:
    """Returns whether the list of English words has a word of at least five letters, without plural."""
    return f"\n{word}\n" in _english_words()


@cache
def _english_words() -> str:
    return Path(__file__).with_name("english_words.txt").read_text("utf-8")


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    text = Path(__file__).with_name("stop_words.txt").read_text("utf-8")
    lines = (line.split(": ") for line in text.splitlines() if not line.startswith("#"))
    lists = {language: frozenset(words.split()) for language, words in lines}
    return lists | {"english": lists["english"] | frozenset(_ENGLISH_QUESTIONS.split())}
