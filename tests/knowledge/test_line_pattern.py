"""Exact text and expressions as patterns of Postgres, matched by Postgres."""

import time

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.knowledge.line_pattern import LARGEST_PATTERN, LONGEST_PATTERN, exact_pattern, postgres_pattern
from sakuin.language.unicode_text import visible


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


@pytest.mark.parametrize(
    ("pattern", "stored", "is_found"),
    [
        (r"colou?r", "COLOR", True),
        (r"\bcat\b", "concat", False),
        (r"\bcat\b", "a cat.", True),
        (r"^\d{2,3}$", "one\n45\ntwo", True),
        (r"^\d{2}$", "one\n４５\ntwo", True),
        (r"a.b", "a\nb", False),
        (r"[A-C]+-[^x]", "ｂ-y", True),
        (r"[^\]x-]", "]x-", False),
        (r"[\d,]+円", "1,200円", True),
        (r"(?:解の|の)公式", "解の公式", True),
        (r"a*?b", "aab", True),
        (r"x{2,}", "xyx", False),
        (r"(a|)b", "b", True),
        (r"x²", "y=x^{2}", True),
        (r"\(\*\)", "f(*)", True),
    ],
)
def test_an_expression_means_what_it_means_elsewhere(
    sql: psycopg.Connection, pattern: str, stored: str, is_found: bool
) -> None:
    assert matches(sql, postgres_pattern(pattern), stored) == is_found


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a" * (LONGEST_PATTERN + 1), "has 201 characters; the limit is 200"),
        (r"(?=a)b", "only groups `(…)` and `(?:…)`"),
        (r"(?i)a", "only groups"),
        (r"(a)\1", r"has `\1`"),
        (r"\p{L}", r"has `\p`"),
        (r"[\q]", r"has `\q` in a class"),
        (r"(a{50}){50}", "too large with its repetitions"),
        (r"a{999}", "too large with its repetitions"),
        (r"a{3,2}", "end is before its beginning"),
        (r"a**", "two quantifiers in a row"),
        (r"a+{2}", "two quantifiers in a row"),
        (r"*a", "nothing to repeat"),
        (r"***=a", "nothing to repeat"),
        (r"a|+", "nothing to repeat"),
        (r"(a", "a `(` without `)`, at character 3"),
        (r"a)", "a `)` without `(`, at character 2"),
        (r"[a", "a `[` without `]`"),
        (r"[z-a]", "a range that ends before it begins"),
        ("a\\", "only \\d"),
        ("(" * 30 + ")" * 30, "groups in each other"),
    ],
)
def test_what_is_not_in_the_subset_is_named(pattern: str, words: str) -> None:
    with pytest.raises(Invalid) as error:
        postgres_pattern(pattern)
    assert words in str(error.value)


PIECES = st.sampled_from([*"ab.^$|()[]{}*+?\\-^dwsbBW,0129 ", "{2}", "{1,30}", "(?:", "[^", "あ", "（"])


@given(st.lists(PIECES, max_size=30).map("".join))
def test_what_is_accepted_is_valid_in_postgres(sql: psycopg.Connection, pattern: str) -> None:
    try:
        written = postgres_pattern(pattern)
    except Invalid:
        return
    matches(sql, written, "ab あ\n")


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a|aa)+$",
        r"(.*)*x",
        r"([a-z]+)*#",
        r"(a|b|ab)*a[a-z]{100}#",
        r"(.{1,20}e){1,10}#",
        r"[a-z]{250}#",
        r"(x|.*y){40}#",
        r"((((a*)*)*)*)*#",
        "[a-z]" * 40,
    ],
)
def test_an_expression_that_explodes_elsewhere_takes_linear_time(sql: psycopg.Connection, pattern: str) -> None:
    began = time.process_time()
    written = postgres_pattern(pattern)
    assert time.process_time() - began < 1
    sql.execute("set statement_timeout = '8s'")
    matches(sql, written, "abcdefg ab aab " * 2_000)
    sql.execute("reset statement_timeout")


def test_the_size_counts_repetitions_within_repetitions() -> None:
    postgres_pattern(f"(ab){{{LARGEST_PATTERN // 3 - 1}}}")
    with pytest.raises(Invalid):
        postgres_pattern(f"(ab){{{LARGEST_PATTERN // 3 + 1}}}")
