"""The ranking, without a database: words, meaning, and the order of examples and concepts."""

import pytest
from sakuin.language.model import Slot, WeightedTerm
from sakuin.retrieval.calibration import Calibration, calibration_of
from sakuin.retrieval.ranking import (
    Candidate,
    Frequencies,
    background,
    names_absent_concepts,
    rank,
    shares_of_words,
)

MODEL = Calibration(unrelated_mean=0.5, unrelated_spread=0.1)
NO_WORDS = (0.0, ())


def slot(*terms: str, weight: float = 1.0) -> Slot:
    return Slot("word", tuple(WeightedTerm(term, weight) for term in terms))


def test_a_chunk_with_all_words_has_the_whole_share_and_one_without_any_has_none() -> None:
    some = [Candidate("all", None, {"heat": 1.0, "friction": 1.0}), Candidate("none", None)]
    shares = shares_of_words([slot("heat"), slot("friction")], Frequencies(10, {"heat": 3, "friction": 1}), some)
    assert shares["all"] == (pytest.approx(1.0), ("friction", "heat"))
    assert shares["none"] == (0.0, ())


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    some = [Candidate("rare", None, {"friction": 1.0}), Candidate("frequent", None, {"the": 1.0})]
    shares = shares_of_words([slot("the"), slot("friction")], Frequencies(100, {"the": 90, "friction": 1}), some)
    assert shares["rare"][0] > 10 * shares["frequent"][0]


def test_the_best_of_alternative_terms_counts_and_a_variant_counts_less() -> None:
    asked = [Slot("word", (WeightedTerm("三角州"), WeightedTerm("三角柱", 0.5)))]
    some = [Candidate("typed", None, {"三角州": 1.0}), Candidate("variant", None, {"三角柱": 1.0})]
    shares = shares_of_words(asked, Frequencies(10, {"三角州": 2, "三角柱": 2}), some)
    assert shares["typed"][0] == pytest.approx(2 * shares["variant"][0])


def test_grams_count_and_are_not_shown() -> None:
    some = [Candidate("a", None, {"^fri": 1.0})]
    shares = shares_of_words([Slot("gram", (WeightedTerm("^fri", 0.5),))], Frequencies(10, {"^fri": 1}), some)
    assert shares["a"] == (pytest.approx(1.0), ())


def test_without_a_vector_words_alone_rank_and_without_words_the_meaning() -> None:
    far, near = Candidate("far", 0.4), Candidate("near", 0.9)
    by_meaning = rank([far, near], {"far": NO_WORDS, "near": NO_WORDS}, background((), MODEL), MODEL)
    assert [(each.id, each.z) for each in by_meaning] == [("near", pytest.approx(4.0)), ("far", pytest.approx(-1.0))]
    words = {"a": (0.2, ("x",)), "b": (0.3, ("y",))}
    by_words = rank([Candidate("a", None), Candidate("b", None)], words, background((), MODEL), MODEL)
    assert [(each.id, each.z, each.evidence) for each in by_words] == [("b", 0.0, 4.5), ("a", 0.0, 3.0)]


def test_a_model_that_was_not_measured_is_compared_with_a_sample_of_the_index() -> None:
    unknown = calibration_of("a model nobody has measured")
    assert unknown.sample == 200
    assert background([0.1, 0.2, 0.3], unknown) == (pytest.approx(0.2), pytest.approx(0.0816, abs=1e-4))
    assert background([], unknown) == (0.0, 0.0)
    (only,) = rank([Candidate("a", 0.7)], {"a": NO_WORDS}, background([], unknown), unknown)
    assert only.z == 0.0
    assert calibration_of("multilingual-e5-small").sample == 0


def test_an_example_ranks_below_its_concept_which_rises_with_it() -> None:
    some = [
        Candidate("m#ex-1", 0.9, is_example=True, illustrates=("m#rule-a", "m#rule-gone")),
        Candidate("m#rule-a", 0.5),
        Candidate("m#rule-b", 0.6),
    ]
    words = {"m#ex-1": (0.5, ()), "m#rule-a": NO_WORDS, "m#rule-b": NO_WORDS}
    lowered = rank(some, words, background((), MODEL), MODEL, lowers_examples=True)
    assert [each.id for each in lowered] == ["m#rule-a", "m#ex-1", "m#rule-b"]
    assert lowered[0].similarity >= lowered[1].similarity > lowered[2].similarity
    as_it_is = rank(some, words, background((), MODEL), MODEL)
    assert [each.id for each in as_it_is] == ["m#ex-1", "m#rule-b", "m#rule-a"]
    assert as_it_is[0].evidence == pytest.approx(lowered[1].evidence + MODEL.example_penalty)


@pytest.mark.parametrize(
    ("chunks", "absent"),
    [
        pytest.param({"角": 3}, True, id="one of its words"),
        pytest.param({"角": 3, "円周": 1}, False, id="all of its words"),
        pytest.param({"#inscribed-angle": 1}, False, id="the concept in another spelling"),
        pytest.param({"#circle": 1}, False, id="another concept of the question"),
    ],
)
def test_a_concept_is_absent_if_the_index_has_neither_it_nor_all_of_its_words(
    chunks: dict[str, float], absent: bool
) -> None:
    asked = [slot("円周", "#inscribed-angle"), slot("角", "#inscribed-angle"), slot("円", "#circle"), slot("教える")]
    chunks = {"円": 1, **chunks}
    assert names_absent_concepts(asked, Frequencies(10, chunks)) is absent


def test_a_question_without_a_concept_has_no_absent_one() -> None:
    assert not names_absent_concepts([slot("教える"), Slot("gram", (WeightedTerm("^教え", 0.5),))], Frequencies(10, {}))


def test_without_the_concept_a_result_needs_more_evidence_and_the_order_stays() -> None:
    some = [Candidate("a", 0.9), Candidate("b", 0.8)]
    words = {"a": NO_WORDS, "b": NO_WORDS}
    there = rank(some, words, background((), MODEL), MODEL)
    absent = rank(some, words, background((), MODEL), MODEL, lacking_concepts={"a", "b"})
    assert [each.id for each in absent] == [each.id for each in there]
    assert absent[0].evidence == pytest.approx(there[0].evidence - MODEL.absent_penalty)
    first, last = rank(some, words, background((), MODEL), MODEL, lacking_concepts={"b"})
    assert (first, last) == (there[0], absent[1])


def test_similarity_is_half_at_the_threshold_and_never_leaves_its_bounds() -> None:
    assert MODEL.similarity(MODEL.threshold) == 0.5
    assert 0 <= MODEL.similarity(-1e9) < MODEL.similarity(0) < MODEL.similarity(1e9) <= 1
