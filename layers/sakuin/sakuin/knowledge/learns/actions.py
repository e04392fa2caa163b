"""Phrases that name an action, and the language of a text."""

import re
from typing import Literal

from sakuin.language.unicode_text import is_japanese, one_line

Language = Literal["ja", "en", "other"]

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

ACTION_NOUNS = (
    *("方法", "手順", "ルール", "計算", "公式", "判定", "証明"),
    *("変形", "見極め", "使い分け", "判断", "確認", "検算", "暗記"),
    *("因数分解", "平方完成", "場合分け", "作図", "説明", "比較", "利用"),
    *("応用", "活用", "代入", "整理", "導出", "コツ"),
    *("テクニック", "進め方", "習慣", "選択", "ステップ", "仕方", "逆算"),
    *("展開", "注意点", "過程", "変換", "扱い", "練習", "理由"),
)

# A noun made of a verb and 方: 求め方, 解き方, 描き方.
WAY = re.compile(r"[一-龠ぁ-ん][いきしちにびみりぎじえけせてねべめれげ]方$")

ACTION = re.compile(rf"(?:{'|'.join(ACTION_NOUNS)})$|(?:方|方法|手順)と[^と]+$")

# A dictionary form. `STATE` excludes verbs of state: ある, なる, 等しくなる.
VERB = re.compile(r"[一-龠ぁ-んァ-ヶ][うくすつぬむるぐぶ]$")

STATE = re.compile(r"(?:ある|になる|となる|くなる|いる|異なる|という|だろう|でしょう|決まる|べる|れる)$")

ACTION_LIKE_STATE = re.compile(r"(?:述べる|調べる|並べる|比べる|食べる|入れる|触れる|考えられる)$")

_ENGLISH_VERBS = (
    "use|apply|find|solve|compute|calculate|recognize|recognise|decide|check|prove|explain|tell|choose|work|write|read|"
    "draw|derive|simplify|factor|expand|rewrite|identify|understand|compare|convert|determine|evaluate|complete|graph|"
    "state|show|avoid|set|follow|put|spot|turn"
)
ENGLISH_ACTION = re.compile(
    rf"^(?:how to|when to|why|ways? to|steps? to|(?:{_ENGLISH_VERBS})(?:ing|s)?)\b", re.IGNORECASE
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


def without_brackets(item: str) -> str:
    """Returns one line without final punctuation and without brackets at its end."""
    text = one_line(item).rstrip("。．.！!？? ")
    while (shorter := BRACKETED_END.sub("", text)) not in ("", text):
        text = shorter
    return text


def language_of_text(text: str) -> Language:
    """Returns the language of a text, by its script, frequent words and letters."""
    if _has_cjk_script(text):
        return "ja" if KANA.search(text) or not CHINESE.search(text) else "other"
    folded = text.casefold()
    is_english = len(ENGLISH.findall(folded)) >= len(NOT_ENGLISH.findall(folded)) and LATIN.search(text)
    return "en" if is_english else "other"


def _has_cjk_script(text: str) -> bool:
    """Returns whether a text is written in kana or kanji: not one that only quotes a name in them."""
    signs = len(CJK.findall(text))
    return signs > 0 and signs * MOST_LATIN >= len(LATIN.findall(text))
