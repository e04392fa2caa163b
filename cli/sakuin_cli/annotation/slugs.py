"""The readable part of an id, from a title: the English names of its concepts, otherwise its own words."""

import re
import unicodedata

from sakuin.knowledge.reading.names import is_label
from sakuin.language.unicode_text import is_japanese
from sakuin.language.vocabulary import Vocabulary, longest_mentions

_MOST_WORDS, _LONGEST = 5, 40
_BRACKETS = re.compile(r"[（(【\[][^（()）【】\[\]]*[）)】\]]")
_AFTER_COLON = re.compile(r"(?<=[^\W\d_]{2})(?:\s*[:：]|\s=\s).*$")
_FORMULA = re.compile(r"[-\w =+−×÷*/^(){}<>≤≥,.√\\]*[=^+≤≥<>√\\][-\w =+−×÷*/^(){}<>≤≥,.√\\]*", re.ASCII)
# The prefix of the id says the same.
_SAID_BY_TYPE = re.compile(r"の(?:定義|意味|公式|法則|ルール|定理|方法|手順|コツ|ポイント)$")
# What may stand between concepts.
_BETWEEN = re.compile(r"[\sのをとではがにへも・、,]*")
_WORD, _LATIN_WORD = re.compile(r"[^\W_]+"), re.compile(r"[a-z0-9]+")
_ARTICLES = frozenset({"a", "an", "the"})


def slug_of(title: str, vocabulary: Vocabulary, language: str = "") -> str:
    """Returns words in lower case with hyphens between them, at most 40 characters; empty if the title has none.

    A title of concepts alone has their names in the vocabulary: 解の公式 → quadratic-formula. Another stays in its
    script: フランス革命の原因, Größe und Maß → grosse-und-mass.
    """
    inside, outside = _BRACKETS.search(title), _BRACKETS.sub("", title)
    # "Theorem 3.1 (Pythagoras' theorem)"
    name = inside[0][1:-1] if inside and is_label(outside) and re.search(r"\d", outside) else title
    for pattern in (_BRACKETS, _AFTER_COLON):
        name = pattern.sub("", name).strip() or name
    if not is_japanese(name) or language.lower().startswith(("zh", "ko")):
        return _joined(_plain_words(name))
    name = _BETWEEN.sub("", _FORMULA.sub(" ", name), count=1) or name
    short = _SAID_BY_TYPE.sub("", name) or name
    return _joined(_concepts(name, vocabulary) or _concepts(short, vocabulary) or _own_words(short))


def _concepts(name: str, vocabulary: Vocabulary) -> list[str]:
    """Returns the words of the names of a text's concepts, if the text has nothing else; otherwise none."""
    text = vocabulary.canonical(name)
    mentions = longest_mentions(vocabulary.mentions(text))
    rest = "".join(sign for at, sign in enumerate(text) if not any(each.start <= at < each.end for each in mentions))
    if not _BETWEEN.fullmatch(rest):
        return []
    return [part for mention in mentions for part in mention.concepts[0].name.split("-")]


def _plain_words(name: str) -> list[str]:
    text = unicodedata.normalize("NFKD", name.replace("’", "'").replace("'s", "s")).casefold()
    latin = "".join(sign for sign in text if not unicodedata.combining(sign))
    if not re.search(r"[a-z]", latin):
        return _own_words(name)
    words = _LATIN_WORD.findall(latin)
    return [word for word in words if word not in _ARTICLES] or words


def _own_words(name: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", name).casefold())


def _joined(words: list[str]) -> str:
    distinct = list(dict.fromkeys(words))[:_MOST_WORDS]
    while len(distinct) > 1 and len("-".join(distinct)) > _LONGEST:
        distinct.pop()
    return "-".join(distinct)[:_LONGEST]
