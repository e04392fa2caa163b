"""Phrases that name an action, in Japanese and English."""

import re

from sakuin.language.unicode_text import is_japanese, one_line

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
