"""Items of `learns` for texts that teach nothing to do: what their sentences say."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Literal

from sakuin.knowledge.learns.actions import ENGLISH_IMPERATIVE
from sakuin.knowledge.page import EMBEDDED_LENGTH, Explanation, Page
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import nfkc, one_line
from sakuin.retrieval.fenced_code import without_code

Language = Literal["ja", "en", "other"]

WANTED = 3

# The explanations of a page, and the characters of each, that say what the page is like: it may have thousands.
COMPARED, BEGINNING = 20, 500

# Formulas: TeX, signs of relations, powers.
FORMULA = re.compile(r"\\[a-zA-Z({\[]|[=＝≠≦≧≤≥√∠∥⊥∫Σ±]|(?<!m)[²³]|\w\^|\d\s*[+×÷]\s*\d")

# A page is mathematical if this share of its explanations has formulas.
MATHEMATICAL_SHARE = 0.3

KANA = re.compile(r"[ぁ-んァ-ヴ]")
KANJI = re.compile(r"[㐀-鿿]")
WORD = re.compile(r"[^\W\d_]+")
CJK = re.compile(r"[ぁ-んァ-ヴ㐀-鿿]")
LATIN = re.compile(r"[A-Za-z]")
MOST_LATIN = 10  # letters for each sign of Japanese, which may have much TeX
CHINESE = re.compile(r"[的了是在和们這这為为與与]")
ENGLISH = re.compile(r"\b(?:the|of|and|to|in|is|that|for|it|as|was|with|by|on|are|this|from|be|or|an|at|you)\b")
NOT_ENGLISH = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|ein|eine|von|mit|den|dem|zu|im|auf|für|le|la|les|des|et|est|une|du|dans|que|pour|"
    r"el|los|las|una|es|en|por|con|del|il|che|di|per|och|att|det|som|er|av|het|een|van)\b|[äöüßéèêàçñåøœ]"
)

# Not behind an ordinal or an initial: 21. Jahrhundert, H. G. Wells.
SENTENCE_END = re.compile(r"(?<=[。！？!?])|(?<=[^\W\dA-Z_][.;])\s+|(?<=(?:\d{3}|..[^\w\s])[.;])\s+|\n+")
FULL_STOP = re.compile(r"[。．.！!][」』”\")）]*$")
BRACKETS = re.compile(r"\s+\([^()]*\)|\s*(?:（[^（）]*）|［[^［］]*］)")
NUMBERED = re.compile(r"^\d+[.)] ")

# Japanese puts the verb last: what a sentence is about are its nouns.
NOUN = r"[一-龠々〆ァ-ヴー・A-Za-z0-9]{2,16}"
PHRASE = re.compile(rf"{NOUN}(?:の{NOUN})?")
EMPTY_PHRASE = re.compile(
    r"^[\d・.,]*[\d一二三四五六七八九十百千万億]+(?:年|月|日|人|本|個|回|度|歳|世紀|位|%|km|m|kg)?(?:代|間|頃|後|前|以上|以下)?$"
    r"|^(?:場合|以上|以下|現在|一般|必要|存在|多く|一部|最大|可能|同様|特徴|影響|結果|理由|関係|状態|方法|意味|名称|種類|中心|前後|各地|付近|自身|当時|近年|今日|全体|部分)$"
)
PLAIN_END = re.compile(r"[一-龠ぁ-ん](?:[くつぬむるぐぶい]|(?<!しょ)う|(?<![まで])す|(?<!まし|でし)た)$")
OPENING = re.compile(
    r"^(?:なお|また|しかし|ただし|そして|さらに|一方|例えば|たとえば|つまり|そのため|このため|それで|だから)[、，]?"
)
# The length of an item in characters, with kanji (or hanzi) and without.
LONGEST = {True: 36, False: 90}
SHORTEST = 8  # characters of a sentence
LONGEST_NUMBER = 20  # characters before a title: Example 12:

# What a sentence begins with that needs the sentence before.
UNCLEAR = re.compile(
    r"(?:it|he|she|they|this|these|those|that|there|his|her|its|their|we|you|er|sie|es|dies\w*)\b|[他她它这此]",
    re.IGNORECASE,
)
# What stands before the subject: After 1788, Australia …
BEFORE_SUBJECT = re.compile(
    r"^(?:(?:but|and|so|also)\s+|(?:after|as|at|although|because|before|by|despite|during|for|from|furthermore|hence|"
    r"however|if|in|instead|meanwhile|moreover|nevertheless|on|otherwise|since|therefore|though|thus|to|under|when|while|"
    r"with|\w+ly)\b[^,]{0,80},\s+)",
    re.IGNORECASE,
)
LOWER = re.compile(
    r"(?:A|All|An|Any|At|Both|By|Each|Every|For|From|If|In|It|Many|Most|No|On|One|Several|Some|Such|The|There|These|This|"
    r"To|Two|What|When|With)\b"
)
CLAUSE_END = re.compile(r"(?:[,;:，；：、—–]|\s-\s)\s*")


def is_mathematical(explanation: Explanation, page: Page) -> bool:
    """Returns whether an explanation is in a text with formulas, where items about exercises fit."""
    compared = page.explanations[:COMPARED] or (explanation,)
    with_formulas = sum(FORMULA.search(_beginning(one)) is not None for one in compared)
    return with_formulas >= MATHEMATICAL_SHARE * len(compared)


def language_of(explanation: Explanation, page: Page) -> Language:
    """Returns the language of an explanation. Text without kana is Japanese if the page has kana."""
    own = f"{page.title}\n{explanation.title}\n{explanation.content}"
    others = map(_beginning, page.explanations[:COMPARED])
    return "ja" if _has_cjk_script(own) and any(map(KANA.search, others)) else language_of_text(own)


def language_of_text(text: str) -> Language:
    """Returns the language of a text, by its script, frequent words and letters."""
    if _has_cjk_script(text):
        return "ja" if KANA.search(text) or not CHINESE.search(text) else "other"
    folded = text.casefold()
    return "en" if len(ENGLISH.findall(folded)) >= len(NOT_ENGLISH.findall(folded)) else "other"


def _beginning(explanation: Explanation) -> str:
    return f"{explanation.title}\n{explanation.content[:BEGINNING]}"


def _has_cjk_script(text: str) -> bool:
    """Returns whether a text is written in kana or kanji: not one that only quotes a name in them."""
    signs = len(CJK.findall(text))
    return signs > 0 and signs * MOST_LATIN >= len(LATIN.findall(text))


def items_of_text(explanation: Explanation, page: Page, language: Language) -> Iterator[str]:
    """Yields up to three items about sentences from the beginning, the middle and the end of the content.

    In Japanese and English they name an action; in other languages they are clauses of the text.
    """
    # Steps have items of their own.
    sentences = tuple(sentences_of(explanation, with_steps=language == "other"))
    clear = [sentence for sentence in sentences if not UNCLEAR.match(sentence)] or sentences
    if language == "ja":
        common = _common_phrases(page)
        items = [item for sentence in clear if (item := _in_japanese(sentence, common))]
        more: Iterator[str] = (f"{phrase}の説明" for sentence in sentences for phrase in _phrases(sentence, common))
    else:
        words = frozenset(WORD.findall(explanation.content))
        written: Callable[[str], str] = partial(_in_english, words=words) if language == "en" else clause_of
        items = [written(sentence) for sentence in clear]
        clauses = (clause for sentence in sentences for clause in CLAUSE_END.split(sentence) if len(clause) > 20)
        more = map(written, (*sentences, *clauses))
    # A short text has fewer sentences: then its phrases or clauses.
    yield from islice(dict.fromkeys((*_spread(items), *more)), WANTED)


def _spread(items: Sequence[str]) -> Iterator[str]:
    count = min(len(items), WANTED)
    return (items[number * (len(items) - 1) // max(count - 1, 1)] for number in range(count))


def sentences_of(explanation: Explanation, *, with_steps: bool = True) -> Iterator[str]:
    """Yields the sentences of the content without its heading, brackets and questions; short ones are left out.

    If some lines end with a full stop, the others are no sentences: code, cells of tables, entries of lists.
    """
    heading, _, rest = explanation.content[:EMBEDDED_LENGTH].partition("\n")
    is_heading = explanation.title in heading and len(heading) <= len(explanation.title) + LONGEST_NUMBER
    content = without_code(rest if rest and is_heading else explanation.content[:EMBEDDED_LENGTH])
    lines = [plain_tex(line) for line in content.split("\n") if with_steps or not NUMBERED.match(line)]
    ended = [line for line in lines if FULL_STOP.search(line)]
    for sentence in SENTENCE_END.split("\n".join(ended or lines)):
        text = NUMBERED.sub("", one_line(sentence).strip(" -*•・●"), count=1)
        if not text.endswith(("?", "？", "か。", "か")):
            shown = BRACKETS.sub("", text).rstrip("。．.！!:：; ")
            if len(shown) >= SHORTEST:
                yield shown


def _in_japanese(sentence: str, common: Collection[str]) -> str:
    text = OPENING.sub("", sentence)
    if len(text) <= LONGEST[True] and PLAIN_END.search(text):
        return f"{text}ことの説明"
    phrases = _phrases(text, common)
    longest = sorted(phrases, key=len, reverse=True)[:WANTED]
    taken = "、".join(phrase for phrase in phrases if phrase in longest)
    return f"{taken}の説明" if taken else ""


def _phrases(text: str, common: Collection[str]) -> list[str]:
    phrases = dict.fromkeys(PHRASE.findall(text))
    return [phrase for phrase in phrases if phrase not in common and not EMPTY_PHRASE.search(nfkc(phrase))]


def _common_phrases(page: Page) -> frozenset[str]:
    """Returns the phrases of at least half of a page's explanations, which say nothing about one of them."""
    compared = page.explanations[:COMPARED]
    counts = Counter(phrase for one in compared for phrase in set(PHRASE.findall(_beginning(one))))
    return frozenset(phrase for phrase, count in counts.items() if count > 1 and count * 2 >= len(compared))


def _in_english(sentence: str, words: Collection[str]) -> str:
    """Returns an item. `words` are those of the text: a first word that it has in lower case, too, is no name."""
    if ENGLISH_IMPERATIVE.match(sentence):
        return clause_of(sentence)
    clause = clause_of(BEFORE_SUBJECT.sub("", sentence))
    lower = clause[:1].lower() + clause[1:]
    first = WORD.match(lower)
    return f"Explain that {lower if LOWER.match(clause) or (first and first[0] in words) else clause}"


def clause_of(sentence: str) -> str:
    """Returns the beginning of a sentence, up to a comma if it is long."""
    longest = LONGEST[KANJI.search(sentence) is not None]
    if len(sentence) <= longest:
        return sentence
    ends = [end.start() for end in CLAUSE_END.finditer(sentence) if longest // 4 <= end.start() <= longest]
    if ends:
        return sentence[: ends[-1]].strip()
    cut = sentence[:longest]
    return f"{cut.rpartition(' ')[0] or cut}…"
