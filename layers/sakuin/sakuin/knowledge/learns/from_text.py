"""What the sentences of a text say that a reader can do, and what kind of text it is."""

import re
from collections.abc import Iterator
from typing import Literal

from sakuin.knowledge.learns.actions import ENGLISH_IMPERATIVE
from sakuin.knowledge.markdown import without_code
from sakuin.knowledge.page import EMBEDDED_LENGTH, Explanation, Page
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import one_line

Language = Literal["ja", "en", "other"]

# The explanations of a page, and the characters of each, that say what the page is like: it may have thousands.
COMPARED, BEGINNING = 20, 500

# Formulas: TeX, signs of relations, powers.
FORMULA = re.compile(r"\\[a-zA-Z({\[]|[=＝≠≦≧≤≥√∠∥⊥∫Σ±]|(?<!m)[²³]|\w\^|\d\s*[+×÷]\s*\d")

# A page is mathematical if this share of its explanations has formulas.
MATHEMATICAL_SHARE = 0.3

KANA = re.compile(r"[ぁ-んァ-ヴ]")
KANJI = re.compile(r"[㐀-鿿]")
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

# The length of an item in characters, with kanji (or hanzi) and without.
LONGEST = {True: 36, False: 90}
SHORTEST = 8  # characters of a sentence
LONGEST_NUMBER = 20  # characters before a title: Example 12:

# What a sentence says that a reader can do afterwards.
ENGLISH_ABILITY = re.compile(
    r"(?:.{0,60}, )?(?:you|readers?|students?|learners?) (?:can|will learn(?: how)? to|will be able to) (?P<can>.+)"
    r"|(?:this|the) (?:page|section|guide|chapter|tutorial|lesson|article) (?:shows|explains|teaches|describes|covers)"
    r" (?:you )?(?P<how>how to .+)"
    r"|learn (?P<learn>(?:how )?to .+)",
    re.IGNORECASE,
)
JAPANESE_ABILITY = re.compile(r"(?P<can>.{4,}でき)(?:る|ます)(?:ようになる|ようになります)?")

CLAUSE_END = re.compile(r"(?:[,;:，；：、—–]|\s-\s)\s*")


def is_mathematical(explanation: Explanation, page: Page) -> bool:
    """Returns whether an explanation is in a text with formulas, where items about exercises fit."""
    compared = page.explanations[:COMPARED] or (explanation,)
    with_formulas = sum(FORMULA.search(_beginning(one)) is not None for one in compared)
    return with_formulas >= MATHEMATICAL_SHARE * len(compared)


def language_of(explanation: Explanation, page: Page) -> Language:
    """Returns the language of an explanation. Text without kana is Japanese if the page has kana."""
    own = f"{page.title}\n{explanation.title}\n{explanation.text}"
    others = map(_beginning, page.explanations[:COMPARED])
    return "ja" if _has_cjk_script(own) and any(map(KANA.search, others)) else language_of_text(own)


def language_of_text(text: str) -> Language:
    """Returns the language of a text, by its script, frequent words and letters."""
    if _has_cjk_script(text):
        return "ja" if KANA.search(text) or not CHINESE.search(text) else "other"
    folded = text.casefold()
    return "en" if len(ENGLISH.findall(folded)) >= len(NOT_ENGLISH.findall(folded)) else "other"


def _beginning(explanation: Explanation) -> str:
    return f"{explanation.title}\n{without_code(explanation.text[:BEGINNING])}"


def _has_cjk_script(text: str) -> bool:
    """Returns whether a text is written in kana or kanji: not one that only quotes a name in them."""
    signs = len(CJK.findall(text))
    return signs > 0 and signs * MOST_LATIN >= len(LATIN.findall(text))


def abilities_in(explanation: Explanation, language: Language) -> Iterator[str]:
    """Yields what sentences say that a reader can do: "You can reef early." gives "Reef early"."""
    for sentence in sentences_of(explanation, with_steps=False):
        if language == "en" and (said := ENGLISH_ABILITY.fullmatch(sentence)):
            action = said["can"] or said["how"] or said["learn"].removeprefix("to ")
            yield clause_of(action[:1].upper() + action[1:])
        elif language == "en" and ENGLISH_IMPERATIVE.match(sentence):
            yield clause_of(sentence)
        elif language == "ja" and len(sentence) <= LONGEST[True] and (said := JAPANESE_ABILITY.fullmatch(sentence)):
            yield f"{said['can']}る"


def sentences_of(explanation: Explanation, *, with_steps: bool = True) -> Iterator[str]:
    """Yields the sentences of the content without its heading, brackets and questions; short ones are left out.

    If some lines end with a full stop, the others are no sentences: code, cells of tables, entries of lists.
    """
    heading, _, rest = explanation.text[:EMBEDDED_LENGTH].partition("\n")
    is_heading = explanation.title in heading and len(heading) <= len(explanation.title) + LONGEST_NUMBER
    content = without_code(rest if rest and is_heading else explanation.text[:EMBEDDED_LENGTH])
    lines = [plain_tex(line) for line in content.split("\n") if with_steps or not NUMBERED.match(line)]
    ended = [line for line in lines if FULL_STOP.search(line)]
    for sentence in SENTENCE_END.split("\n".join(ended or lines)):
        text = NUMBERED.sub("", one_line(sentence).strip(" -*•・●"), count=1)
        if not text.endswith(("?", "？", "か。", "か")):
            shown = BRACKETS.sub("", text).rstrip("。．.！!:：; ")
            if len(shown) >= SHORTEST:
                yield shown


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
