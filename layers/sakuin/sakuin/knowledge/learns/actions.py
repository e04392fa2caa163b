"""Phrases that name an action, the mixture of a list, and the language of a text."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from sakuin.language.questions.function_words import stop_words
from sakuin.language.unicode_text import is_japanese, one_line

Language = Literal["ja", "en", "other"]
# What no item of a list has.
Lack = Literal["symptom", "everyday", "example"]

KANA = re.compile(r"[ぁ-んァ-ヴ]")
# In the form that Python finds fastest (`retrieval/passages.py`).
CJK = re.compile(r"[ぁ-んァ-ヴ㐀-鿿][ぁ-んァ-ヴ㐀-鿿]*")
LATIN = re.compile(r"[A-Za-z]")
MOST_LATIN = 10  # letters for each sign of Japanese, which may have much TeX
CHINESE = re.compile(r"[的了是在和们這这為为與与]")
ENGLISH = re.compile(r"\b(?:the|of|and|to|in|is|that|for|it|as|was|with|by|on|are|this|from|be|or|an|at|you)\b")
NOT_ENGLISH = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|ein|eine|von|mit|den|dem|zu|im|auf|für|le|la|les|des|et|est|une|du|dans|que|pour|"
    r"el|los|las|una|es|en|por|con|del|il|che|di|per|och|att|det|som|er|av|het|een|van)\b|[äöüßéèêàçñåøœ]"
)

ACTION_NOUNS = (
    *("方法", "手順", "ルール", "計算", "公式", "判定", "証明"),
    *("変形", "見極め", "使い分け", "判断", "確認", "検算", "暗記"),
    *("因数分解", "平方完成", "場合分け", "作図", "説明", "比較", "利用"),
    *("応用", "活用", "代入", "整理", "導出", "コツ"),
    *("テクニック", "進め方", "習慣", "選択", "ステップ", "仕方", "逆算"),
    *("展開", "注意点", "過程", "変換", "扱い", "練習", "理由"),
)

# Or a noun made of a verb and 方: 求め方, 解き方, 描き方.
ACTION = re.compile(
    rf"(?:{'|'.join(ACTION_NOUNS)})$|(?:方|方法|手順)と[^と]+$|[一-龠ぁ-ん][いきしちにびみりぎじえけせてねべめれげ]方$"
)

# A dictionary form. `STATE` excludes verbs of state: ある, なる, 等しくなる.
VERB = re.compile(r"[一-龠ぁ-んァ-ヶ][うくすつぬむるぐぶ]$")

STATE = re.compile(r"(?:ある|になる|となる|くなる|いる|異なる|という|だろう|でしょう|決まる|べる|れる)$")

ACTION_LIKE_STATE = re.compile(r"(?:述べる|調べる|並べる|比べる|食べる|入れる|触れる|考えられる)$")

_ENGLISH_VERBS = (
    "use|apply|find|solve|compute|calculate|recognize|recognise|decide|check|prove|explain|tell|choose|work|write|read|"
    "draw|derive|simplify|factor|expand|rewrite|identify|understand|compare|convert|determine|evaluate|complete|graph|"
    "state|show|avoid|set|follow|put|spot|turn|fix|stop|prevent|recover|restore|keep|give|make|let|move|change|replace|"
    "add|remove|delete|clean|list|see|look|count|measure|test|run|start|deploy|connect|create|build|plan|limit|split|"
    "join|save|send|ask|search|describe|name|mark|reduce|protect|allow|sign|undo|repair|upgrade|install|configure"
)
ENGLISH_ACTION = re.compile(
    rf"^(?:how to|when to|why|ways? to|steps? to|(?:{_ENGLISH_VERBS})(?:ing|s)?)\b", re.IGNORECASE
)

SYMPTOM = {
    "ja": re.compile(
        "ない|なく|ずに|なぜ|理由|間違|まちが|ミス|誤|忘れ|混同|混乱|迷|困|違い|ちがい|見分け|区別|使い分け|見極め|防ぐ|避け|直す|"
        "エラー|失敗|注意|気をつけ|確かめ|確認|検算|見落|消え|不安|苦手|つまず|逆|減点|もれ|漏れ|合わ|気づ|起き|起こ|どうなる|"
        "原因|問題点|欠点|弱点|落とし穴|危険|警告|防げ|防い|失わ|混ざ|壊|にくい|遅|思い込|直し"
    ),
    "en": re.compile(
        r"n['’]t\b|\b(?:why|not|no|nothing|never|without|instead|rather|wrong\w*|fix\w*|avoid\w*|error\w*|fail\w*|"
        r"mis\w+|confus\w+|differen\w+|apart|lost|los\w+|stuck|stale|slow\w*|old|broken|empty|gone|refus\w+|"
        r"reject\w*|problem\w*|trouble|warning\w*|recover\w*|repair\w*|undo|stop\w*|prevent\w*|too|duplicate\w*|"
        r"twice|unexpected\w*|decide|choose|whether|which|check\w*|dead|still|fewer|after|hidden|"
        r"happen\w*|cannot|unable|lack\w*|ignor\w*|danger\w*|crash\w*|break\w*)\b",
        re.IGNORECASE,
    ),
}
# Also a loop without the marks of code: for (let i=0; i<9; i++).
_CODE = re.compile(r"```.*?```|`[^`]*`|\bfor ?\([^;\n]*;", re.DOTALL)
# A variable of one letter, a number or a bracket, then a sign of equality; TeX; a sum.
_EQUATION = re.compile(
    r"(?:(?<![\w-])[A-Za-z]|[\d)}²³'])\s*[=＝≦≧]\s*[^\s=\">]|\\(?:frac|sqrt)|\d\s*[+×÷−]\s*\d", re.ASCII
)
_DIGIT = re.compile(r"\d")
_TITLE_WORD = re.compile(r"[㐀-鿿々]{2,}|[ァ-ヺー]{2,}|[^\W\d_ぁ-ヿ㐀-鿿]{4,}")
# "index", "indexed" and "indexing" begin alike.
_BEGINNING = 5

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
    is_verb = VERB.search(core) and (STATE.search(core) is None or ACTION_LIKE_STATE.search(core))
    return bool(is_verb) or ACTION.search(core) is not None


def without_brackets(item: str) -> str:
    """Returns one line without final punctuation and without brackets at its end."""
    text = one_line(item).rstrip("。．.！!？? ")
    while (shorter := BRACKETED_END.sub("", text)) not in ("", text):
        text = shorter
    return text


def lacking(items: Sequence[str], words: Collection[str], text: str) -> Iterator[Lack]:
    """Yields what no item of a list has, for a section with this text and these words that only its title has.

    That is a symptom or a confusion, where its words are known in the language; an item without any word of the title;
    and an example with numbers, if the section calculates.
    """
    language = language_of_text(" ".join(items))
    if (symptom := SYMPTOM.get(language)) and not any(map(symptom.search, items)):
        yield "symptom"
    if all(any(word in item.casefold() for word in words) for item in items):
        yield "everyday"
    if calculates(text) and not any(map(_DIGIT.search, items)):
        yield "example"


def title_words(title: str) -> set[str]:
    """Returns the beginnings of the words of a title that name something, in lower case."""
    words = title.casefold()
    return {word[:_BEGINNING] for word in {*_TITLE_WORD.findall(words)} - stop_words(words)}


def calculates(content: str) -> bool:
    """Returns whether a text has an equation or a sum outside of its code."""
    return _EQUATION.search(_CODE.sub("", content)) is not None


def language_of_text(text: str) -> Language:
    """Returns the language of a text, by its script, frequent words and letters."""
    if _has_cjk_script(text):
        return "ja" if KANA.search(text) or not CHINESE.search(text) else "other"
    folded = text.casefold()
    is_english = len(ENGLISH.findall(folded)) >= len(NOT_ENGLISH.findall(folded)) and LATIN.search(text)
    return "en" if is_english else "other"


def _has_cjk_script(text: str) -> bool:
    """Returns whether a text is written in kana or kanji: not one that only quotes a name in them."""
    signs = sum(map(len, CJK.findall(text)))
    return signs > 0 and signs * MOST_LATIN >= len(LATIN.findall(text))
