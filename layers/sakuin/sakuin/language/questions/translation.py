"""Translation of English questions into Japanese terms with the glossary, and typos in English."""

import re
from dataclasses import dataclass

from sakuin.language.analysis import analyze_canonical, blanked
from sakuin.language.concepts import concept_mentions, english_vocabulary, longest_mentions
from sakuin.language.letters import stem
from sakuin.language.model import WeightedTerm
from sakuin.language.notation import canonical
from sakuin.language.questions.slots import Phrasing, QueryUnit, merge_concepts, query_units
from sakuin.language.questions.typos import closest_english

_WORD = re.compile(r"[a-z]+(?:'[a-z]*)?")
_OTHER_LETTERS = re.compile(r"[^\W\d_a-zα-ω]")
MOST_CORRECTED = 3
# Weight of a generic word such as "sum" or "value" beside a concept, fitted by hand.
GENERIC_WEIGHT = 0.5
STOP_WORDS_LIST = """
a an the of in on at to for from by with without and or as is are was were be been am do does did done
how what which when where why who whose whom can could should would will shall may might must i i'm i've
you your we our us me my it its it's this that these those there here if then than so just only also not
no yes please tell explain help teach show give need want know learn understand about into onto up down
out over under between using use used when while any some all each every one's get got getting have has
had make makes making mean meaning way ways work works working get s t re ve ll don't doesn't can't let
lets given example examples question questions problem problems math maths mathematics called thing
things very more most
"""
STOP_WORDS = frozenset(STOP_WORDS_LIST.split())
# Generic words of mathematics that are no concepts of the glossary, and their Japanese words.
JAPANESE_WORDS = {
    **{"solve": ("解く",), "solving": ("解く",), "solved": ("解く",), "find": ("求める",), "finding": ("求める",)},
    **{"calculate": ("計算", "求める"), "calculating": ("計算",), "calculation": ("計算",), "compute": ("計算",)},
    **{"formula": ("公式",), "rule": ("公式", "法則"), "law": ("法則", "定理"), "theorem": ("定理",)},
    **{"draw": ("書く", "描く"), "drawing": ("書く",), "definition": ("定義",), "define": ("定義",)},
    **{"condition": ("条件",), "value": ("値",), "sum": ("和",), "difference": ("差",), "product": ("積",)},
    **{"quotient": ("商",), "number": ("数",), "side": ("辺",), "length": ("長さ",), "height": ("高さ",)},
    **{"distance": ("距離",), "point": ("点",), "term": ("項",), "root": ("解", "根"), "method": ("方法",)},
    **{"property": ("性質",), "properties": ("性質",), "unknown": ("未知数",), "variable": ("変数", "文字")},
    **{"table": ("表",), "order": ("順序",), "equal": ("等しい",), "positive": ("正",), "negative": ("負",)},
    **{"zero": ("0",), "one": ("1",), "two": ("2",), "three": ("3",), "four": ("4",), "first": ("1",)},
    **{"base": ("底辺", "底"), "ratio": ("比",), "interval": ("区間",), "curve": ("曲線",), "axis": ("軸",)},
    **{"through": ("通る",), "intersect": ("交わる",), "cross": ("交わる",), "check": ("確かめる",)},
    **{"prove": ("証明",), "proof": ("証明",), "derive": ("導く",), "derivation": ("導く",), "simplify": ("簡単",)},
    **{"divide": ("割る",), "multiply": ("掛ける",), "add": ("足す",), "subtract": ("引く",), "factor": ("因数",)},
    **{"choose": ("選ぶ",), "same": ("同じ",), "repeated": ("重複",), "data": ("データ",), "answer": ("答え",)},
    **{"mistake": ("間違い",), "step": ("手順",), "unit": ("単位",), "long": ("長さ",), "many": ("個数",)},
    **{"increase": ("増加",), "decrease": ("減少",), "maximum": ("最大",), "minimum": ("最小",), "half": ("半分",)},
    **{"fence": ("柵",), "constant": ("定数",), "denominator": ("分母",), "numerator": ("分子",), "box": ("箱",)},
}


@dataclass(frozen=True, slots=True)
class Translation:
    """The units of an English question; `japanese` are the Japanese names in it, in order, `rest` is what has none."""

    units: tuple[QueryUnit, ...]
    japanese: tuple[str, ...]
    rest: str


def is_english(text: str) -> bool:
    """Returns whether a canonical text has Latin words and no letters of other scripts."""
    return not _OTHER_LETTERS.search(text) and any(len(word) > 2 for word in _WORD.findall(text))


def corrected_english(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Returns an English text with typos in glossary words corrected, and the replacements."""
    replaced: list[tuple[str, str]] = []

    def corrected(match: re.Match[str]) -> str:
        word = stem(match[0])
        known = word in english_vocabulary() or word in STOP_WORDS or match[0] in STOP_WORDS or word in JAPANESE_WORDS
        if known or len(replaced) == MOST_CORRECTED:
            return match[0]
        closest = closest_english(word)
        if closest:
            replaced.append((match[0], closest))
        return closest or match[0]

    return _WORD.sub(corrected, text), replaced


def translate(text: str) -> Translation:
    """Translates a canonical English question. Its units have Japanese and English terms."""
    mentions = longest_mentions(concept_mentions(text))
    units: list[QueryUnit] = []
    japanese: list[tuple[int, str]] = []
    for mention in mentions:
        phrasings: dict[Phrasing, None] = {}
        for concept in mention.concepts:
            spelling = canonical(concept.japanese[0]) if concept.japanese else ""
            japanese.append((mention.start, spelling))
            words = query_units(analyze_canonical(spelling))
            merged = merge_concepts(words, longest_mentions(concept_mentions(spelling)))
            phrasings.update(dict.fromkeys(phrasing for unit in merged for phrasing in unit.phrasings))
            phrasings[(WeightedTerm(concept.term),)] = None
        units.append(QueryUnit(mention.start, mention.end, tuple(phrasings)))
    rest = blanked(text, ((mention.start, mention.end) for mention in mentions))
    for unit in query_units(analyze_canonical(rest)):
        word = text[unit.start : unit.end]
        if word in STOP_WORDS or stem(word) in STOP_WORDS or len(word) == 1:
            continue
        forms = JAPANESE_WORDS.get(word) or JAPANESE_WORDS.get(stem(word)) or ()
        japanese += [(unit.start, form) for form in forms[:1]]
        generic = tuple((WeightedTerm(form, GENERIC_WEIGHT),) for form in forms)
        units.append(QueryUnit(unit.start, unit.end, generic or unit.phrasings))
    names = tuple(dict.fromkeys(name for _, name in sorted(japanese) if name))
    return Translation(tuple(sorted(units, key=lambda unit: unit.start)), names, rest)
