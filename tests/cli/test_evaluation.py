"""Golden questions: how files of them are read, and how answers are measured and compared."""

import json
from dataclasses import asdict
from math import log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin_cli.evaluation.comparison import MeanDifference, compared, mean_difference
from sakuin_cli.evaluation.figures import Bound, bound_of, figures, missed, values
from sakuin_cli.evaluation.questions import BadLine, Question, questions_in
from sakuin_cli.evaluation.run import Answer, Result, Run, run_in

IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
GOLD = st.sets(st.sampled_from("abcdefgh"), min_size=1)


def question(query: str = "q", *gold: str, category: str = "natural") -> Question:
    return Question(1, query, gold, category)


def answer(asked: Question, *ids: str, refused: bool = False, changed: float | None = None) -> Answer:
    results = tuple(Result(id, id.upper(), f"https://example.org/{id}") for id in ids)
    return Answer(asked, results, refused, changed)


def run_of(*answers: Answer, k: int = 5, tool: str | None = None) -> Run:
    return Run("https://example.org", tool, k, answers)


def measured(answered: Answer, k: int = 5) -> dict[str, float]:
    return values([answered], k)[0]


def test_the_measures_of_a_ranking_by_hand() -> None:
    found = answer(question("q", "a", "b", "c"), "x", "a", "y", "b")
    assert measured(found, 3)["recall@3"] == pytest.approx(1 / 3)
    assert measured(found)["recall@5"] == pytest.approx(2 / 3)
    assert (measured(found, 1)["hit@1"], measured(found, 2)["hit@2"]) == (0.0, 1.0)
    assert measured(found)["MRR@10"] == 1 / 2
    possible = 1 + 1 / log2(3) + 1 / log2(4)
    assert measured(found)["nDCG@10"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / possible)


def test_recall_is_over_all_right_ids_even_when_they_are_more_than_k() -> None:
    assert measured(answer(question("q", "a", "b", "c", "d"), "a", "b"), 2)["recall@2"] == 1 / 2


def test_what_stands_below_the_tenth_place_adds_nothing() -> None:
    found = measured(answer(question("q", "a"), *map(str, range(10)), "a"))
    assert (found["MRR@10"], found["nDCG@10"]) == (0.0, 0.0)


def test_a_node_whose_chunks_stand_in_several_places_counts_at_the_best() -> None:
    found = measured(answer(question("q", "a", "b"), "a", "a", "b"), 2)
    assert (found["recall@2"], found["nDCG@10"]) == (1.0, pytest.approx(1))


@given(IDS, GOLD)
def test_every_measure_is_from_0_to_1_and_1_only_for_a_ranking_that_could_not_be_better(
    ranking: list[str], gold: set[str]
) -> None:
    ids = list(dict.fromkeys(ranking))
    found = measured(answer(question("q", *gold), *ranking))
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in found.values())
    assert (found["nDCG@10"] > 1 - 1e-9) == (set(ids[: len(gold)]) == gold)


def test_a_question_without_a_good_match_has_the_nearest_three_for_an_agent() -> None:
    ids = ("x", "y", "a", "b")
    hits = {id: measured(answer(question("q", id), *ids, refused=True))["hit@5"] for id in "ab"}
    assert hits == {"a": 1, "b": 0}
    assert measured(answer(question("q", "a"), *ids, refused=True))["refused"] == 1
    assert measured(answer(question("off"), *ids, refused=True)) == {"recognised": 1.0}
    assert measured(answer(question("off"), *ids, changed=0.5)) == {"recognised": 0.0, "changed": 0.5}


def test_figures_are_of_all_questions_and_of_each_category() -> None:
    found = figures(
        [
            answer(question("1", "a"), "a"),
            answer(question("2", "a", category="typo"), "b"),
            answer(question("3", category="off-topic"), refused=True),
        ],
        5,
    )
    assert {group: means["questions"] for group, means in found.items()} == {
        **{"all": 3, "natural": 1},
        **{"typo": 1, "off-topic": 1},
    }
    assert found["all"]["recall@5"] == 0.5
    assert set(found["off-topic"]) == {"questions", "recognised"}
    assert set(figures([answer(question("1", "a"), "a")], 5)) == {"all"}


@pytest.mark.parametrize(
    ("gold", "ids", "refused", "failure"),
    [
        (("a",), ("x", "a"), False, None),
        (("a",), ("x", "y", "z", "a"), False, "missed"),
        (("a",), ("a",), True, "no good match"),
        (("a",), (), False, "no good match"),
        (None, ("x",), False, None),
        (None, ("x",), True, "no good match"),
        ((), ("x",), True, None),
        ((), ("x",), False, "answered"),
    ],
)
def test_a_question_fails_without_a_good_match_or_an_expected_link(
    gold: tuple[str, ...] | None, ids: tuple[str, ...], refused: bool, failure: str | None
) -> None:
    assert answer(Question(1, "q", gold), *ids, refused=refused).failure(3) == failure


def test_bounds_are_of_all_questions_or_of_a_group() -> None:
    assert bound_of("min", "recall@5=0.85") == Bound("min", "recall@5", 0.85)
    assert bound_of("min", "kana-only:hit@5=0.9") == Bound("min", "hit@5", 0.9, "kana-only")
    for wrong in ("recall@5", "recall@5=much", "=0.5", "recall@5=nan"):
        with pytest.raises(Invalid):
            bound_of("min", wrong)


def test_a_bound_is_missed_when_the_figure_is_beyond_it_or_was_not_measured() -> None:
    means = figures([answer(question("1", "a"), "a"), answer(question("2", "a"), "x")], 5)
    bounds = [
        *(Bound("min", "hit@5", 0.5), Bound("min", "recall@5", 0.51), Bound("max", "refused", 0.0)),
        *(Bound("max", "hit@5", 0.4), Bound("min", "recognised", 0.9), Bound("min", "hit@5", 0.1, "typo")),
    ]
    assert list(map(str, missed(bounds, means))) == [
        "recall@5 ≥ 0.51: 0.500",
        "hit@5 ≤ 0.4: 0.500",
        "recognised ≥ 0.9: no question has this measure",
        "typo:hit@5 ≥ 0.1: no question has this measure",
    ]


def test_a_change_counts_the_questions_that_went_up_and_down() -> None:
    assert mean_difference([0.0] * 45, [1.0] * 5 + [0.0] * 40) == MeanDifference(0.0, 5 / 45, 5, 0, 45)
    assert mean_difference([1.0, 0.0, 0.5], [0.5, 0.5, 0.5]) == MeanDifference(0.5, 0.5, 1, 1, 3)
    assert mean_difference([], []) is None


def test_a_changed_answer_is_named_with_both_links_and_whether_it_was_lost() -> None:
    one, two, three, four = (question(name, "a") for name in "1234")
    before = run_of(answer(one, "a"), answer(two, "a"), answer(three, "b"), answer(four, "a", "c"))
    after = run_of(answer(one, "b"), answer(two, "a"), answer(three, "a"), answer(four, "c", "a"))
    comparison = compared(before, after)
    assert [(each["query"], each["state"]) for each in comparison.as_json()["changed"]] == [
        *(("1", "lost"), ("4", "changed"), ("3", "gained"))
    ]
    first = comparison.as_json()["changed"][0]
    assert (first["before"]["url"], first["after"]["url"]) == ("https://example.org/a", "https://example.org/b")
    assert comparison.lost == 1
    assert comparison.summary == "3 of 4 questions have another answer, 1 lost theirs, 1 gained one"


def test_runs_are_compared_over_the_questions_that_both_asked() -> None:
    before = run_of(answer(question("1", "a"), "x"), answer(question("2", "a"), "a"))
    after = run_of(answer(question("1", "a"), "a"), answer(question("3", "a"), "x"))
    comparison = compared(before, after)
    found = comparison.differences["hit@5"]
    assert (found.before, found.after, found.higher, found.lower, found.n) == (0.0, 1.0, 1, 0, 1)
    assert comparison.left_out == 2


def test_a_measure_that_a_question_has_in_one_run_only_is_not_compared_there() -> None:
    one, two = question("1", "a"), question("2", "b")
    before = run_of(answer(one, "a", changed=0.5), answer(two, "b"))
    after = run_of(answer(one, "a", changed=0.0), answer(two, "b", changed=0.0))
    assert compared(before, after).differences["changed"].n == 1


def test_runs_that_measure_something_else_are_not_compared() -> None:
    run = run_of(answer(question("1", "a"), "a"))
    for other in (run_of(*run.answers, k=3), run_of(*run.answers, tool="search_columns")):
        with pytest.raises(Invalid, match="same --k and --tool"):
            compared(other, run)


def test_a_question_is_no_markup_in_a_comment() -> None:
    asked = question("<img src=x> @team\n| 解", "a")
    comment = compared(run_of(answer(asked, "a")), run_of(answer(asked, refused=True))).markdown()
    assert "| \\<img src=x\\> \\@team \\| 解 | [A](<https://example.org/a>) | no good match |" in comment
    assert comment.startswith("**Search**: 1 of 1 question have another answer, 1 lost theirs.")


def test_a_saved_run_comes_back_the_same() -> None:
    run = run_of(answer(question("解", "a"), "a", "b"), answer(Question(2, "天気"), refused=True, changed=0.5))
    run = Run(run.url, "search", 3, run.answers, (BadLine(3, "no JSON"),), "indexing")
    assert run_in(json.dumps({"run": asdict(run)})) == run


@pytest.mark.parametrize("text", ["", "[]", '{"run": {"format": 1}}', '{"run": {"format": 2}}', '{"error": "x"}'])
def test_a_file_that_is_no_saved_run_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="--json"):
        run_in(text)


def read(folder: Path, name: str, text: str) -> tuple[list[Question], list[BadLine]]:
    file = folder / name
    file.write_text(text, "utf-8")
    return questions_in(file)


def test_lines_that_are_no_questions_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    lines = [
        '{"query": "解の公式", "gold": ["a#rule-b"], "category": "keyword", "half": "dev"}',
        "",
        '{"query": "解の公式", "gold": []}',
        '{"query": " ", "gold": []}',
        '{"query": "x", "gold": "a#rule-b"}',
        "[1]",
        "{",
        '{"question": "今日の天気", "gold": []}',
        '{"query": "y"}',
    ]
    questions, bad = read(tmp_path, "golden.jsonl", "\ufeff" + "\r\n".join(lines))
    assert [(each.line, each.query, each.gold, each.category) for each in questions] == [
        (1, "解の公式", ("a#rule-b",), "keyword"),
        (8, "今日の天気", (), "other"),
        (9, "y", None, "other"),
    ]
    assert [each.line for each in bad] == [3, 4, 5, 6, 7]
    assert bad[0] == BadLine(3, "the question is already in line 1")
    assert "list of ids" in bad[2].reason


def test_ids_of_labels_are_nfc_whatever_the_editor_made_of_them(tmp_path: Path) -> None:
    questions, _ = read(tmp_path, "golden.jsonl", '{"query": "q", "gold": ["カ\u3099#rule-a", "ガ#rule-a"]}')
    assert questions[0].gold == ("ガ#rule-a",)


PAGE = """<html><body><ol><li>傾きを求めよ。<ol><li>グラフから</li></ol></li><li id=q2>切片を求めよ。</li></ol>
<ul><li>目次</li></ul></body></html>"""


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.txt", "傾きとは\n\n切片とは\n", [("傾きとは", None), ("切片とは", None)]),
        (
            "a.csv",
            'question,gold\n傾きとは,"a#b\na#c"\n切片とは,\n',
            [("傾きとは", ("a#b", "a#c")), ("切片とは", None)],
        ),
        ("a.json", json.dumps(["傾きとは", {"query": "切片とは", "gold": []}]), [("傾きとは", None), ("切片とは", ())]),
        ("a.json", json.dumps({"title": "x", "exercises": [{"problem": "解け"}]}), [("解け", None)]),
        ("a.html", PAGE, [("傾きを求めよ。 グラフから", None), ("切片を求めよ。", None)]),
        ("a.html", "<p class=exercise>解け</p><ol><li>一</ol>", [("解け", None)]),
    ],
)
def test_questions_are_read_from_text_csv_json_and_lists_of_exercises(
    tmp_path: Path, name: str, text: str, found: list[Any]
) -> None:
    questions, bad = read(tmp_path, name, text)
    assert ([(each.query, each.gold) for each in questions], bad) == (found, [])


@pytest.mark.parametrize(("name", "text"), [("a.html", "<p>x</p>"), ("a.json", "{"), ("a.json", "{}"), ("a.csv", "")])
def test_a_file_without_a_question_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(Invalid, match="has no question"):
        read(tmp_path, name, text)
