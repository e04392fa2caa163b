"""The words of a question that a text has."""

from sakuin.knowledge.matched_words import MOST_SHOWN, matched_words
from sakuin.language.analysis import analyze, term_counts

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
