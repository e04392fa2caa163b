"""How right answers are measured."""

import json
from dataclasses import replace
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin_cli.evaluation.figures import Answer, groups, hit_at, ndcg_at, recall_at, reciprocal_rank, values
from sakuin_cli.evaluation.floors import Floor, floor_of, missed
from sakuin_cli.evaluation.labels import BadLine, LabelledQuestion, labelled_questions
from sakuin_cli.evaluation.report import report_of
from sakuin_cli.evaluation.run import BOTH, EvaluationRun, compared, run_in
from sakuin_cli.evaluation.statistics import Resamples, mean_difference, p_value

IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
GOLD = st.sets(st.sampled_from("abcdefgh"), min_size=1)


def question(query: str = "q", *gold: str, category: str = "natural", half: str | None = None) -> LabelledQuestion:
    return LabelledQuestion(1, query, gold, category, half)


def run_of(*asked: tuple[LabelledQuestion, Answer], k: int = 5, tool: str | None = None) -> EvaluationRun:
    questions, answers = zip(*asked, strict=True)
    return EvaluationRun(tool, k, questions, {BOTH: answers})


def test_the_measures_of_a_ranking_by_hand() -> None:
    ranking, gold = ["x", "a", "y", "b"], {"a", "b", "c"}
    assert recall_at(ranking, gold, k=3) == 1 / 3
    assert recall_at(ranking, gold, k=5) == 2 / 3
    assert (hit_at(ranking, gold, k=1), hit_at(ranking, gold, k=2)) == (0.0, 1.0)
    assert reciprocal_rank(ranking, gold) == 1 / 2
    possible = 1 + 1 / log2(3) + 1 / log2(4)
    assert ndcg_at(ranking, gold) == pytest.approx((1 / log2(3) + 1 / log2(5)) / possible)


def test_recall_is_over_all_right_ids_even_when_they_are_more_than_k() -> None:
    assert recall_at(["a", "b"], {"a", "b", "c", "d"}, k=2) == 1 / 2


def test_what_stands_below_the_tenth_place_adds_nothing() -> None:
    ranking = [str(number) for number in range(10)] + ["a"]
    assert (reciprocal_rank(ranking, {"a"}), ndcg_at(ranking, {"a"})) == (0.0, 0.0)


def test_a_node_whose_chunks_stand_in_several_places_counts_at_the_best() -> None:
    assert ndcg_at(["a", "a", "a"], {"a", "b"}) == pytest.approx(1 / (1 + 1 / log2(3)))
    assert recall_at(["a", "a", "b"], {"a", "b"}, k=2) == 1 / 2


@given(IDS, GOLD)
def test_every_measure_is_from_0_to_1_and_1_only_for_a_ranking_that_could_not_be_better(
    ranking: list[str], gold: set[str]
) -> None:
    for measured in (
        recall_at(ranking, gold, k=5),
        hit_at(ranking, gold, k=5),
        reciprocal_rank(ranking, gold),
        ndcg_at(ranking, gold),
    ):
        assert 0 <= measured <= 1 + 1e-12
    assert (ndcg_at(ranking, gold) > 1 - 1e-9) == (set(ranking[: len(gold)]) == gold)


def test_an_interval_is_the_same_each_time_and_holds_the_mean() -> None:
    seen = [1.0] * 80 + [0.0] * 20
    one, other = Resamples().estimate(seen), Resamples().estimate(seen)
    assert one == other
    assert one is not None
    # The normal approximation: 0.8 ± 1.96 · 0.04.
    assert one.mean == 0.8
    assert one.low == pytest.approx(0.72, abs=0.02)
    assert one.high == pytest.approx(0.88, abs=0.02)


def test_one_question_has_an_interval_of_one_point_and_none_has_none() -> None:
    estimate = Resamples().estimate([0.5])
    assert estimate is not None
    assert (estimate.low, estimate.high) == (0.5, 0.5)
    assert Resamples().estimate([]) is None


def test_five_changes_for_the_better_and_none_for_the_worse_are_chance_once_in_sixteen() -> None:
    assert p_value([1.0] * 5 + [0.0] * 40) == 2 / 2**5


def test_many_changes_are_drawn_and_agree_with_the_exact_test() -> None:
    changes = [0.5] * 9 + [-0.5] * 4
    exact = p_value(changes)
    # A further change too small to matter makes it draw instead.
    drawn = p_value([*changes, 1e-13])
    assert drawn == pytest.approx(exact, abs=0.02)
    assert p_value([1.0] * 30) < 0.001


def test_two_equal_runs_do_not_differ() -> None:
    same = mean_difference([1.0, 0.0, 0.5], [1.0, 0.0, 0.5], Resamples())
    assert same is not None
    assert (same.change, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_refused_question_has_the_nearest_three_for_an_agent_and_keeps_its_order() -> None:
    refused = Answer(("x", "y", "a", "b"), refused=True)
    found = {id: values(question("q", id), refused, k=5, view="agent")["hit@5"] for id in "ab"}
    assert found == {"a": 1, "b": 0}
    assert values(question("q", "b"), refused, k=5, view="order")["hit@5"] == 1
    assert values(question("q", "a"), refused, k=5, view="agent")["refused"] == 1
    assert values(question("off"), refused, k=5, view="agent") == {"recognised": 1.0}


def test_the_share_of_correct_words_that_were_changed_is_a_figure_of_every_question() -> None:
    some = Answer(("a",), changed=0.5)
    assert values(question("q", "a"), some, k=5, view="agent")["changed"] == 0.5
    assert values(question("off"), some, k=5, view="order") == {"changed": 0.5}
    assert "changed" not in values(question("q", "a"), Answer(("a",)), k=5, view="agent")


def test_one_leg_alone_is_not_judged_by_a_threshold_that_was_made_for_two() -> None:
    answers = {name: (Answer(("a",)), Answer(())) for name in ("both legs", "words only")}
    figures = EvaluationRun(None, 5, (question("q", "a"), question("off")), answers).figures(Resamples())
    assert {"refused", "recognised"} <= set(figures["both legs"][0].figures)
    assert set(figures["words only"][0].figures) == {"recall@5", "hit@5", "MRR@10", "nDCG@10"}
    of_a_tool = EvaluationRun("search_columns", 5, (question("q", "a"), question("off")), answers).figures(Resamples())
    assert {"refused", "recognised"} <= set(of_a_tool["agent"][0].figures)


def test_groups_are_all_then_halves_then_categories() -> None:
    asked = [
        (question("1", "a", half="held-out"), Answer(("a",))),
        (question("2", "a", half="dev", category="typo"), Answer(("b",))),
        (question("3", half="dev", category="off-topic"), Answer((), refused=True)),
    ]
    found = groups([q for q, _ in asked], [a for _, a in asked], k=5, view="agent", resamples=Resamples())
    assert [(group.name, group.questions) for group in found] == [
        ("all", 3),
        ("dev", 2),
        ("held-out", 1),
        ("natural", 1),
        ("typo", 1),
        ("off-topic", 1),
    ]
    assert found[0].figures["recall@5"].mean == 0.5
    assert set(found[-1].figures) == {"recognised"}


def test_lines_that_are_no_questions_are_named_and_the_rest_is_kept() -> None:
    lines = [
        '{"query": "解の公式", "gold": ["a#rule-b"], "category": "keyword", "half": "dev"}',
        "",
        '{"query": "解の公式", "gold": []}',
        '{"query": " ", "gold": []}',
        '{"query": "x"}',
        '{"query": "x", "gold": "a#rule-b"}',
        '{"query": "x", "gold": [], "half": "test"}',
        "[1]",
        "{",
        '{"query": "今日の天気", "gold": []}',
    ]
    questions, bad = labelled_questions("\ufeff" + "\r\n".join(lines))
    assert [(one.line, one.query, one.category) for one in questions] == [
        (1, "解の公式", "keyword"),
        (10, "今日の天気", "other"),
    ]
    assert [line.line for line in bad] == [3, 4, 5, 6, 7, 8, 9]
    assert bad[0] == BadLine(3, "the question is already in line 1")
    assert "list of ids" in bad[3].reason


def test_ids_of_labels_are_nfc_whatever_the_editor_made_of_them() -> None:
    questions, _ = labelled_questions('{"query": "q", "gold": ["カ\u3099#rule-a", "ガ#rule-a"]}')
    assert questions[0].gold == ("ガ#rule-a",)


def test_a_saved_run_comes_back_the_same() -> None:
    run = run_of((question("解", "a", half="dev"), Answer(("a", "b"))), (question("天気"), Answer((), refused=True)))
    run = replace(run, bad_lines=(BadLine(3, "no JSON"),), index_state="indexing")
    assert run_in(json.dumps(run.as_json())) == run


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "answers": {}}'])
def test_a_file_that_is_no_saved_run_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="--save"):
        run_in(text)


def test_runs_are_compared_over_the_questions_that_both_asked() -> None:
    before = run_of((question("1", "a"), Answer(("x",))), (question("2", "a"), Answer(("a",))))
    after = run_of((question("1", "a"), Answer(("a",))), (question("3", "a"), Answer(("x",))))
    comparison = compared(before, after, Resamples())
    found = comparison.differences["hit@5"]
    assert (found.before, found.after, found.higher, found.lower, found.n) == (0.0, 1.0, 1, 0, 1)
    assert comparison.left_out == 2


def test_a_measure_that_a_question_has_in_one_run_only_is_not_compared_there() -> None:
    one, two = question("1", "a"), question("2", "b")
    before = run_of((one, Answer(("a",), changed=0.5)), (two, Answer(("b",))))
    after = run_of((one, Answer(("a",), changed=0.0)), (two, Answer(("b",), changed=0.0)))
    assert compared(before, after, Resamples()).differences["changed"].n == 1


def test_runs_that_measure_something_else_are_not_compared() -> None:
    run = run_of((question("1", "a"), Answer(("a",))))
    with pytest.raises(Invalid, match="--k 3"):
        compared(run_of((question("1", "a"), Answer(("a",))), k=3), run, Resamples())
    with pytest.raises(Invalid, match="search_columns"):
        compared(run_of((question("1", "a"), Answer(("a",))), tool="search_columns"), run, Resamples())


def test_floors_are_of_all_questions_or_of_a_group() -> None:
    assert floor_of("min", "recall@5=0.85") == Floor("min", "recall@5", 0.85)
    assert floor_of("min", "kana-only:hit@5=0.9") == Floor("min", "hit@5", 0.9, "kana-only")
    for wrong in ("recall@5", "recall@5=much", "=0.5", "recall@5=nan"):
        with pytest.raises(Invalid):
            floor_of("min", wrong)


def test_a_floor_is_missed_when_the_figure_is_below_it_or_was_not_measured() -> None:
    report = report_of(
        run_of((question("1", "a"), Answer(("a",))), (question("2", "a"), Answer(("x",)))),
        floors=[
            Floor("min", "hit@5", 0.5),
            Floor("min", "recall@5", 0.51),
            Floor("max", "refused", 0.0),
            Floor("min", "recognised", 0.9),
            Floor("min", "hit@5", 0.1, "typo"),
        ],
    )
    assert [str(one) for one in report.missed] == [
        "recall@5 ≥ 0.51: 0.500",
        "recognised ≥ 0.9: no question has this measure",
        "typo:hit@5 ≥ 0.1: no question has this measure",
    ]
    assert missed([Floor("max", "hit@5", 0.4)], report.agent)[0].seen == 0.5
