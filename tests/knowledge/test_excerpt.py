"""What a result shows of its text: an excerpt of about a hundred characters, and the words of the question."""

import time

import pytest
from sakuin.knowledge.markdown.excerpt import excerpt
from sakuin.knowledge.matched_words import MOST_SHOWN, matched_words
from sakuin.language.analysis import analyze, term_counts

FILLER = "前置きの文が続いていく。" * 12


def test_a_short_text_is_its_own_excerpt() -> None:
    assert excerpt(" 短い\n文。 ", around=["文"]) == "短い 文。"


def test_a_text_without_what_matched_is_shown_from_its_beginning() -> None:
    assert excerpt(FILLER, around=["判別式"], length=20) == FILLER[:20] + "…"


def test_it_begins_with_the_sentence_that_has_the_word() -> None:
    assert excerpt(f"{FILLER}ここに判別式が現れる。{FILLER}", around=["判別式"]).startswith("…ここに判別式")


def test_the_stretch_with_more_of_the_words_wins_over_the_first() -> None:
    text = f"{FILLER}判別式の名だけ。{FILLER}解の個数は判別式で分かる。{FILLER}"
    assert excerpt(text, around=["判別式", "解の個数"]).startswith("…解の個数は判別式")


def test_the_weightier_word_wins_where_both_cannot_be_seen() -> None:
    text = f"{FILLER}方法の話。{FILLER}判別式の話。{FILLER}"
    assert excerpt(text, around=["判別式", "方法"]).startswith("…判別式の話")


def test_a_word_is_found_in_either_case() -> None:
    assert "The Discriminant" in excerpt(
        "Words. " * 40 + "The Discriminant tells. " + "Words. " * 40, around=["discriminant"]
    )


LINES = [f"    value_{number} = compute({number})" for number in range(30)]


def test_code_has_its_lines_and_no_fences() -> None:
    assert excerpt("Use  it:\n```python\ndef f(x):\n\n    return x\n```\nThat is\nall.") == (
        "Use it:\ndef f(x):\n\n    return x\nThat is all."
    )


@pytest.mark.parametrize("length", range(40, 200, 7))
@pytest.mark.parametrize("word", ["value_0", "value_17", "value_29", "After", "nothing", "e"])
def test_no_line_of_code_is_cut(word: str, length: int) -> None:
    text = "\n".join(["Before! " * 20, "```python", "def f():", *LINES, "```", "After. " * 20])
    shown = excerpt(text, around=[word], length=length)
    assert len(shown) <= length + 4
    assert not (word.startswith("value") and word not in shown)
    lines = [line for line in shown.split("\n") if "value" in line or "compute" in line]
    assert set(lines) <= set(LINES)


def test_a_line_that_is_longer_than_the_excerpt_is_cut() -> None:
    assert "needle" in excerpt("```\n" + "x " * 99 + "needle" + " y" * 99 + "\n```", around=["needle"], length=50)


@pytest.mark.parametrize("text", ["あ" * 500, "İ" * 300 + "判別式" + "ß" * 300, "。" * 400, ""])
@pytest.mark.parametrize("around", [["判別式"], [""], ["あ"], []])
def test_it_is_never_longer_than_asked_for(text: str, around: list[str]) -> None:
    assert len(excerpt(text, around=around, length=50)) <= 52


def test_fences_that_nothing_closes_take_no_longer() -> None:
    text = "\n".join("`" * number for number in range(2000, 3, -1))
    began = time.process_time()
    assert excerpt(text, around=["x"]).startswith("``")
    assert time.process_time() - began < 1


def test_a_long_text_of_many_sentences_is_looked_at_around_its_words_only() -> None:
    text = "か。" * 200_000 + "判別式の話。" * 1000
    began = time.process_time()
    assert "判別式" in excerpt(text, around=["判別式", "判別", "別式"])
    assert time.process_time() - began < 1


# ---------------------------------------------------------------- matched words


TEXT = "たすき掛けの手順\n二次方程式 x²+5x+6=0 をたすき掛けで因数分解して解く。"


def words_of(question: str) -> list[str]:
    return [term for term in term_counts(analyze(question)) if not term.startswith("~")]


def test_another_spelling_is_shown_as_it_stands_in_the_text() -> None:
    assert matched_words(TEXT, words_of("襷掛け")) == ("たすき掛け",)


def test_neighbours_are_one_stretch() -> None:
    assert "二次方程式" in matched_words(TEXT, words_of("二次方程式"))


def test_a_repeated_word_is_shown_once_and_the_heaviest_first() -> None:
    assert matched_words(TEXT, [*words_of("因数分解"), *words_of("襷掛け")])[:2] == ("因数分解", "たすき掛け")


def test_nothing_that_matches_is_nothing() -> None:
    assert matched_words(TEXT, []) == ()
    assert matched_words(TEXT, ["天気"]) == ()
    assert matched_words("", ["天気"]) == ()


def test_there_are_never_more_than_are_shown() -> None:
    names = ["数列", "確率", "円周", "三角形", "平方根", "放物線", "座標", "不等式", "面積", "体積", "関数"]
    assert len(matched_words("。".join(names), words_of("。".join(names)))) == MOST_SHOWN
