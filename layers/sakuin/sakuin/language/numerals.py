"""Numbers in kanji and kana: their values and readings."""

import re

DIGITS = {"〇": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_UNITS = {"十": 10, "百": 100, "千": 1000}
KANJI = "〇一二三四五六七八九十百千"
_GROUP = re.compile(r",\d{3}")
_THOUSANDS = re.compile(r"\d(?<![\d.,].)\d{0,2}(?:,\d{3})+(?![\d,])")
# Native Japanese counts, each of which is one word in Sudachi.
_COUNTS = ("一 二 三 四 五 六 七 八 九", "ひと ふた みっ よっ いつ むっ なな やっ")
COUNTED = {f"{count}つ": number for counts in _COUNTS for number, count in enumerate(counts.split(), 1)}
_READINGS = ("レイ", "イチ", "ニ", "サン", "ヨン", "ゴ", "ロク", "ナナ", "ハチ", "キュウ")


def value_of(kanji: str) -> int | None:
    """Returns the number below 10,000 in kanji (二十五 or 二五) or ASCII digits; None for other text."""
    if kanji.isdigit() and kanji.isascii():
        return int(kanji) if len(kanji) <= 4 else None
    if not kanji or len(kanji) > 7 or any(sign not in KANJI for sign in kanji):
        return None
    if not any(sign in _UNITS for sign in kanji):
        return int("".join(str(DIGITS[sign]) for sign in kanji)) if len(kanji) <= 4 else None
    total, digit = 0, None
    for sign in kanji:
        if sign in _UNITS:
            total += (1 if digit is None else digit) * _UNITS[sign]
            digit = None
        else:
            digit = DIGITS[sign]
    return total + (digit or 0)


def without_thousands_commas(text: str) -> str:
    """Returns `text` with `1000` for `1,000`; a list such as `1,2,3` stays."""
    return _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text) if _GROUP.search(text) else text


def reading_of(digits: str) -> str:
    """Returns a whole number below 10,000 in katakana (サンジュウ for `30`), any other number digit by digit."""
    if not digits.isdigit() or len(digits) > 4 or (digits[0] == "0" and len(digits) > 1):
        return "".join(_READINGS[int(sign)] if sign.isdigit() and sign.isascii() else "テン" for sign in digits)
    number = int(digits)
    if number < 10:
        return _READINGS[number]
    parts = []
    for size, name in ((1000, "セン"), (100, "ヒャク"), (10, "ジュウ")):
        count, number = divmod(number, size)
        if count:
            parts.append(("" if count == 1 else _READINGS[count]) + name)
    return "".join(parts) + (_READINGS[number] if number else "")
