"""Names of concepts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.reading.names import concept_name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("📌 ルール2：傾きの意味 → 例2", "傾きの意味"),
        ("1️⃣ たすき掛け！", "たすき掛け"),
        ("【公式】解の公式", "解の公式"),
        ("2. 覚えること", "覚えること"),
        ("(1) 頂点", "頂点"),
        ("Step 2: Draw the graph", "Draw the graph"),
        ("一次関数とは？", "一次関数"),
        (r"判別式 \(D = b^2 - 4ac\)", "判別式 D = b^2 - 4ac"),
    ],
)
def test_a_name_has_no_pictographs_numbering_or_link_labels(written: str, name: str) -> None:
    assert concept_name(written) == name


@pytest.mark.parametrize(
    "name", ["2乗の形", "第1四分位数", "△ABCの面積", "①と②の式", "3.5倍の計算", "練習1", "♠を引く"]
)
def test_what_only_looks_like_numbering_stays(name: str) -> None:
    assert concept_name(name) == name


@given(st.text(max_size=80))
def test_any_text_gives_a_name_on_one_line(text: str) -> None:
    assert "\n" not in concept_name(text)
