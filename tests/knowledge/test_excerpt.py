"""What a result shows of its text: an excerpt of about a hundred characters, and the words of the question."""

import time

import pytest
from sakuin.knowledge.excerpt import MOST_SHOWN, excerpt, matched_words, part_of
from sakuin.language.analysis import analyze, term_counts

FILLER = "前置きの文が続いていく。" * 12


@pytest.mark.parametrize(
    ("text", "around", "begins"),
    [
        (" 短い\n文。 ", ["文"], "短い 文。"),
        # Without a word from its beginning, otherwise with the sentence that has it.
        (FILLER, ["判別式"], FILLER[:99]),
        (f"{FILLER}ここに判別式が現れる。{FILLER}", ["判別式"], "…ここに判別式"),
        # The stretch with more of the words wins over the first, and the weightier word where both cannot be seen.
        (
            f"{FILLER}判別式の名だけ。{FILLER}解の個数は判別式で分かる。{FILLER}",
            ["判別式", "解の個数"],
            "…解の個数は判別式",
        ),
        (f"{FILLER}方法の話。{FILLER}判別式の話。{FILLER}", ["判別式", "方法"], "…判別式の話"),
    ],
)
def test_an_excerpt_begins_with_what_matched(text: str, around: list[str], begins: str) -> None:
    assert excerpt(text, around=around).startswith(begins)


def test_a_word_is_found_in_either_case() -> None:
    text = "Words. " * 40 + "The Discriminant tells. " + "Words. " * 40
    assert "The Discriminant" in excerpt(text, around=["discriminant"])


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


def test_a_word_in_an_address_does_not_choose_the_part() -> None:
    lines = [f"[Go on](<https://kettle.example/{number}>)" for number in range(30)]
    text = "\n".join([*lines, *(["Nothing here."] * 30), "The kettle boils."])
    assert "The kettle boils." in part_of(text, around=["kettle"], length=200)


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


def test_matched_words_are_shown_as_they_stand_in_the_text_once_and_the_heaviest_first() -> None:
    assert matched_words(TEXT, words_of("襷掛け")) == ("たすき掛け",)
    # Neighbours are one stretch.
    assert "二次方程式" in matched_words(TEXT, words_of("二次方程式"))
    assert matched_words(TEXT, [*words_of("因数分解"), *words_of("襷掛け")])[:2] == ("因数分解", "たすき掛け")
    for text, words in ((TEXT, []), (TEXT, ["天気"]), ("", ["天気"])):
        assert matched_words(text, words) == ()


def test_there_are_never_more_than_are_shown() -> None:
    names = ["数列", "確率", "円周", "三角形", "平方根", "放物線", "座標", "不等式", "面積", "体積", "関数"]
    assert len(matched_words("。".join(names), words_of("。".join(names)))) == MOST_SHOWN
