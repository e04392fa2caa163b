"""The readable part of an id, from a title: the English names of its concepts, otherwise romaji."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sakuin.knowledge.learns.from_text import without_brackets
from sakuin.knowledge.page import ChunkType
from sakuin.language.letters import is_kana, to_katakana
from sakuin.language.morphemes import Morpheme, morphemes
from sakuin.language.unicode_text import is_japanese
from sakuin.language.vocabulary import Concept, ConceptMention, Vocabulary, longest_mentions

from sakuin_cli.annotation.romaji import romaji

MOST_WORDS = 5
LONGEST = 40  # characters
# The prefix of the id says the same: 確率の定義 → def-probability.
_SAID_BY_TYPE: dict[ChunkType, frozenset[str]] = {
    "rule": frozenset({"定義", "意味", "公式", "法則", "ルール", "定理"}),
    "method": frozenset({"方法", "手順", "ステップ"}),
    "definition": frozenset({"定義", "意味"}),
    "example": frozenset({"例", "例題", "問題"}),
    "tip": frozenset({"コツ", "ポイント", "ヒント", "注意"}),
}
# Words without a meaning of their own: する, なる, ある, こと, とき.
_LIGHT = frozenset({"為る", "成る", "有る", "居る", "出来る", "言う", "事", "物", "者", "時", "為", "様", "方", "的"})
_NEGATIONS = frozenset({"ない", "ず", "ぬ"})
_KATAKANA = re.compile(r"[ァ-ヺー]+")
_LIGHT_PARTS = frozenset({"副詞", "接続詞", "連体詞", "感動詞", "代名詞"})
_WORD = re.compile(r"[^\W_]+")
_LATIN_WORD = re.compile(r"[a-z0-9]+")
_POSSESSIVE = re.compile(r"['’]s\b")
_ARTICLES = frozenset({"a", "an", "the"})
# Left out of long titles.
_LITTLE_WORDS = frozenset(
    {"of", "for", "to", "in", "on", "at", "by", "with", "and", "or", "as", "is", "are", "be", "was", "were", "has"}
    | {"have", "had", "it", "its", "that", "this", "these", "those", "you", "your", "we", "our", "their", "from"}
)
_ORDINAL = re.compile(r"第?[\d一二三四五六七八九十]+")
_EMPHASIS = re.compile(r"^\W*(?:最重要|超重要|重要|必須|(?i:important|key point))\s*[】\]:：]\s*")
_BRACKETS = re.compile(r"(?<=\S)\s*(?:（[^（）]*）|\([^()]*\))")
_AFTER_COLON = re.compile(r"(?<=[^\W\d_]{2})(?:\s*[:：]|\s=\s).*$")
_FORMULA = re.compile(r"[-A-Za-z0-9 =+−×÷*/^_(){}<>≤≥,.√\\]*[=^+≤≥<>√\\][-A-Za-z0-9 =+−×÷*/^_(){}<>≤≥,.√\\]*")
_JAPANESE = re.compile(r"[ぁ-ヺ一-鿿]")
_ENOUGH = 5  # letters that say what a formula is about
_FORMULA_AT_END = re.compile(r"(?<=[ぁ-んァ-ヶ一-龠])\s+[^ぁ-んァ-ヶ一-龠]*[=＝<>≤≥][^ぁ-んァ-ヶ一-龠]*$")


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a title: in English if it is a concept or Latin, else empty, and in romaji."""

    term: str
    english: str
    romaji: str


@dataclass(frozen=True)
class Slugs:
    """The slugs of titles, with the words of a vocabulary."""

    vocabulary: Vocabulary

    def of(self, title: str, chunk_type: ChunkType, *, language: str = "") -> str:
        """Returns words in lower case with hyphens between them, at most 40 characters; empty if the title has none.

        A title of concepts alone has their names in the vocabulary: 解の公式 → quadratic-formula. Another Japanese
        title is romaji by reading: フランス革命の原因 → furansu-kakumei-genin. Other scripts stay.
        """
        name = _without_additions(title)
        if not is_japanese(name) or language.lower().startswith(("zh", "ko")):
            return _joined(_plain_words(name))
        words = _without_said(list(self._words(self.vocabulary.canonical(name))), _SAID_BY_TYPE[chunk_type])
        is_english = all(word.english for word in words)
        spellings = dict.fromkeys(word.english if is_english else word.romaji for word in words)
        return _joined([part for spelling in spellings if spelling for part in spelling.split("-")])

    def _words(self, text: str) -> Iterator[_Word]:
        mentions = {mention.start: mention for mention in longest_mentions(self.vocabulary.mentions(text))}
        position = end = 0
        pending: list[Morpheme] = []
        for morpheme in (one for line in morphemes(text) for one in line):
            mention = mentions.get(position)
            position += len(morpheme.surface)
            if position <= end:
                continue
            if mention is not None and mention.end >= position:
                yield from _compound(pending)
                pending, end = [], mention.end
                yield _concept(mention, text)
            elif pending and _continues(pending[-1], morpheme):
                pending.append(morpheme)
            else:
                yield from _compound(pending)
                pending = [morpheme]
        yield from _compound(pending)


def numbered(slug: str, number: int) -> str:
    """Returns a slug for the second, third, … box with the same title."""
    return slug if number == 1 else f"{slug}-{number}"


def _without_additions(title: str) -> str:
    """Returns a title without emphasis, brackets, a formula at its end, and what follows a colon or an equals sign."""
    name = without_brackets(_EMPHASIS.sub("", title))
    for pattern in (_BRACKETS, _FORMULA_AT_END, _AFTER_COLON):
        name = pattern.sub("", name) or name
    without_formulas = _FORMULA.sub(" ", name)
    return without_formulas if len(_JAPANESE.findall(without_formulas)) >= _ENOUGH else name


def _joined(words: Sequence[str]) -> str:
    kept = list(words[:MOST_WORDS])
    while len(kept) > 1 and len("-".join(kept)) > LONGEST:
        kept.pop()
    return "-".join(kept)[:LONGEST]


def _plain_words(name: str) -> list[str]:
    text = unicodedata.normalize("NFKD", _POSSESSIVE.sub("s", name)).casefold()
    latin = "".join(sign for sign in text if not unicodedata.combining(sign))
    if not re.search(r"[a-z]", latin):
        return _WORD.findall(unicodedata.normalize("NFKC", name).casefold())
    words = _LATIN_WORD.findall(latin)
    words = [word for word in words if word not in _ARTICLES] or words
    return words if len(words) <= MOST_WORDS else [word for word in words if word not in _LITTLE_WORDS] or words


def _without_said(words: list[_Word], said: frozenset[str]) -> list[_Word]:
    while words and words[-1].term in said and not all(_ORDINAL.fullmatch(word.term) for word in words[:-1]):
        words = words[:-1]
    return words


def _continues(before: Morpheme, morpheme: Morpheme) -> bool:
    """Returns whether a morpheme is a part of the word before it: 三角|形, 割ら|ない, 求め|方, 思い|出す, 最|優先."""
    if morpheme.part == "動詞":
        return before.part == "動詞" and morpheme.terms[0] not in _LIGHT
    if morpheme.part == "助動詞":
        return before.part in ("動詞", "形容詞", "助動詞")
    return before.part == "接頭辞" or (morpheme.part == "接尾辞" and bool(before.terms))


def _compound(parts: list[Morpheme]) -> Iterator[_Word]:
    """Yields the word that some morphemes make, if it has a meaning of its own."""
    if not parts or not parts[0].terms or parts[0].part in _LIGHT_PARTS:
        return
    first, *others = parts
    is_more = any(part.surface in _NEGATIONS or part.part == "動詞" for part in others)
    if first.terms[0] in _LIGHT and not is_more:
        return
    written = "".join(part.surface for part in parts)
    latin = written if _LATIN_WORD.fullmatch(written) else ""
    yield _Word(written if others else first.terms[0], latin, latin or _sound(parts))


def _concept(mention: ConceptMention, text: str) -> _Word:
    spelling, name = text[mention.start : mention.end], _name_of(mention.concepts[0])
    parts = [part for line in morphemes(spelling) for part in line if part.terms and part.terms[0] not in _LIGHT]
    is_loanword = _KATAKANA.fullmatch(spelling) is not None
    return _Word(spelling, name, name if is_loanword else "-".join(filter(None, (_sound([part]) for part in parts))))


def _sound(parts: Sequence[Morpheme]) -> str:
    return "".join(romaji(part.reading) or "".join(_LATIN_WORD.findall(part.surface)) for part in parts)


def _name_of(concept: Concept) -> str:
    """Returns the name of a concept; its romaji if English says that, too: たすき掛け → tasukigake."""
    readings = (romaji(to_katakana(spelling)) for spelling in concept.japanese if is_kana(spelling))
    return next((reading for reading in readings if reading in concept.english), concept.name)
