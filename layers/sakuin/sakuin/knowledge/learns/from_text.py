"""What a text says that a reader can do: phrases that name an action, sentences, and what kind of text it is."""

import re
from collections.abc import Iterator
from typing import Literal

from sakuin.knowledge.markdown import without_code
from sakuin.knowledge.page import EMBEDDED_LENGTH, Explanation, Page
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import is_japanese, one_line

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

# ---------------------------------------------------------------- phrases that name an action

ACTION_NOUNS = (
    *("方法", "手順", "ルール", "計算", "公式", "判定", "証明"),
    *("変形", "見極め", "使い分け", "判断", "確認", "検算", "暗記"),
    *("因数分解", "平方完成", "場合分け", "作図", "説明", "比較", "利用"),
    *("応用", "活用", "代入", "整理", "導出", "コツ"),
    *("テクニック", "進め方", "習慣", "選択", "ステップ", "仕方", "逆算"),
    *("展開", "注意点", "過程", "変換", "扱い", "練習", "理由"),
)

# Nouns that become verbs with する.
DOING_NOUNS = (
    *("判定", "証明", "変形", "判別", "展開", "確認", "計算"),
    *("暗記", "利用", "活用", "比較", "作図", "検算", "判断"),
    *("整理", "代入", "因数分解", "平方完成", "分類", "導出"),
    *("チェック", "攻略", "有理化", "通分", "約分", "移項"),
)

# A noun made of a verb and 方: 求め方, 解き方, 描き方.
WAY = re.compile(r"[一-龠ぁ-ん][いきしちにびみりぎじえけせてねべめれげ]方$")

ACTION = re.compile(rf"(?:{'|'.join(ACTION_NOUNS)})$|(?:方|方法|手順)と[^と]+$")

# A dictionary form. `STATE` excludes verbs of state: ある, なる, 等しくなる.
VERB = re.compile(r"[一-龠ぁ-んァ-ヶ][うくすつぬむるぐぶ]$")

STATE = re.compile(r"(?:ある|になる|となる|くなる|いる|異なる|という|だろう|でしょう|決まる|べる|れる)$")

ACTION_LIKE_STATE = re.compile(r"(?:述べる|調べる|並べる|比べる|食べる|入れる|触れる|考えられる)$")

DOING = re.compile(rf"^(.+)(の|を)({'|'.join(DOING_NOUNS)})$")

DOING_WITH = re.compile(rf"^.+[をでに].*(?<![たるなの])(?:{'|'.join(DOING_NOUNS)})$")

_ENGLISH_VERBS = (
    "use|apply|find|solve|compute|calculate|recognize|recognise|decide|check|prove|explain|tell|choose|work|write|read|"
    "draw|derive|simplify|factor|expand|rewrite|identify|understand|compare|convert|determine|evaluate|complete|graph|"
    "state|show|avoid|set|follow|put|spot|turn"
)
ENGLISH_ACTION = re.compile(
    rf"^(?:how to|when to|why|ways? to|steps? to|(?:{_ENGLISH_VERBS})(?:ing|s)?)\b", re.IGNORECASE
)
# "State machines" and "Use cases" are nouns: such a title names an action with an article or "ing" only.
_CLEAR_VERBS = (
    "apply|solve|compute|calculate|recogni[sz]e|decide|explain|choose|derive|simplify|expand|rewrite|identify|understand|"
    "compare|convert|determine|evaluate|avoid|follow|install|configure|create|add|remove|delete|enable|disable|connect|"
    "define|customi[sz]e|extend|deploy|publish|migrate|upgrade|get"
)
_GERUNDS = "|".join(verb.removesuffix("e") for verb in f"{_ENGLISH_VERBS}|{_CLEAR_VERBS}|import|make|handle".split("|"))
_IMPERATIVE = rf"(?:{_CLEAR_VERBS}) |(?:{_ENGLISH_VERBS}|import|make|handle) (?:an?|the|your|up|with|all|each) "
ENGLISH_IMPERATIVE = re.compile(_IMPERATIVE, re.IGNORECASE)
ENGLISH_TITLE = re.compile(
    rf"(?:how to|when to|ways? to|steps? to) |(?:{_GERUNDS})[a-z]?ing |{_IMPERATIVE}", re.IGNORECASE
)

BRACKETED_END = re.compile(r"\s*[（(][^（()）]*[)）]$")

FORMULA_TAIL = re.compile(r"\s[^ぁ-んァ-ヶ一-龠]+$")


def names_action(item: str) -> bool:
    """Returns whether a learns item names an action: a dictionary form, 〜方法, 〜の計算, How to ….

    It ignores a bracket or formula at the end. "D=0 で重解" and "傾きの意味" name no action.
    """
    core = without_brackets(item)
    if not is_japanese(core):
        return ENGLISH_ACTION.match(core) is not None
    core = FORMULA_TAIL.sub("", core)
    return ACTION.search(core) is not None or WAY.search(core) is not None or is_verb(core)


def is_verb(text: str) -> bool:
    """Returns whether `text` ends in a verb of action: 斜辺を求める, not 等しくなる."""
    return VERB.search(text) is not None and (STATE.search(text) is None or ACTION_LIKE_STATE.search(text) is not None)


def as_verb(name: str) -> str:
    """Returns `name` as a verb phrase: 等式の変形 → 等式を変形する; empty if it has none."""
    if "は" in re.sub(r"「[^」]*」", "", name):
        return ""
    if is_verb(name):
        return name
    if doing := DOING.match(name):
        return f"{doing[1]}を{doing[3]}する"
    return f"{name}する" if DOING_WITH.match(name) else ""


def without_brackets(item: str) -> str:
    """Returns one line without final punctuation and without brackets at its end."""
    text = one_line(item).rstrip("。．.！!？? ")
    while (shorter := BRACKETED_END.sub("", text)) not in ("", text):
        text = shorter
    return text


# ---------------------------------------------------------------- texts


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
