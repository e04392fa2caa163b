"""Words of questions that ask for nothing, whatever the subject."""

import re
from functools import cache
from pathlib import Path

_ENGLISH_QUESTIONS = """
tell explain help teach show give need want know learn understand using use used get got getting make makes
making mean meaning way ways work works working given example examples called thing things
can could will shall may might must please yes about into
"""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
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
    by_language = {language: words & list_ for language, list_ in _stop_words().items()}
    language = max(by_language, key=lambda one: (len(by_language[one]), one == "english"))
    if len(by_language[language]) == 1:
        language = "english"
    return frozenset(part for word in by_language[language] for part in (word, *word.split("'"))) - names


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    text = Path(__file__).with_name("stop_words.txt").read_text("utf-8")
    lines = (line.split(": ") for line in text.splitlines() if not line.startswith("#"))
    lists = {language: frozenset(words.split()) for language, words in lines}
    return lists | {"english": lists["english"] | frozenset(_ENGLISH_QUESTIONS.split())}
