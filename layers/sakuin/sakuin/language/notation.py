r"""Canonical mathematical notation: `\sqrt{2}`, √2 and ルート2 all become `√2`."""

import re
from collections.abc import Callable, Iterable
from functools import partial

from sakuin.language.numerals import KANJI, value_of, without_thousands_commas
from sakuin.language.tex import SAME_AS, SIGNS, SPACING, STYLE, UNSEEN_GROUPS, WRAPPERS
from sakuin.language.unicode_text import folded

_NUMBER = rf"[{KANJI}\d]+"
_ATOM = r"[a-zα-ω\d]"
_SIMPLE = re.compile(r"-?(?:\d+(?:\.\d+)?|[^\W\d_]|√\w|\d{1,3}[^\W\d_])")
_COMMANDS = re.compile(r"([A-Za-z]{0,4}:?)((?:\\[A-Za-z]+\*?)+)")
# Unless a text is certainly TeX, a backslash behind a word is part of a path or a name: `server\\max`.
_BEFORE_PATH = re.compile(r"[A-Za-z]{4}|[a-z]{3}|[A-Za-z]+:")
_TEX = re.compile(r"\\[(\[]|\\[A-Za-z]+\s*\{|[_^]\s*\{|\$[^$\n]*\\[A-Za-z][^$\n]*\$")
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
_UNIT = re.compile(r"\s(?<=\d\s)\s*(?=(?:cm|mm|km|kg|g|m|l|ml)(?:\^[23])?(?![a-zà-ɏ]))")
_ENGLISH_POWER = re.compile(r"\b([a-z]|\d{1,3})\s+to\s+the\s+(?:power\s+of\s+(\w+)|(\w+)\s+power)\b")
# Neither "Player 1 squared off" nor "a squared circle".
_ENGLISH_SQUARE = re.compile(
    r"\b(?:([b-hj-z])\s+(squared|cubed)\b(?!\s+(?:off|up|away)\b)"
    r"|(\d+|[ai])\s+(squared|cubed)\b(?=[ \t]*(?:$|[^\w \t]|(?:plus|minus|times|equals|is|and|over)\b)))"
)
_ENGLISH_ROOT = re.compile(r"\b(?:square\s+root|sqrt|root)(?:\s+of\s+|\s*\(|\s+)(\d+|[a-z](?!\s+[a-z]{2}))\b\)?")
_ENGLISH_FRACTION = re.compile(r"\b(?:(?:one|a)\s+half|(one|two|three)\s+(third|quarter|fourth|fifth)s?)\b")
_ENGLISH = {"one": "1", "two": "2", "three": "3", "third": "3", "quarter": "4", "fourth": "4", "fifth": "5"}
_ENGLISH |= {"second": "2", "four": "4"}
_LETTERS = {"theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "pi": "π"}
_GREEK = re.compile(_alone(_LETTERS, "a-z"))
_PI = re.compile(r"(?<![ァ-ヶー])パイ(?![ァ-ヶーを])")
_RELATION = re.compile(r"<=|>=|!=|=<|=>|\+-|\*\*?|//")
_RELATIONS = {"<=": "≤", "=<": "≤", ">=": "≥", "=>": "⇒", "!=": "≠", "+-": "±", "*": "×", "**": "^", "//": "∥"}
_INFIX = r"+\-=≤≥≠≈±×÷<>/^∥∽≡⊥"
# With a space before the sign, behind it, or both.
_GAP = re.compile(
    rf"[ \t{_INFIX}](?<=[a-zα-ω\d)°√^].)(?<![a-z]{{4}}.)"
    rf"(?:(?<=[ \t])[ \t]*[{_INFIX}][ \t]*|(?<=[{_INFIX}])[ \t]+)(?=[-a-zα-ω\d(√±△∠_])(?![a-z]{{4}})"
)
_FUNCTION = re.compile(r"(?<![a-zà-ɏ])((?:[axy]|ab)?(?:sin|cos|tan|log)(?:\^\d)?)[ \t]+(?=[a-zα-ω\d](?![a-zà-ɏ]))")
_BRACKETS = re.compile(r"([√^])\((-?\w)\)")
_CHOICE = re.compile(r"_?(?<![a-z\d])(\d{1,2}|n)\s?([cph])_(\d{1,2}|[rk])(?![a-z\d])")
_LOOSE = re.compile(r"([√△∠])[ \t]+(?=[\da-z(])")


def canonical(text: str, *, mathematics: bool = False) -> str:
    r"""Returns folded text with TeX and mathematical signs in one form; with `mathematics`, spoken mathematics too.

    `x^{2}` and `x²` become `x^2`, `\frac{1}{2}` and ½ become `1/2`. With `mathematics`, so do `xの二乗` and 二分の一;
    45度 becomes `45°`, 三角形ABC becomes `△abc`. Other words stay. Idempotent.
    """
    if mathematics and "ngle" in text:
        text = _ENGLISH_FIGURE.sub(lambda match: "△" if match[1] else "∠", text)
    text = folded(without_tex(text))
    for _ in range(_MOST_PASSES):
        once = _with_spoken_mathematics(text) if mathematics else text
        once = _GAP.sub(lambda match: match[0].strip(" \t"), without_thousands_commas(once))
        if once == text:
            break
        # The result of one rule can be the input of another rule or of folding.
        text = folded(once)
    return text


def without_tex(text: str) -> str:
    r"""Returns `text` with TeX commands as signs; commands without a sign are removed."""
    if "\\" in text or "^{" in text or "_{" in text:
        signs = partial(_signs, may_be_path=not _TEX.search(text))
        text = _DELIMITER.sub(" ", _ENVIRONMENT.sub(" ", text))
        text = re.sub(r"\^\s*(?:\\circ\b|\{\s*\\circ\s*\})", "°", text)
        for _ in range(_DEEPEST):
            before = text
            text = _SCRIPT.sub(lambda match: match[1] + _grouped(match[2]), text)
            text = _ROOT.sub(_root, _FRACTION.sub(_fraction, text))
            if text == before:
                break
        text = re.sub(r"[\\{}]", " ", _COMMANDS.sub(signs, text))
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


def _signs(match: re.Match[str], *, may_be_path: bool) -> str:
    """Returns the signs of commands that follow each other, or their names if one is no command of TeX: a path."""
    names = match[2].replace("*", "").split("\\")[1:]
    same = [SAME_AS.get("\\" + name, "\\" + name)[1:] for name in names]
    is_path = may_be_path and _BEFORE_PATH.fullmatch(match[1])
    if is_path or any(name not in SIGNS and "\\" + name not in _WITHOUT_SIGN for name in same):
        return match[0]
    return match[1] + "".join(SIGNS.get(name, " ") for name in same)


# Whether a text may have what a rule is about takes much less time than the rule: (parts of it, pattern, replacement).
_Rule = tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _with_spoken_mathematics(text: str) -> str:
    for rules in (_SPOKEN, _WRITTEN) if text.isascii() else (_JAPANESE, _SPOKEN, _WRITTEN):
        for parts, pattern, replacement in rules:
            if any(map(text.__contains__, parts)):
                text = pattern.sub(replacement, text)
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
    named = match[2] or match[3]
    power = _ENGLISH.get(named, named.removesuffix("th"))
    return f"{match[1]}^{power}" if power.isdecimal() or len(power) == 1 else match[0]


def _english_square(match: re.Match[str]) -> str:
    return f"{match[1] or match[3]}^{2 if 'squared' in match[0] else 3}"


def _english_fraction(match: re.Match[str]) -> str:
    return f"{_ENGLISH[match[1]]}/{_ENGLISH[match[2]]}" if match[1] else "1/2"


_JAPANESE: tuple[_Rule, ...] = (
    (tuple(_VARIABLES), _SPOKEN_VARIABLE, lambda match: _VARIABLES[match[0]]),
    (("ぶんの",), _KANA_FRACTION, lambda match: f"{_KANA_NUMBERS[match[2]]}/{_KANA_NUMBERS[match[1]]}"),
    (("じょう",), _KANA_POWER, lambda match: f"^{_KANA_NUMBERS.get(match[1], match[1])}"),
    (("パイ",), _PI, "π"),
    (("√", "ルート", "根号"), _SPOKEN_ROOT, _spoken_root),
    (("分の",), _SPOKEN_FRACTION, _spoken_fraction),
    (("乗",), _SPOKEN_POWER, lambda match: f"{match[1]}^{_digits(match[2])}"),
    (("自乗", "平方"), _SELF_POWER, r"\1^2"),
    (("ラス", "マイ", "イコ"), _SPOKEN_SIGN, lambda match: _SPOKEN_SIGNS[match[1] or match[2]]),
    (("センチ", "ミリ", "メートル"), _LENGTH, lambda match: _LENGTHS.get(match[1], "m")),
)
_SPOKEN: tuple[_Rule, ...] = (
    (("to the",), _ENGLISH_POWER, _english_power),
    (("squared", "cubed"), _ENGLISH_SQUARE, _english_square),
    (("root", "sqrt"), _ENGLISH_ROOT, r"√\1"),
    (("half", "one ", "two ", "three "), _ENGLISH_FRACTION, _english_fraction),
    (("ta", "pi", "alpha", "gamma"), _GREEK, lambda match: _LETTERS[match[0]]),
    (("度", "degree", "°"), _DEGREE, lambda match: (match[1] or "") + "°"),
    (("=", "*", "+-", "//"), _RELATION, lambda match: _RELATIONS[match[0]]),
)
_WRITTEN: tuple[_Rule, ...] = (
    (("三角形",), _TRIANGLE, "△"),
    (("角",), _ANGLE, "∠"),
    (("c_", "p_", "h_"), _CHOICE, r"\1\2\3"),
    ((" ",), _UNIT, ""),
    (("パーセント", "percent"), _PERCENT, r"\1%"),
    (("√", "△", "∠"), _LOOSE, r"\1"),
    (("√(", "^("), _BRACKETS, r"\1\2"),
    (("sin", "cos", "tan", "log"), _FUNCTION, r"\1"),
)
