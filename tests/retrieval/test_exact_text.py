"""Exact text as a pattern of Postgres, matched by Postgres."""

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.language.unicode_text import visible
from sakuin.retrieval.exact_text import exact_pattern


def matches(sql: psycopg.Connection, pattern: str, text: str) -> bool:
    row = sql.execute("select %s ~ %s", (text, pattern)).fetchone()
    assert row is not None
    return bool(row[0])


@pytest.mark.parametrize(
    ("text", "stored", "is_found"),
    [
        ("quadratic FORMULA", "the Quadratic formula.", True),
        ("ＡＢＣ－１", "abc-1", True),
        ("abc-1", "ＡＢＣ－１", True),
        ("ガス", "ｶﾞｽ", True),
        ("ｶﾞｽ", "ガス", True),
        ("café", "CAFE\u0301", True),
        ("don't", "don’t", True),
        ("x²", "x^2+1", True),
        ("x²", "x^{2}", True),
        ("x^2", "x²", True),
        ("x²", "x2", False),
        ("ﬁle", "file", True),
        ("ǖ", "ǖ", True),
        ("a.c", "abc", False),
        ("(a|b)*", "(A|B)*", True),
        ("\\d", "5", False),
        ("***:x", "x", False),
        ("a b", "a\u3000b", True),
        ("二次方程式", "二次方程", False),
    ],
)
def test_an_exact_text_is_found_in_every_form(sql: psycopg.Connection, text: str, stored: str, is_found: bool) -> None:
    assert matches(sql, exact_pattern(text), stored) == is_found


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf")), min_size=1, max_size=30).map(visible))
def test_every_text_finds_itself(sql: psycopg.Connection, text: str) -> None:
    assert matches(sql, exact_pattern(text), f"before{text}after")
