"""Hepburn romanization of katakana."""

import re

_SYLLABLES: dict[str, str] = {}
for _kana, _romaji in (
    ("アイウエオ", "a i u e o"),
    ("カキクケコ", "ka ki ku ke ko"),
    ("ガギグゲゴ", "ga gi gu ge go"),
    ("サシスセソ", "sa shi su se so"),
    ("ザジズゼゾ", "za ji zu ze zo"),
    ("タチツテト", "ta chi tsu te to"),
    ("ダヂヅデド", "da ji zu de do"),
    ("ナニヌネノ", "na ni nu ne no"),
    ("ハヒフヘホ", "ha hi fu he ho"),
    ("バビブベボ", "ba bi bu be bo"),
    ("パピプペポ", "pa pi pu pe po"),
    ("マミムメモ", "ma mi mu me mo"),
    ("ヤユヨ", "ya yu yo"),
    ("ラリルレロ", "ra ri ru re ro"),
    ("ワヰヱヲンヴ", "wa i e o n vu"),
    ("ァィゥェォャュョヮ", "a i u e o ya yu yo wa"),
    ("ヵヶ", "ka ke"),
):
    _SYLLABLES.update(zip(_kana, _romaji.split(), strict=True))
# A consonant before a small vowel: キャ, シャ, ファ, ティ, ヴァ.
_GLIDE = re.compile(r"([キギニヒビピミリ])([ャュョ])")
_SHORT_GLIDE = re.compile(r"([シジチヂ])([ャュョェ])")
_FOREIGN = re.compile(r"([フヴツクグ])([ァィェォ])|([テデ])(ィ)|([トド])(ゥ)|(ウ)([ィェォ])")
_DOUBLED = re.compile(r"ッ(?=([a-z]))")


def romaji(katakana: str) -> str:
    """Returns katakana in Hepburn romanization, long vowels as in kana and without ー: カイノコウシキ → kainokoushiki.

    Other characters are left out.
    """
    text = _GLIDE.sub(lambda match: _SYLLABLES[match[1]][0] + _SYLLABLES[match[2]], katakana)
    text = _SHORT_GLIDE.sub(lambda match: _SYLLABLES[match[1]][:-1] + _SYLLABLES[match[2]][-1], text)
    text = _FOREIGN.sub(_foreign, text)
    text = "".join(_SYLLABLES.get(sign, sign) for sign in text)
    text = _DOUBLED.sub(lambda match: "t" if match[1] == "c" else match[1], text)
    return re.sub(r"[^a-z]", "", text)


def _foreign(match: re.Match[str]) -> str:
    consonant, vowel = (part for part in match.groups() if part)
    stem = "w" if consonant == "ウ" else _SYLLABLES[consonant][0] if consonant not in "ツ" else "ts"
    return ("kw" if consonant == "ク" else "gw" if consonant == "グ" else stem) + _SYLLABLES[vowel]
