"""The ranking, without a database: words, meaning, and the order of examples and concepts."""

import math
from collections import defaultdict

import pytest
from sakuin.language.model import Slot, WeightedTerm
from sakuin.retrieval.calibration import Calibration, calibration_of
from sakuin.retrieval.ranking import (
    Background,
    Candidate,
    Frequencies,
    WordMatch,
    background,
    known_share,
    names_absent_concepts,
    rank,
    word_matches,
)

MODEL = Calibration(unrelated_mean=0.5, unrelated_spread=0.1)
NO_WORDS = WordMatch()
# Nothing by chance, for every candidate.
AT_CHANCE = defaultdict(lambda: Background(0.5, 0.1, noise=0.0, best=0.0))


def slot(*terms: str, weight: float = 1.0) -> Slot:
    return Slot("word", tuple(WeightedTerm(term, weight) for term in terms))


def test_a_chunk_with_all_words_has_the_whole_share_and_one_without_any_has_none() -> None:
    some = [Candidate("all", None, {"heat": 1.0, "friction": 1.0}), Candidate("none", None)]
    found = word_matches([slot("heat"), slot("friction")], Frequencies(10, {"heat": 3, "friction": 1}), some)
    assert found["all"] == WordMatch(pytest.approx(1.0), pytest.approx(1.0), ("friction", "heat"))
    assert found["none"] == WordMatch()


def test_a_word_that_a_chunk_has_once_in_a_long_text_is_covered_like_one_in_its_title() -> None:
    some = [Candidate("title", None, {"heat": 0.8}), Candidate("body", None, {"heat": 0.2})]
    found = word_matches([slot("heat")], Frequencies(10, {"heat": 3}), some)
    assert [found[id].share for id in ("title", "body")] == [pytest.approx(0.8), pytest.approx(0.2)]
    assert found["title"].covered == found["body"].covered == pytest.approx(1.0)


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    some = [Candidate("rare", None, {"friction": 1.0}), Candidate("frequent", None, {"the": 1.0})]
    found = word_matches([slot("the"), slot("friction")], Frequencies(100, {"the": 90, "friction": 1}), some)
    assert found["rare"].share > 10 * found["frequent"].share


def test_the_best_of_alternative_terms_counts_and_a_variant_counts_less() -> None:
    asked = [Slot("word", (WeightedTerm("三角州"), WeightedTerm("三角柱", 0.5)))]
    some = [Candidate("typed", None, {"三角州": 1.0}), Candidate("variant", None, {"三角柱": 1.0})]
    found = word_matches(asked, Frequencies(10, {"三角州": 2, "三角柱": 2}), some)
    assert found["typed"].share == pytest.approx(2 * found["variant"].share)


def test_grams_count_and_are_not_shown() -> None:
    some = [Candidate("a", None, {"^fri": 1.0})]
    found = word_matches([Slot("gram", (WeightedTerm("^fri", 0.5),))], Frequencies(10, {"^fri": 1}), some)
    assert found["a"] == WordMatch(pytest.approx(1.0), pytest.approx(1.0), ())


def test_without_a_vector_words_alone_rank_and_without_words_the_meaning() -> None:
    far, near = Candidate("far", 0.4), Candidate("near", 0.9)
    by_meaning = rank([far, near], {"far": NO_WORDS, "near": NO_WORDS}, AT_CHANCE, MODEL)
    assert [(each.id, each.z) for each in by_meaning] == [("near", pytest.approx(4.0)), ("far", pytest.approx(-1.0))]
    words = {"a": WordMatch(0.2, 0.2, ("x",)), "b": WordMatch(0.3, 0.3, ("y",))}
    by_words = rank([Candidate("a", None), Candidate("b", None)], words, AT_CHANCE, MODEL)
    assert [(each.id, each.z, each.evidence) for each in by_words] == [
        ("b", 0.0, pytest.approx(4.5)),
        ("a", 0.0, pytest.approx(3.0)),
    ]


def test_a_model_that_was_not_measured_is_compared_with_a_sample_of_the_index() -> None:
    unknown = calibration_of("a model nobody has measured")
    assert unknown.sample == 200
    asked, some = [slot("heat")], Frequencies(9, {"heat": 1})
    found = background([0.1, 0.2, 0.3], [], {}, unknown, asked, some)
    assert (found.mean, found.spread) == (pytest.approx(0.2), pytest.approx(0.0816, abs=1e-4))
    assert background([], [], {}, unknown, asked, some).deviations(0.7) == found.deviations(None) == 0.0


def test_if_the_index_lacks_most_words_of_a_question_its_own_cosines_count() -> None:
    asked = [slot("heat"), slot("friction"), slot("of"), slot("force"), Slot("gram", (WeightedTerm("^fri"),))]
    means = {
        known: background([0.1, 0.3], [], {}, MODEL, asked, Frequencies(9, dict.fromkeys(terms, 1.0))).mean
        for known, terms in {"half": ["heat", "of"], "quarter": ["heat"], "grams": ["^fri"], "none": []}.items()
    }
    assert means == {name: pytest.approx(mean) for name, mean in zip(means, (0.5, 0.35, 0.5, 0.2), strict=True)}
    assert background([], [], {}, MODEL, asked, Frequencies(9, {})).mean == 0.5


def test_an_answer_among_many_texts_that_are_as_near_needs_more_evidence() -> None:
    def best(*cosines: float) -> float:
        some = [Candidate(f"m#{place}", cosine) for place, cosine in enumerate(cosines)]
        return background([], [*some, Candidate("m#words", None)], {}, MODEL, [], Frequencies(50, {})).best

    def near(cosine: float, texts: int) -> list[float]:
        return [cosine + place / 1e9 for place in range(texts)]

    alone, crowded = best(0.9, *near(0.5, 20)), best(0.9, *near(0.7, 20))
    assert crowded - alone == pytest.approx(MODEL.crowd_weight * 2)
    # The tenth is compared, whatever follows, and nothing if there are fewer. Copies of a text are one.
    assert best(*near(0.9, 9), 0.5, 0.1) == pytest.approx(alone)
    assert best(*near(0.9, 9)) == pytest.approx(alone)
    assert best(*near(0.9, 9) * 12, 0.5, 0.1) == pytest.approx(alone)


def test_the_best_of_more_texts_needs_more_evidence() -> None:
    few, many = (background([], [], {}, MODEL, [], Frequencies(total, {})) for total in (50, 100_000))
    assert (few.best, many.best) == (pytest.approx(2.80, abs=0.01), pytest.approx(4.80, abs=0.01))
    some, words = [Candidate("a", 0.9)], {"a": NO_WORDS}
    assert rank(some, words, {"a": few}, MODEL)[0].similarity > rank(some, words, {"a": many}, MODEL)[0].similarity
    assert background([], [], {}, MODEL, [], Frequencies(0, {})) == few


def test_a_share_that_two_terms_make_up_counts_half_unless_some_text_has_the_others_too() -> None:
    def noise(terms: int, *covered: float) -> float:
        words = {str(place): WordMatch(0.1, one) for place, one in enumerate(covered)}
        return background([], [], words, MODEL, [slot("a")] * terms, Frequencies(9, {})).noise

    assert (noise(4), noise(40), noise(4, 0.1, 0.5), noise(4, 1.0, 0.1)) == (0.5, 0.05, 0.25, 0.0)
    assert MODEL.words(0.05, 0.05) == pytest.approx(MODEL.word_weight * 0.05 / 2)
    assert MODEL.words(0.0, 0.0) == 0.0 < MODEL.words(0.01, 0.05) < MODEL.words(0.5, 0.05) < MODEL.word_weight


def test_a_word_counts_less_if_no_text_has_the_others_of_the_question() -> None:
    asked = [slot("三角"), slot("州")]

    def subtracted(chunks: dict[str, float], *cosines: float | None) -> float:
        impacts = ({"三角": 0.5}, {"三角": 1.0}, {})
        some = [Candidate(str(at), *one) for at, one in enumerate(zip(cosines, impacts, strict=True))]
        words = word_matches(asked, Frequencies(50, chunks), some)
        found = background([], some, words, MODEL, asked, Frequencies(50, chunks))
        return (found.best - math.sqrt(2 * math.log(50))) / MODEL.words(words["0"].share, found.noise)

    # The first text has the most evidence, although another has more words.
    absent = subtracted({"三角": 9}, 0.9, 0.5, 0.5)
    assert absent == pytest.approx(1 - known_share(asked, Frequencies(50, {"三角": 9}), by_rarity=True))
    assert 0.6 < absent < subtracted({"三角": 25}, 0.9, 0.5, 0.5) < 1
    # The other word is in a text that was not found.
    assert subtracted({"三角": 9, "州": 1}, 0.9, 0.5, 0.5) == pytest.approx(0)
    # Without vectors there is nothing but words.
    assert subtracted({"三角": 9}, None, None, None) == pytest.approx(0)


def test_the_known_share_is_that_of_the_words_or_grams_each_alike_or_by_rarity() -> None:
    some = Frequencies(50, {"三角": 9, "三角柱": 1, "^三角": 9, "^角州": 1})
    asked = [slot("三角"), slot("州")]
    known, rare = some.rarity("三角"), some.rarity("州")
    assert known_share(asked, some) == 0.5
    assert known_share(asked, some, by_rarity=True) == pytest.approx(known / (known + rare))
    assert known_share([slot("三角"), slot("州", weight=0.2)], some, by_rarity=True) == pytest.approx(
        known / (known + 0.2 * rare)
    )
    # A synonym or a correction is known, and so is a word whose grams are: it may be inflected.
    grams = [Slot("gram", (WeightedTerm(gram, 0.5),)) for gram in ("^三角", "^角州")]
    assert known_share([slot("三角州", "三角柱")], some, by_rarity=True) == 1
    assert known_share([slot("三角州"), *grams], some, by_rarity=True) == 1
    assert known_share([], some) == known_share([slot("州")], some, by_rarity=True) == 0


def test_an_example_ranks_below_its_concept_which_rises_with_it() -> None:
    some = [
        Candidate("m#ex-1", 0.9, is_example=True, illustrates=("m#rule-a", "m#rule-gone")),
        Candidate("m#rule-a", 0.5),
        Candidate("m#rule-b", 0.6),
    ]
    words = {"m#ex-1": WordMatch(0.5, 0.5), "m#rule-a": NO_WORDS, "m#rule-b": NO_WORDS}
    as_it_is = rank(some, words, AT_CHANCE, MODEL)
    lowered = rank(some, words, AT_CHANCE, MODEL, lowers_examples=True)
    assert [each.id for each in lowered] == ["m#rule-a", "m#ex-1", "m#rule-b"]
    assert lowered[0].similarity > lowered[1].similarity > lowered[2].similarity
    assert lowered[0].similarity == as_it_is[0].similarity
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


def test_without_the_concept_every_result_needs_more_evidence() -> None:
    asked = [slot("円周", "#inscribed-angle")]
    there = background([], [], {}, MODEL, asked, Frequencies(10, {"#inscribed-angle": 1}))
    absent = background([], [], {}, MODEL, asked, Frequencies(10, {}))
    assert absent.best == pytest.approx(there.best + MODEL.absent_penalty)


def test_similarity_is_half_at_the_threshold_and_never_leaves_its_bounds() -> None:
    assert MODEL.similarity(MODEL.threshold) == 0.5
    assert 0 <= MODEL.similarity(-1e9) < MODEL.similarity(0) < MODEL.similarity(1e9) <= 1
