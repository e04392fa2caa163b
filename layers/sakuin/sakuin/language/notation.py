r"""Canonical mathematical notation: `\sqrt{2}`, √2 and ルート2 all become `√2`."""

import re
from collections.abc import Iterable

from sakuin.language.numerals import KANJI, value_of, without_thousands_commas
from sakuin.language.tex import SAME_AS, SIGNS, SPACING, STYLE, UNSEEN_GROUPS, WRAPPERS
from sakuin.language.unicode_text import folded

_NUMBER = rf"[{KANJI}\d]+"
_ATOM = r"[a-zα-ω\d]"
_SIMPLE = re.compile(r"-?(?:\d+(?:\.\d+)?|[^\W\d_]|√\w|\d{1,3}[^\W\d_])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{([^{}]*)\}|(\w))\s*(?:\{([^{}]*)\}|(\w))")
_ROOT = re.compile(r"\\sqrt\s*(?:(\[[^\[\]{}]*\])\s*)?(?:\{([^{}]*)\}|(\w))")
_UNDER_ROOT = re.compile(r"[^\W_]|\d+")
_SCRIPT = re.compile(r"([_^])\s*\{([^{}]*)\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\{[lcr|]*\})?")
_DELIMITER = re.compile(r"\\[()\[\]]")
# Nested braces that are resolved; also a bound for hostile input.
_DEEPEST = 8
_MOST_PASSES = 8
# Commands without a sign of their own.
_WITHOUT_SIGN = WRAPPERS | STYLE | SPACING | UNSEEN_GROUPS


def _alone(words: Iterable[str], letters: str) -> str:
    """Returns a pattern of words that are no part of a longer word in `letters`."""
    # Beginning with the words' own letters, it is found faster.
    return "|".join(rf"{word[0]}(?<![{letters}].){word[1:]}(?![{letters}])" for word in words)


_VARIABLES = {
    **{"エックス": "x", "ワイ": "y", "エヌ": "n", "シータ": "θ", "アルファ": "α", "ベータ": "β", "ルート": "√"},
    **{"えっくす": "x", "しーた": "θ", "るーと": "√"},
}
_SPOKEN_VARIABLE = re.compile(
    r"えっくす|しーた|るーと(?=[\da-z2-9にさ])|ル(?<![ァ-ヶー].)ート(?=[\da-z(])|"
    + _alone(("エックス", "ワイ", "エヌ", "シータ", "アルファ", "ベータ"), "ァ-ヶー")
)
_SPOKEN_ROOT = re.compile(
    rf"(?:√(?=[の\s{KANJI}])|ルート|根号)(?:の?\s*(?=[\da-z(])|([{KANJI}][{KANJI}\d]*)(?![{KANJI}次元つ個本]))"
)
_SPOKEN_FRACTION = re.compile(rf"([{KANJI}\da-z]{{1,40}})分の(√?{_NUMBER}|√?[a-z](?![a-z]))(?!分)")
_KANA_NUMBERS = {
    **{"いち": 1, "に": 2, "さん": 3, "よん": 4, "ご": 5, "ろく": 6, "なな": 7, "はち": 8, "きゅう": 9, "じゅう": 10}
}
_KANA_NUMBER = "|".join(_KANA_NUMBERS)
_KANA_FRACTION = re.compile(rf"(?<![ぁ-ん])({_KANA_NUMBER})ぶんの({_KANA_NUMBER})(?![つかけ])")
_KANA_POWER = re.compile(rf"(?<=[a-zθ\d)])の?({_KANA_NUMBER}|[a-z])じょう")
_SPOKEN_POWER = re.compile(rf"([a-zα-ω\d)])\s*(?:の\s*)?({_NUMBER}|[a-z])乗")
_POWER_WORD = re.compile(r"自乗|平方(?![完根])")
_SELF_POWER = re.compile(rf"([a-zα-ω\d)])\s*(?:の\s*)?(?:{_POWER_WORD.pattern})")
_SPOKEN_SIGNS = {"プラスマイナス": "±", "プラス": "+", "マイナス": "-", "イコール": "=", "かける": "×", "わる": "÷"}
_SPOKEN_SIGN = re.compile(
    rf"(?<={_ATOM})\s*(プラスマイナス|プラス|マイナス|イコール)\s*(?=[-√±(]|{_ATOM})|(プラスマイナス|マイナス)(?=[√\d(]|[a-z](?![a-z]))"
)
_TRIANGLE = re.compile(r"三角形\s*(?=[a-z]{3}(?![a-z]))")
_ANGLE = re.compile(r"角(?<![三四五六八多直頂底外内対位錯鋭鈍同接].)\s*(?=[a-z]{1,3}(?![a-z]))")
_ENGLISH_FIGURE = re.compile(r"\b(?:[Aa]ngle|([Tt]riangle))\s+(?=[A-Z]{3}\b)")
_DEGREE = re.compile(r"([0-9])\s*(?:度(?![目数合])|degrees?\b)|\^\(?°\)?")
_PERCENT = re.compile(r"([0-9])\s*(?:パーセント|percent\b)")
_LENGTHS = {"センチメートル": "cm", "センチ": "cm", "ミリメートル": "mm", "ミリ": "mm", "キロメートル": "km"}
_LENGTH = re.compile(rf"(?<=\d)\s*({'|'.join(_LENGTHS)}|メートル)")
_UNIT = re.compile(r"\s(?<=\d\s)\s*(?=(?:cm|mm|km|kg|g|m|l|ml)(?:\^[23])?(?![a-z]))")
_ENGLISH_POWER = re.compile(
    r"\b([a-z]|\d+)\s+(squared|cubed|to\s+the\s+(?:power\s+of\s+)?(\w+?)(?:th)?(?:\s+power)?)\b"
)
_ENGLISH_ROOT = re.compile(r"\b(?:square\s+root|sqrt|root)(?:\s+of\s+|\s*\(|\s+)(\d+|[a-z](?!\s+[a-z]{2}))\b\)?")
_ENGLISH_FRACTION = re.compile(r"\b(?:(?:one|a)\s+half|(one|two|three)\s+(third|quarter|fourth|fifth)s?)\b")
_ENGLISH = {"one": "1", "two": "2", "three": "3", "third": "3", "quarter": "4", "fourth": "4", "fifth": "5"}
_LETTERS = {"theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "pi": "π"}
_GREEK = re.compile(_alone(_LETTERS, "a-z"))
_PI = re.compile(r"(?<![ァ-ヶー])パイ(?![ァ-ヶーを])")
_RELATION = re.compile(r"<=|>=|!=|=<|=>|\+-|\*\*?|//")
_RELATIONS = {"<=": "≤", "=<": "≤", ">=": "≥", "=>": "⇒", "!=": "≠", "+-": "±", "*": "×", "**": "^", "//": "∥"}
_INFIX = r"+\-=≤≥≠≈±×÷<>/^∥∽≡⊥"
# With a space before the sign, behind it, or both.
_GAP = re.compile(
    rf"[ \t{_INFIX}](?<=[a-zα-ω\d)°√^].)(?:(?<=[ \t])[ \t]*[{_INFIX}][ \t]*|(?<=[{_INFIX}])[ \t]+)(?=[-a-zα-ω\d(√±△∠_])"
)
# What other rules change beside a gap, so that it stays.
_TAKES_GAP = re.compile(r"percent|\+-|\(-?(?:°|[^\Wa-zα-ω\d]\))")
_FUNCTION = re.compile(r"(?<![a-z])([a-z]{0,3}(?:sin|cos|tan|log)(?:\^\d)?)[ \t]+(?=[a-zα-ω\d](?![a-z]))")
_BRACKETS = re.compile(r"([√^])\((-?\w)\)")
_CHOICE = re.compile(r"_?(?<![a-z\d])(\d{1,2}|n)\s?([cph])_(\d{1,2}|[rk])(?![a-z\d])")
_LOOSE = re.compile(r"([√△∠])[ \t]+(?=[\da-z(])")


def canonical(text: str) -> str:
    r"""Returns folded text with TeX, signs and spoken mathematics in one form.

    `xの二乗`, `x^{2}` and `x²` become `x^2`; `\frac{1}{2}`, ½ and 二分の一 become `1/2`; 45度 becomes `45°`;
    三角形ABC becomes `△abc`. Prose stays. Idempotent.
    """
    text = _ENGLISH_FIGURE.sub(lambda match: "△" if match[1] else "∠", text) if "ngle" in text else text
    text = folded(without_tex(text))
    if not _TAKES_GAP.search(text):
        # Otherwise the last rule alone would cause a second pass over most texts with formulas.
        text = _without_gaps(text)
    for _ in range(_MOST_PASSES):
        once = _with_spoken_mathematics(text)
        if once == text:
            break
        # The result of one rule can be the input of another rule or of folding.
        text = folded(once)
    return text


def without_tex(text: str) -> str:
    r"""Returns `text` with TeX commands as signs; commands without a sign are removed."""
    if "\\" in text or "^{" in text or "_{" in text:
        text = _DELIMITER.sub(" ", _ENVIRONMENT.sub(" ", text))
        text = re.sub(r"\^\s*(?:\\circ\b|\{\s*\\circ\s*\})", "°", text)
        for _ in range(_DEEPEST):
            before = text
            text = _SCRIPT.sub(lambda match: match[1] + _grouped(match[2]), text)
            text = _ROOT.sub(_root, _FRACTION.sub(_fraction, text))
            if text == before:
                break
        text = _COMMAND.sub(_sign, text).replace("\\", " ").replace("{", " ").replace("}", " ")
    if "{}" in text:
        text = text.replace("{}", "")
    return text.replace("$", " ") if "$" in text else text


def _grouped(inner: str) -> str:
    inner = inner.strip()
    return inner if _SIMPLE.fullmatch(inner) else f"({inner})"


def _fraction(match: re.Match[str]) -> str:
    # The space keeps 2\\frac{1}{3} from becoming 21/3.
    gap = " " if match.start() and match.string[match.start() - 1].isalnum() else ""
    return f"{gap}{_grouped(match[1] or match[2] or '')}/{_grouped(match[3] or match[4] or '')}"


def _root(match: re.Match[str]) -> str:
    inner = (match[2] or match[3] or "").strip()
    degree = f"^{match[1][1:-1]}" if match[1] else ""
    return f"{degree}√{inner}" if _UNDER_ROOT.fullmatch(inner) else f"{degree}√({inner})"


def _sign(match: re.Match[str]) -> str:
    if "\\" + match[1] in _WITHOUT_SIGN:
        return " "
    name = SAME_AS.get("\\" + match[1], "\\" + match[1])[1:]
    return SIGNS.get(name, " ")


def _with_spoken_mathematics(text: str) -> str:
    # To look for a rule's own letters or sign takes much less time than the rule.
    if not text.isascii():
        text = _japanese(text)
    if "squared" in text or "cubed" in text or "to the" in text:
        text = _ENGLISH_POWER.sub(_english_power, text)
    if "root" in text or "sqrt" in text:
        text = _ENGLISH_ROOT.sub(r"√\1", text)
    if "half" in text or "one " in text or "two " in text or "three " in text:
        text = _ENGLISH_FRACTION.sub(_english_fraction, text)
    if "ta" in text or "pi" in text or "alpha" in text or "gamma" in text:
        text = _GREEK.sub(lambda match: _LETTERS[match[0]], text)
    if "度" in text or "degree" in text or "°" in text:
        text = _DEGREE.sub(lambda match: (match[1] or "") + "°", text)
    text = _RELATION.sub(lambda match: _RELATIONS[match[0]], text)
    if "角" in text:
        text = _ANGLE.sub("∠", _TRIANGLE.sub("△", text))
    if "c_" in text or "p_" in text or "h_" in text:
        text = _CHOICE.sub(r"\1\2\3", text)
    text = _UNIT.sub("", without_thousands_commas(text))
    if "パーセント" in text or "percent" in text:
        text = _PERCENT.sub(r"\1%", text)
    if "√" in text or "△" in text or "∠" in text:
        text = _LOOSE.sub(r"\1", text)
    if "√(" in text or "^(" in text:
        text = _BRACKETS.sub(r"\1\2", text)
    if "sin" in text or "cos" in text or "tan" in text or "log" in text:
        text = _FUNCTION.sub(r"\1", text)
    return _without_gaps(text)


def _without_gaps(text: str) -> str:
    return _GAP.sub(lambda match: match[0].strip(" \t"), text)


def _japanese(text: str) -> str:
    text = _SPOKEN_VARIABLE.sub(lambda match: _VARIABLES[match[0]], text)
    if "じょう" in text or "ぶんの" in text:
        text = _KANA_FRACTION.sub(lambda match: f"{_KANA_NUMBERS[match[2]]}/{_KANA_NUMBERS[match[1]]}", text)
        text = _KANA_POWER.sub(lambda match: f"^{_KANA_NUMBERS.get(match[1], match[1])}", text)
    if "パイ" in text:
        text = _PI.sub("π", text)
    if "√" in text or "ルート" in text or "根号" in text:
        text = _SPOKEN_ROOT.sub(_spoken_root, text)
    if "分の" in text:
        text = _SPOKEN_FRACTION.sub(_spoken_fraction, text)
    if "乗" in text:
        text = _SPOKEN_POWER.sub(lambda match: f"{match[1]}^{_digits(match[2])}", text)
    if _POWER_WORD.search(text):
        text = _SELF_POWER.sub(r"\1^2", text)
    if "ラス" in text or "マイ" in text or "イコ" in text:
        text = _SPOKEN_SIGN.sub(lambda match: _SPOKEN_SIGNS[match[1] or match[2]], text)
    if "センチ" in text or "ミリ" in text or "メートル" in text:
        text = _LENGTH.sub(lambda match: _LENGTHS.get(match[1], "m"), text)
    return text


def _digits(number: str) -> str:
    value = value_of(number)
    return number if value is None else str(value)


def _spoken_root(match: re.Match[str]) -> str:
    return "√" + (_digits(match[1]) if match[1] else "")


def _spoken_fraction(match: re.Match[str]) -> str:
    below = _digits(match[1])
    if not below.isdigit() and len(below) > 1:
        return match[0]
    above = "√" + _digits(match[2][1:]) if match[2].startswith("√") else _digits(match[2])
    return f"{above}/{below}"


def _english_power(match: re.Match[str]) -> str:
    if match[2] in ("squared", "cubed"):
        return f"{match[1]}^{2 if match[2] == 'squared' else 3}"
    power = match[3]
    names = {"second": "2", "third": "3", "fourth": "4", "fif": "5", "four": "4"}
    return f"{match[1]}^{names.get(power, power)}" if len(power) < 3 or power in names else match[0]


def _english_fraction(match: re.Match[str]) -> str:
    return f"{_ENGLISH[match[1]]}/{_ENGLISH[match[2]]}" if match[1] else "1/2"
