"""The ranking, without a database: words, meaning, and the order of examples and concepts."""

import math
from dataclasses import replace

import pytest
from sakuin.language.model import Slot
from sakuin.retrieval.index_version import ANALYZER
from sakuin.retrieval.ranking import (
    Candidate,
    Frequencies,
    Unrelated,
    WordMatch,
    behind_by_language,
    doubted,
    is_shown,
    known_share,
    leads,
    rank,
    unrelated,
    word_matches,
)
from sakuin.retrieval.weights import LEAST_SIMILARITY, NEAR_MATCH, weights_of

WEIGHTS = replace(weights_of("any"), mean=0.5, spread=0.1, known=1_000)
SCALE = WEIGHTS.scales["both"]
OTHERS = Unrelated(0.5, 0.1)
NO_WORDS = WordMatch()


def slot(*terms: str) -> Slot:
    return Slot("word", terms)


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


def test_the_rarity_of_a_word_is_the_inverse_document_frequency_of_bm25() -> None:
    found = Frequencies(10, {"heat": 3})
    assert (found.rarity("heat"), found.rarity("none")) == (
        *(pytest.approx(math.log(1 + 7.5 / 3.5)), pytest.approx(math.log(1 + 10.5 / 0.5))),
    )


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    some = [Candidate("rare", None, {"friction": 1.0}), Candidate("frequent", None, {"the": 1.0})]
    found = word_matches([slot("the"), slot("friction")], Frequencies(100, {"the": 90, "friction": 1}), some)
    assert found["rare"].share > 10 * found["frequent"].share


def test_the_best_of_alternative_terms_counts() -> None:
    some = [Candidate("both", None, {"三角州": 1.0, "三角柱": 0.5}), Candidate("one", None, {"三角柱": 0.5})]
    found = word_matches([slot("三角州", "三角柱")], Frequencies(10, {"三角州": 2, "三角柱": 2}), some)
    assert found["both"].share == pytest.approx(2 * found["one"].share) == pytest.approx(1.0)


def test_of_alternative_terms_those_that_no_chunk_has_say_nothing_and_the_rarest_one_covers() -> None:
    slots = [slot("delta", "fan", "levee"), slot("rain")]
    frequencies = Frequencies(10, {"delta": 5, "fan": 1, "rain": 3})
    some = [Candidate("a", None, {"delta": 1.0, "fan": 0.1, "rain": 1.0}), Candidate("b", None, {"delta": 1.0})]
    found = word_matches(slots, frequencies, some)
    delta, fan, rain = map(frequencies.rarity, ("delta", "fan", "rain"))
    assert found["a"] == WordMatch(pytest.approx((delta + rain) / (fan + rain)), pytest.approx(1.0), ("rain", "delta"))
    assert found["b"].covered == pytest.approx(delta / (fan + rain))


def test_grams_count_and_are_not_shown() -> None:
    some = [Candidate("a", None, {"^fri": 1.0})]
    found = word_matches([Slot("gram", ("^fri",))], Frequencies(10, {"^fri": 1}), some)
    assert found["a"] == WordMatch(pytest.approx(1.0), pytest.approx(1.0), (), grams=1.0)


def test_without_a_vector_words_alone_rank_and_without_words_the_meaning() -> None:
    far, near = Candidate("far", 0.4), Candidate("near", 0.9)
    by_meaning = rank([far, near], {"far": NO_WORDS, "near": NO_WORDS}, OTHERS, WEIGHTS, SCALE)
    assert [(each.id, each.z) for each in by_meaning] == [("near", pytest.approx(4.0)), ("far", pytest.approx(-1.0))]
    words = {"a": WordMatch(0.2, 0.2, ("x",)), "b": WordMatch(0.3, 0.4, ("y",))}
    by_words = rank([Candidate("a", None), Candidate("b", None)], words, OTHERS, WEIGHTS, SCALE)
    assert [(each.id, each.z, each.evidence) for each in by_words] == [
        ("b", 0.0, pytest.approx(0.3 * WEIGHTS.words + 0.4 * WEIGHTS.covered)),
        ("a", 0.0, pytest.approx(0.2 * WEIGHTS.words + 0.2 * WEIGHTS.covered)),
    ]


def test_a_text_counts_less_the_farther_its_first_passage_is_from_the_question_than_its_nearest() -> None:
    some = [Candidate("first", 0.8, head=0.8), Candidate("inner", 0.8, head=0.5), Candidate("unknown", 0.8)]
    ranking = rank(some, dict.fromkeys(("first", "inner", "unknown"), NO_WORDS), OTHERS, WEIGHTS, SCALE)
    assert [(each.id, each.inner) for each in ranking] == [
        ("first", 0.0),
        ("unknown", 0.0),
        ("inner", pytest.approx(3.0)),
    ]
    assert ranking[2].evidence - ranking[0].evidence == pytest.approx(3 * WEIGHTS.inner)


def test_a_large_sample_of_the_index_counts_more_than_what_is_known_of_the_model() -> None:
    assert unrelated([], WEIGHTS) == OTHERS
    few, many = (unrelated([0.1, 0.3] * (texts // 2), WEIGHTS) for texts in (WEIGHTS.known, 100 * WEIGHTS.known))
    assert few.mean == pytest.approx(0.35)
    assert (many.mean, many.spread) == (pytest.approx(0.2, abs=0.01), pytest.approx(0.1, abs=0.01))
    # The cosines of a question are never all equal, so that no spread is zero.
    assert unrelated([0.2] * 100, WEIGHTS).spread > 0
    assert OTHERS.deviations(0.7) == pytest.approx(2.0)
    assert OTHERS.deviations(None) == 0.0


def test_a_question_is_known_as_far_as_some_text_has_its_grams() -> None:
    grams = [Slot("gram", (term,)) for term in ("^fri", "^rei", "^bun", "^ung")]
    assert known_share([slot("Reibung"), *grams], Frequencies(10, {"^rei": 1, "^ung": 4, "^bun": 0})) == 0.5
    assert known_share([slot("friction")], Frequencies(10, {})) == known_share([], Frequencies(10, {})) == 1.0


def test_the_less_is_known_of_a_question_the_more_the_index_says_what_unrelated_texts_reach() -> None:
    far, near = [0.3] * 100, [0.7] * 100
    shares = (1.0, 0.8, 0.4, 0.0)
    means = [unrelated(far, WEIGHTS, known_share=share).mean for share in shares]
    assert means == sorted(means, reverse=True)
    assert (means[0], means[-1]) == (unrelated(far, WEIGHTS).mean, pytest.approx(0.3))
    assert means[0] - means[2] == pytest.approx((1 - 0.4**2) * (means[0] - 0.3))
    # Texts of one subject are near to a question that they answer, in whatever words.
    assert {unrelated(near, WEIGHTS, known_share=share).mean for share in shares} == {unrelated(near, WEIGHTS).mean}
    # All candidates of a question move alike.
    assert {unrelated(far, WEIGHTS, known_share=share).spread for share in shares} == {unrelated(far, WEIGHTS).spread}


def test_a_text_in_another_language_is_compared_with_texts_of_its_own() -> None:
    near, far = Candidate("near", 0.7, language="de"), Candidate("far", 0.65, language="en")
    words = {"near": WordMatch(0.2, 0.2, grams=0.4), "far": WordMatch(grams=0.1)}
    sample = [*[("de", 0.6)] * 50, *[("en", 0.5)] * 50]
    behind = behind_by_language(sample, [near, far], words, OTHERS, WEIGHTS)
    of_words = 0.2 * (WEIGHTS.words + WEIGHTS.covered)
    # The mean of all is one text more of the other language.
    of_meaning = WEIGHTS.meaning * (0.1 - 0.05 / 51) / OTHERS.spread
    assert behind == {"de": 0.0, "en": pytest.approx(of_meaning + of_words)}
    ranked = {each.id: each for each in rank([near, far], words, replace(OTHERS, behind=behind), WEIGHTS, SCALE)}
    alone = {each.id: each for each in rank([near, far], words, OTHERS, WEIGHTS, SCALE)}
    assert ranked["near"].evidence == alone["near"].evidence
    # The more of the question's grams it has, the less it is in another language.
    assert ranked["far"].evidence == pytest.approx(alone["far"].evidence + 0.9**2 * behind["en"])


def test_two_answers_in_a_small_language_do_not_say_what_its_other_texts_are_worth() -> None:
    sample = [("en", 0.9), *[("ja", 0.5)] * 99]
    answers = [Candidate(id, 0.9, language="en") for id in ("first", "second")]
    some = [*answers, *(Candidate(f"text {number}", 0.5, language="ja") for number in range(98))]
    words = {each.id: WordMatch(1.0, 1.0) if each in answers else NO_WORDS for each in some}
    behind = behind_by_language(sample, some, words, OTHERS, WEIGHTS)
    assert behind["ja"] < 0.05 * WEIGHTS.score(OTHERS.deviations(0.9), 1.0, 1.0)


def test_beside_the_best_result_only_one_that_is_far_less_probable_is_left_out() -> None:
    alike = [Candidate(f"alike {number:03}", 0.9 - number / 100_000) for number in range(150)]
    far = Candidate("far", 0.6)
    ranked = rank([*alike, far], dict.fromkeys((each.id for each in [*alike, far]), NO_WORDS), OTHERS, WEIGHTS, SCALE)
    assert ranked[0].is_good
    assert ranked[0].probability < NEAR_MATCH < LEAST_SIMILARITY == ranked[0].similarity
    assert [each.id for each in ranked if not is_shown(each, ranked[0])] == ["far"]
    assert is_shown(replace(ranked[-1], words=WordMatch(matched=("heat",))), ranked[0])


def test_in_a_library_of_one_language_or_of_unknown_ones_no_text_is_behind() -> None:
    some = [Candidate("a", 0.7, language="de"), Candidate("b", 0.6)]
    for sample in ([], [("de", 0.6), ("", 0.4)], [("", 0.5)]):
        assert behind_by_language(sample, some, dict.fromkeys("ab", NO_WORDS), OTHERS, WEIGHTS) == {}


def test_a_model_that_nobody_measured_has_the_same_weights() -> None:
    known, unknown = weights_of("multilingual-e5-small"), weights_of("a model nobody has measured")
    of_model = {"mean": unknown.mean, "spread": unknown.spread, "known": unknown.known}
    assert replace(known, **of_model, is_calibrated=False) == unknown != known
    # What is known of a model counts more than what is guessed of another.
    assert known.known > unknown.known


@pytest.mark.parametrize(
    ("model", "analyzer", "is_calibrated"),
    [
        ("multilingual-e5-small", ANALYZER, True),
        ("multilingual-e5-small", "older", False),
        ("another", ANALYZER, False),
    ],
)
def test_a_scale_is_calibrated_for_the_model_and_the_analyzer_that_it_was_learned_with(
    model: str, analyzer: str, is_calibrated: bool
) -> None:
    assert weights_of(model, analyzer).is_calibrated == is_calibrated


@pytest.mark.parametrize("kind", ["number", "code", "name"])
def test_what_the_best_text_lacks_lowers_all_results_and_what_no_text_has_refuses_them(kind: str) -> None:
    some = [Candidate("a", 1.0), Candidate("b", 0.9)]
    ranking = rank(some, dict.fromkeys("ab", NO_WORDS), OTHERS, WEIGHTS, SCALE)
    assert doubted(ranking, (), WEIGHTS) == ranking
    elsewhere = doubted(ranking, {kind}, WEIGHTS)
    assert all(after.probability < before.probability for after, before in zip(elsewhere, ranking, strict=True))
    assert (elsewhere[0].is_good, elsewhere[0].similarity >= LEAST_SIMILARITY) == (True, True)
    nowhere = doubted(ranking, {kind, f"absent_{kind}"}, WEIGHTS)
    assert nowhere[0].probability <= elsewhere[0].probability
    assert (nowhere[0].is_good, nowhere[0].similarity < LEAST_SIMILARITY) == (False, True)
    assert doubted([], {kind}, WEIGHTS) == []


def test_what_there_is_of_a_question_chooses_the_scale() -> None:
    scales = WEIGHTS.scales
    assert len(set(scales.values())) == 3
    assert WEIGHTS.scale(has_words=True, has_vector=True) == scales["both"]
    assert WEIGHTS.scale(has_words=False, has_vector=True) == scales["vectors"]
    for has_words in (True, False):
        assert WEIGHTS.scale(has_words=has_words, has_vector=False, known_share=0.0) == scales["words"]


def test_of_a_question_without_known_words_the_meaning_alone_says_what_is_probable() -> None:
    both, vectors = WEIGHTS.scales["both"], WEIGHTS.scales["vectors"]
    half, unknown = (WEIGHTS.scale(has_words=True, has_vector=True, known_share=share) for share in (0.5, 0.0))
    assert unknown.similarity(8.0, 1.0) == vectors.similarity(8.0, 1.0) != both.similarity(8.0, 1.0)
    assert half.by_meaning == pytest.approx(0.25)
    assert half.lead == pytest.approx(0.75 * both.lead + 0.25 * vectors.lead)
    assert unknown.least == both.least
    lower = WEIGHTS.scale(has_words=True, has_vector=True, known_share=0.5, lower=2.0)
    assert both.least > lower.least == pytest.approx(both.least - 2 * WEIGHTS.farther)
    assert unrelated([0.3] * 100, WEIGHTS, known_share=0.5).lower > unrelated([0.3] * 100, WEIGHTS).lower == 0


def test_a_good_match_in_another_language_needs_less_and_one_with_the_grams_of_the_question_does_not() -> None:
    grams = [Slot("gram", (term,)) for term in ("^fri", "^rei", "^bun", "^ung")]
    some = [
        Candidate("none", 0.6),
        Candidate("half", 0.6, {"^rei": 0.5, "^ung": 0.5}),
        Candidate("word", 0.6, {"x": 1}),
    ]
    words = word_matches([slot("x"), *grams], Frequencies(10, {"^rei": 1, "^ung": 1, "x": 1}), some)
    assert {id: match.grams for id, match in words.items()} == {"none": 0.0, "half": 0.5, "word": 0.0}
    lower = 2.0
    scale = WEIGHTS.scale(has_words=True, has_vector=True, known_share=0.5, lower=lower)
    needed = {each.id: each.needed for each in rank(some, words, OTHERS, WEIGHTS, scale)}
    both = WEIGHTS.scales["both"].least
    assert needed["none"] == needed["word"] == pytest.approx(both - WEIGHTS.farther * lower)
    # With all grams it needs what a good match needs whose cosines are not compared with a lower mean.
    assert needed["half"] == pytest.approx(needed["none"] / 2 + (both + WEIGHTS.meaning * lower) / 2)


def test_the_learned_weights_go_the_way_that_sense_demands() -> None:
    assert min(WEIGHTS.meaning, WEIGHTS.words, WEIGHTS.covered) > 0
    assert max(WEIGHTS.inner, WEIGHTS.scattered, WEIGHTS.example, WEIGHTS.section) <= 0
    for scale in WEIGHTS.scales.values():
        assert scale.score > 0 <= scale.lead
        assert scale.ahead >= 0 < scale.most
        assert min(WEIGHTS.doubts.values()) >= 0
        similarities = [scale.similarity(score, lead) for score in (-1e9, 0, 3, 9, 1e9) for lead in (-1, 2)]
        assert 0 <= min(similarities) < max(similarities) <= 1
        assert similarities[::2] == sorted(similarities[::2])
        assert similarities[1::2] == sorted(similarities[1::2])


def test_a_result_that_leads_is_more_probable_and_copies_of_a_text_are_one() -> None:
    def first(*cosines: float) -> float:
        some = [Candidate(str(place), cosine) for place, cosine in enumerate(cosines)]
        return rank(some, {each.id: NO_WORDS for each in some}, OTHERS, WEIGHTS, SCALE)[0].similarity

    assert first(0.9, 0.6) > first(0.9, 0.8) > first(0.9, 0.89)
    assert first(0.9, 0.9, 0.6) == first(0.9, 0.6)
    assert first(0.9) == first(0.9, 0.9) > 0
    assert rank([], {}, OTHERS, WEIGHTS, SCALE) == []


def test_the_leads_are_the_logits_of_what_a_result_has_of_all_together() -> None:
    scores = [2.0, 1.0, 1.0, -1.0]
    shares = {score: math.exp(score) for score in (*scores, 0.0)}
    logits = [math.log(shares[each] / (sum(shares.values()) - shares[each])) for each in scores]
    assert leads(scores, scores) == pytest.approx(logits)
    assert leads([3.0], []) == [3.0]
    assert leads([1e4, 9e3], [9e3]) == [1e3, -1e3]


def test_many_that_are_nearly_as_good_make_a_result_less_probable() -> None:
    of_one, of_many = leads([9.0, 7.0], [9.0, 7.0]), leads([9.0, 7.0], [9.0, 7.0, 6.9, 6.8, 6.7])
    assert (of_one[0] > of_many[0], of_one[1] > of_many[1]) == (True, True)


def test_a_score_beyond_what_a_good_match_needs_says_nothing_more() -> None:
    assert SCALE.similarity(SCALE.least - 1, 1.0) < SCALE.similarity(SCALE.least, 1.0) == SCALE.similarity(99.0, 1.0)


def test_a_lead_helps_a_weak_score_to_be_a_good_match_up_to_a_bound() -> None:
    weak = SCALE.least - SCALE.ahead
    assert weak == SCALE.strength(weak, -1.0) < SCALE.strength(weak, 0.5) < SCALE.least < SCALE.strength(weak, 1.5)
    assert SCALE.strength(weak, SCALE.most) == SCALE.strength(weak, SCALE.most + 9)
    assert SCALE.similarity(weak, SCALE.most) == SCALE.similarity(weak, SCALE.most + 9)


def test_an_example_ranks_below_its_concept_which_rises_with_it() -> None:
    some = [
        Candidate("m#ex-1", 0.9, is_example=True, illustrates=("m#rule-a", "m#rule-gone")),
        Candidate("m#rule-a", 0.5),
        Candidate("m#rule-b", 0.6),
    ]
    words = {"m#ex-1": WordMatch(0.5, 0.5), "m#rule-a": NO_WORDS, "m#rule-b": NO_WORDS}
    as_it_is = rank(some, words, OTHERS, WEIGHTS, SCALE)
    lowered = rank(some, words, OTHERS, WEIGHTS, SCALE, lowers_examples=True)
    assert [each.id for each in lowered] == ["m#rule-a", "m#ex-1", "m#rule-b"]
    assert lowered[0].similarity > lowered[1].similarity > lowered[2].similarity
    assert lowered[0].evidence == as_it_is[0].evidence
    assert [each.id for each in as_it_is] == ["m#ex-1", "m#rule-b", "m#rule-a"]
    assert as_it_is[0].evidence == pytest.approx(lowered[1].evidence - WEIGHTS.example)
    assert as_it_is[1].evidence == lowered[2].evidence
    # The concept needs a lead over other concepts alone.
    scores = [each.evidence for each in lowered]
    assert lowered[0].lead == leads(scores, [scores[0], scores[2]])[0] > leads(scores, scores)[0]


def test_a_concept_does_not_rise_with_its_example_above_a_better_concept() -> None:
    some = [
        Candidate("m#ex-1", 0.75, is_example=True, illustrates=("m#rule-a",)),
        Candidate("m#rule-a", 0.5),
        Candidate("m#rule-b", 0.7),
    ]
    words = dict.fromkeys(("m#ex-1", "m#rule-a", "m#rule-b"), NO_WORDS)
    lowered = rank(some, words, OTHERS, WEIGHTS, SCALE, lowers_examples=True)
    assert [each.id for each in lowered] == ["m#rule-b", "m#rule-a", "m#ex-1"]


@pytest.mark.parametrize(
    ("of_section", "box", "order"),
    [
        (("heat",), "rule-a", ["n#intro", "m#rule-a", "m#intro"]),
        ((), "rule-a", ["n#intro", "m#rule-a", "m#intro"]),
        (("heat", "of", "the", "sun"), "rule-a", ["m#intro", "n#intro", "m#rule-a"]),
        # An example that nobody asked for takes no section's place.
        (("heat",), "ex-a", ["m#intro", "n#intro", "m#ex-a"]),
    ],
)
def test_a_section_ranks_below_a_box_of_its_page_with_as_many_of_the_words(
    of_section: tuple[str, ...], box: str, order: list[str]
) -> None:
    some = [
        Candidate("m#intro", 0.9, page="m"),
        Candidate(f"m#{box}", 0.7, page="m", is_box=True, is_example=box == "ex-a"),
        Candidate("n#intro", 0.8, page="n"),
    ]
    words = {"m#intro": WordMatch(matched=of_section), f"m#{box}": WordMatch(matched=("heat",)), "n#intro": NO_WORDS}
    weights = replace(WEIGHTS, section=-6.0)
    for lowers_examples in (True, False) if box == "rule-a" else (True,):
        ranked = rank(some, words, OTHERS, weights, SCALE, lowers_examples=lowers_examples)
        assert [each.id for each in ranked] == order


def test_a_box_needs_no_lead_over_the_sections_below_it_and_equal_results_are_in_the_order_of_their_ids() -> None:
    box = Candidate("m#rule-a", 0.9, page="m", is_box=True)
    sections = [Candidate(f"m#{name}", 0.89, page="m") for name in "cb"]
    words = dict.fromkeys((each.id for each in (box, *sections)), NO_WORDS)
    ranked = rank([box, *sections], words, OTHERS, replace(WEIGHTS, section=-0.5), SCALE)
    assert [each.id for each in ranked] == ["m#rule-a", "m#b", "m#c"]
    assert ranked[0].lead == rank([box], words, OTHERS, WEIGHTS, SCALE)[0].lead


def test_what_is_marked_and_nothing_else_is_below_the_least_similarity() -> None:
    for cosine in (0.1, 0.3, 0.5, 0.7, 0.9):
        ranked = rank(
            [Candidate("a", cosine), Candidate("b", cosine / 2)], dict.fromkeys("ab", NO_WORDS), OTHERS, WEIGHTS, SCALE
        )
        assert (ranked[0].similarity >= LEAST_SIMILARITY) == ranked[0].is_good
        assert ranked[0].similarity >= ranked[1].similarity
