"""Proximity: how results are ordered whose texts have the words of a question close together, or scattered."""

from dataclasses import replace

import pytest
from sakuin.language.model import Slot
from sakuin.language.questions.slots import gram_slots
from sakuin.retrieval.proximity import COMPARED, ordered_by_proximity, share_close_together
from sakuin.retrieval.ranking import Frequencies, Ranked, with_similarity
from sakuin.retrieval.weights import weights_of

WEIGHTS = replace(weights_of("any"), scattered=-5.0)
SCALE = WEIGHTS.scales["both"]
ASKED = gram_slots("東北の梅雨入り")
RARE = Frequencies(10, {each.term: 1.0 for slot in ASKED for each in slot.terms})
TOGETHER = "前線は北へ進む。七月に東北も梅雨入りする。雨が多い。台風は秋に来る。冬は晴れる。"
SCATTERED = "東北は寒い。前線は北へ進む。雨が多い。台風は秋に来る。沖縄の梅雨入りは早い。"


def ranked(id: str, evidence: float, words: float = 0.5) -> Ranked:
    return Ranked(id, 0.0, evidence, SCALE.least, 0.0, words, words, ())


def ordered(
    *ranking: Ranked, texts: dict[str, str], slots: list[Slot] = ASKED, frequencies: Frequencies = RARE
) -> list[Ranked]:
    return ordered_by_proximity(ranking, texts, slots, frequencies, WEIGHTS, SCALE)


def test_a_text_with_the_words_in_one_place_passes_one_that_scatters_them() -> None:
    texts = {"scattered": SCATTERED, "together": TOGETHER}
    first, second = ordered(ranked("scattered", 5.1), ranked("together", 5.0), texts=texts)
    assert (first.id, second.id) == ("together", "scattered")
    # Of its five grams of the question, 東北 stands alone: a fifth of its share of the words is scattered.
    assert (first.evidence, first.scattered) == (5.0, 0.0)
    assert second.scattered == pytest.approx(0.5 / 5)
    assert second.evidence == pytest.approx(5.1 - 5.0 * 0.5 / 5)
    assert [first, second] == with_similarity([first, second], SCALE)
    assert second.similarity < first.similarity


def evidences(ranking: list[Ranked]) -> list[tuple[str, float]]:
    return [(each.id, each.evidence) for each in ranking]


def test_the_best_keeps_its_evidence_so_that_proximity_refuses_nothing() -> None:
    alone = ranked("scattered", SCALE.least + 0.01)
    assert evidences(ordered(alone, texts={"scattered": SCATTERED})) == evidences([alone])
    # Others lose what scattered words cost them beyond the best.
    both = [ranked("a", 5.0), ranked("b", 4.9)]
    assert evidences(ordered(*both, texts={"a": SCATTERED, "b": SCATTERED})) == evidences(both)
    far = ranked("together", -9.0)
    found = ordered(alone, far, texts={"scattered": SCATTERED, "together": TOGETHER})
    assert evidences(found) == evidences([alone, far])


def test_a_text_of_three_sentences_is_one_place_in_every_language() -> None:
    for text, asked in (
        ("東北は寒い。雨が多い。梅雨入りは七月。", {"東北": 1.0, "梅雨": 1.0}),
        ("ＷＩＮＤ blows in the north. Rain falls.\nThe Sea is cold", {"wind": 1.0, "sea": 2.0}),
        ("no sentence ends here and none of it is asked", {"wind": 1.0}),
        ("", {"wind": 1.0}),
    ):
        assert share_close_together(text, asked) == 1.0
    # A point inside a number ends no sentence, and several signs end one.
    text = "wind of 1.5 knots?! Rain. Snow. Ice. The sea."
    assert share_close_together(text, {"wind": 1.0, "sea": 3.0}) == 0.75


def test_only_the_first_results_move_and_none_of_them_falls_below_the_last() -> None:
    ranking = [ranked(str(place), 20.0 - place, words=1.0) for place in range(COMPARED + 5)]
    texts = {each.id: SCATTERED if each.id == "0" else TOGETHER for each in ranking[:COMPARED]}
    found = ordered(*ranking, texts=texts)
    assert [each.id for each in found[COMPARED:]] == [each.id for each in ranking[COMPARED:]]
    assert {each.id for each in found} == {each.id for each in ranking}
    assert [each.evidence for each in found] == sorted((each.evidence for each in found), reverse=True)
    near = [replace(each, evidence=20.0 - place / 100) for place, each in enumerate(ranking)]
    found = ordered(*near, texts=texts)
    assert [(each.id, each.evidence) for each in found[COMPARED - 2 : COMPARED]] == [("0", 19.91), ("9", 19.91)]


def test_frequent_grams_may_stand_anywhere() -> None:
    # Every text has 東北: where it stands says nothing.
    found = {term: 10.0 if term == "^東北" else 1.0 for term in RARE.chunks}
    ranking = [ranked("scattered", 5.1), ranked("together", 5.0)]
    texts = {"scattered": SCATTERED, "together": TOGETHER}
    assert ordered(*ranking, texts=texts, frequencies=Frequencies(10, found)) == with_similarity(ranking, SCALE)


def test_without_grams_the_order_stays() -> None:
    ranking = [ranked("scattered", 5.1), ranked("together", 5.0)]
    for slots in ([], [Slot("word", slot.terms) for slot in ASKED]):
        assert ordered(*ranking, texts={"scattered": SCATTERED, "together": TOGETHER}, slots=slots) == with_similarity(
            ranking, SCALE
        )
    assert ordered(texts={}) == []
