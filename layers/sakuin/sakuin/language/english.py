"""What the words of an English question are in Japanese, and which of them ask for nothing."""

SILENT_LIST = """
a an the of in on at to for from by with without and or as is are was were be been am do does did done
how what which when where why who whose whom can could should would will shall may might must i i'm i've
you your we our us me my it its it's this that these those there here if then than so just only also not
no yes please tell explain help teach show give need want know learn understand about into onto up down
out over under between using use used when while any some all each every one's get got getting have has
had make makes making mean meaning way ways work works working get s t re ve ll don't doesn't can't let
lets given example examples question questions problem problems math maths mathematics called thing
things very more most
"""

SILENT = frozenset(SILENT_LIST.split())


# Generic words of mathematics: no concept of their own, but Japanese pages have words for them.
IN_JAPANESE = {
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
