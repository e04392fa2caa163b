"""`synonyms.yml`, the list of a site's author."""

import pytest
from sakuin.errors import Invalid
from sakuin.knowledge.learns.authored import parse_synonyms
from sakuin.language.questions.query_analysis import synonyms_in
from sakuin.language.synonyms import MOST_GROUPS, MOST_PHRASES


def test_a_group_is_a_list_of_phrases_that_mean_the_same() -> None:
    found = parse_synonyms("# ours\n- [速さの公式, みはじ, はじき]\n-\n  - バツ印\n  - たすき掛け\n".encode())
    assert found.groups == (("速さの公式", "みはじ", "はじき"), ("バツ印", "たすき掛け"))
    assert found.problems == ()


def test_a_bad_group_is_named_with_its_line_and_costs_no_other() -> None:
    found = parse_synonyms("- [速さ, はやさ]\n- 一つだけ\n- [傾き, 12]\n- [傾き, 勾配]\n- [同じ, 同じ]\n".encode())
    assert found.groups == (("速さ", "はやさ"), ("傾き", "勾配"))
    assert [problem.split(":")[0] for problem in found.problems] == ["line 2", "line 3", "line 3", "line 5"]


def test_a_phrase_that_is_too_short_or_too_long_is_left_out() -> None:
    found = parse_synonyms(f"- [判別式, D, {'長' * 61}, 判別の式]".encode())
    assert found.groups == (("判別式", "判別の式"),)
    assert len(found.problems) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("速さ: はやさ", "line 1: write a list of groups"),
        ("- [速さ, はやさ\n", "line 2"),
        ("- &a [速さ, はやさ]\n- *a", "line 2: aliases"),
        ("- [[[速さ]]]", "line 1: nested too deeply"),
    ],
)
def test_what_is_no_list_of_groups_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(Invalid, match=told.replace("*", r"\*")):
        parse_synonyms(text.encode())


def test_an_empty_file_has_no_groups() -> None:
    assert parse_synonyms(b"").groups == ()
    assert parse_synonyms("# 何もない\n".encode()).groups == ()


def test_groups_and_phrases_beyond_the_limits_are_left_out_and_named() -> None:
    many = parse_synonyms("\n".join(f"- [左{n}, 右{n}]" for n in range(MOST_GROUPS + 2)).encode())
    assert len(many.groups) == MOST_GROUPS
    assert many.problems[0].startswith(f"line {MOST_GROUPS + 1}: more than")
    long = parse_synonyms(f"- [{', '.join(f'語句{n}番' for n in range(MOST_PHRASES + 5))}]".encode())
    assert len(long.groups[0]) == MOST_PHRASES


def test_phrases_of_a_question_come_with_the_others_of_their_groups_however_they_are_written() -> None:
    groups = (("速さの公式", "みはじ"), ("みはじ", "はじき"), ("SOH-CAH-TOA", "三角比の覚え方"))
    assert synonyms_in("みはじってなに？", groups) == {"みはじ": ("速さの公式", "はじき")}
    assert synonyms_in("ｓｏｈ-ｃａｈ-ｔｏａ とは", groups) == {"SOH-CAH-TOA": ("三角比の覚え方",)}
    assert synonyms_in("等差数列", groups) == {}


def test_a_phrase_within_another_word_does_not_count() -> None:
    assert synonyms_in("catalogue", (("cat", "猫"),)) == {}
    assert synonyms_in("グラフィック", (("グラフ", "図"),)) == {}
