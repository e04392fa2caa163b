"""Proximity: how much of a question's words a text has in one place, and what scattered words cost."""

from dataclasses import replace

import pytest
from sakuin.language.model import Slot
from sakuin.language.questions.slots import gram_slots
from sakuin.retrieval.proximity import ComparedText, ranked_by_texts, share_close_together, with_scattered
from sakuin.retrieval.ranking import Candidate, Frequencies, Unrelated, WordMatch, rank
from sakuin.retrieval.weights import weights_of

WEIGHTS = replace(weights_of("any"), meaning=1.0, words=10.0, covered=0.0, scattered=-5.0, example=-1.0)
SCALE = WEIGHTS.scales["both"]
ASKED = gram_slots("東北の梅雨入り")
RARE = Frequencies(10, {term: 1.0 for slot in ASKED for term in slot.terms})
BETWEEN = "前線は北へ進み、雨が多く、台風は秋に来て、冬はよく晴れる。" * 8
TOGETHER = f"{BETWEEN}七月に東北も梅雨入りする。{BETWEEN}"
SCATTERED = f"東北は寒い。{BETWEEN}沖縄の梅雨入りは早い。"


def scattered(slots: list[Slot] = ASKED, frequencies: Frequencies = RARE, **texts: str) -> dict[str, float]:
    words = dict.fromkeys(texts, WordMatch(0.5, 0.5, ("梅雨",)))
    compared = {id: ComparedText(text) for id, text in texts.items()}
    found = with_scattered(words, compared, slots, frequencies)
    assert {(match.share, match.covered, match.matched) for match in found.values()} == {(0.5, 0.5, ("梅雨",))}
    return {id: match.scattered for id, match in found.items()}


def test_words_that_are_far_apart_are_scattered() -> None:
    # Of its five grams of the question, 東北 stands alone: a fifth of its share of the words is scattered.
    assert scattered(apart=SCATTERED, together=TOGETHER) == {"apart": pytest.approx(0.5 / 5), "together": 0.0}


def test_a_text_passes_one_that_scatters_the_words() -> None:
    candidates = [Candidate(id, 0.5) for id in ("apart", "together")]
    words = {id: WordMatch(0.5, 0.5, (), lost) for id, lost in scattered(apart=SCATTERED, together=TOGETHER).items()}
    first, second = rank(candidates, words, Unrelated(0.5, 0.1), WEIGHTS, SCALE)
    assert (first.id, second.id) == ("together", "apart")
    assert first.evidence - second.evidence == pytest.approx(5.0 * 0.5 / 5)
    assert second.similarity < first.similarity


def test_scattered_words_lower_no_evidence_below_the_lowest() -> None:
    words = {"a": WordMatch(0.5, 0.5, (), 0.4), "b": WordMatch(0.38), "c": WordMatch(0.1)}
    candidates = [Candidate(id, 0.5) for id in words]
    ranking = rank(candidates, words, Unrelated(0.5, 0.1), WEIGHTS, SCALE, lowest=3.5)
    assert [(each.id, each.evidence) for each in ranking] == [("b", 3.8), ("a", 3.5), ("c", 1.0)]


def test_the_lowest_is_the_last_result_whose_text_was_compared() -> None:
    words = {"a": WordMatch(0.5), "b": WordMatch(0.38), "c": WordMatch(0.1)}
    first = rank([Candidate(id, 0.5) for id in words], words, Unrelated(0.5, 0.1), WEIGHTS, SCALE)
    lowest: list[float] = []
    ranked_by_texts(
        lambda _words, **given: lowest.append(given["lowest"]) or [],
        *(words, first, [(ASKED, {id: ComparedText("heat") for id in "ab"})], RARE),
    )
    assert lowest == [3.8]


def test_the_title_stands_beside_each_passage() -> None:
    gains = {"東北": 1.0, "梅雨": 1.0}
    assert share_close_together(ComparedText(SCATTERED), gains) == 0.5
    assert share_close_together(ComparedText(SCATTERED, "東北"), gains) == 1.0


def test_a_text_of_one_passage_is_one_place_in_every_language() -> None:
    for text, asked in (
        ("東北は寒い。雨が多い。梅雨入りは七月。", {"東北": 1.0, "梅雨": 1.0}),
        ("ＷＩＮＤ blows in the north. Rain falls.\nThe Sea is cold", {"wind": 1.0, "sea": 2.0}),
        ("none of it is asked", {"wind": 1.0}),
        ("", {"wind": 1.0}),
    ):
        assert share_close_together(ComparedText(text), asked) == 1.0
    assert share_close_together(ComparedText(f"wind {'of the north ' * 20} sea"), {"wind": 1.0, "sea": 3.0}) == 0.75


def test_frequent_grams_may_stand_nearly_anywhere() -> None:
    # Every text has 東北: where it stands says next to nothing.
    found = {term: 10.0 if term == "^東北" else 1.0 for term in RARE.chunks}
    assert scattered(frequencies=Frequencies(10, found), apart=SCATTERED)["apart"] < 0.01


def test_without_grams_nothing_is_scattered() -> None:
    for slots in ([], [Slot("word", slot.terms) for slot in ASKED]):
        assert scattered(slots, apart=SCATTERED) == {"apart": 0.0}
