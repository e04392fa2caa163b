"""Strategies of the fuzzers: text, markup, JSON and messages, most of them nearly right."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.hostile.pages import INPUTS

# Signs that rules, parsers and stores look at, beside any others.
SIGNS = (
    "".join(map(chr, range(0x20)))
    + " <>&\"'`=/\\#?%~-_.:;,!|()[]{}$^*@+0123456789abxyzあいがゝー々解公式例①２ｶﾞ　、。「」→📌❶👨👩🇯"
    + "\u0301\u0323\u3099\u200b\u200d\u202e\u2066\ufe0f\ufeff\u00a0\u2028\ufdfa\u0f73\U000e0041\ufffe"
)
text = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=SIGNS, max_size=80),
    st.builds(lambda piece, times: piece * times, st.text(alphabet=SIGNS, min_size=1, max_size=6), st.integers(1, 120)),
    st.lists(
        st.sampled_from((r"\frac{", r"\sqrt[", "x^{2}", "二次方程式", "分の", "の二乗", "solve ", "√", "三角形 ")),
        max_size=12,
    ).map("".join),
)
# What Python may hold and no UTF-8 does.
any_text = st.one_of(
    text, st.text(alphabet=st.characters(), max_size=20), st.text(alphabet="a\ud800\udc00\0", max_size=8)
)

_VALUES = st.one_of(
    st.sampled_from(
        ("rule-a", "ex-1", "def-解", "tip-x", "rule-box", "katex", "badge", "display:none", "#rule-a", "math/tex")
    ),
    text,
)
_attribute = st.tuples(st.sampled_from(INPUTS["attributes"]), _VALUES, st.sampled_from(('"', "'", ""))).map(
    lambda given: f" {given[0]}={given[2]}{given[1]}{given[2]}"
)
_opening = st.tuples(st.sampled_from(INPUTS["tags"]), st.lists(_attribute, max_size=3)).map(
    lambda given: f"<{given[0]}{''.join(given[1])}>"
)
_closing = st.sampled_from(INPUTS["tags"]).map(lambda name: f"</{name}>")
_entity = st.sampled_from(
    ("&amp;", "&#0;", "&#xD800;", "&nbsp;", "&x;", "&#x202e;", "<![CDATA[", "]]>", "<!DOCTYPE x [", "-->", "<?")
)
markup = st.lists(st.one_of(_opening, _opening, _closing, _entity, text), max_size=30).map("".join)
pages = st.one_of(
    markup.map(lambda body: f"<!DOCTYPE html><body><p id='rule-first'>x</p>{body}".encode("utf-8", "surrogatepass")),
    st.tuples(markup, st.sampled_from(("utf-8", "cp932", "euc_jp", "utf-16", "utf-16-le", "iso2022_jp"))).map(
        lambda given: f"<meta charset='{given[1]}'>{given[0]}".encode(given[1], "ignore")
    ),
    st.binary(max_size=200).map(lambda data: b"<p id=rule-a>" + data),
    st.binary(max_size=60),
)

_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), any_text)
values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda each: st.one_of(st.lists(each, max_size=5), st.dictionaries(any_text, each, max_size=5)),
    max_leaves=20,
)
# JSON texts: right, with a sign exchanged, left out or put in, or deep.
_mutations = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from((*'[]{},:"0-+.eE\\ \n', "\ufeff", "NaN", "1e999", '"a":', ""))),
    max_size=4,
)


def _mutated(given: str, changes: list[tuple[int, str]]) -> str:
    for place, piece in changes:
        at = place % (len(given) + 1)
        given = given[:at] + piece + given[at + 1 :]
    return given


json_texts = st.one_of(
    st.builds(_mutated, values.map(json.dumps), _mutations),
    st.builds(
        lambda opening, times, middle: opening * times + middle,
        st.sampled_from(("[", '{"a":', "[[", '{"a":[')),
        st.integers(0, 3000),
        text,
    ),
)
steps = st.one_of(
    st.sampled_from(("", "0", "01", "-", "-1", "a", "~0", "~1", "~2", "~", "9" * 30, "か\u3099")), any_text
)
pointers = st.one_of(st.lists(steps, max_size=4).map(lambda given: "".join(f"/{step}" for step in given)), any_text)

messages: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.sampled_from(INPUTS["values"]), _scalars, st.integers(-1, 60)),
    lambda each: st.one_of(
        st.dictionaries(st.sampled_from(INPUTS["members"]), each, max_size=5), st.lists(each, max_size=4)
    ),
    max_leaves=15,
)
