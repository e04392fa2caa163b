"""`sakuin coverage`: which questions of an exam the pages teach."""

import csv
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sakuin.errors import Invalid
from sakuin.knowledge.model import Match
from sakuin.knowledge.search import SearchKnowledge
from sakuin.retrieval.weights import weights_of
from sakuin_cli.evaluation.coverage import Coverage, TeachingPages, page_evidence
from sakuin_cli.evaluation.exam import ExamQuestion, exam_questions
from sakuin_cli.prediction.chunks import PredictedChunks

from tests.builders import a_page
from tests.cli.conftest import Operator

BOXES = {
    "rule-formula": "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。",
    "rule-discriminant": "判別式: 解の個数は判別式の符号で分かる。",
    "method-square": "平方完成: <b>平方</b>の形に直して頂点を求める。",
}
TAUGHT, OTHER = "二次方程式を公式で解きたい", "明治時代の鉄道について述べよ"
WEIGHTS = weights_of("multilingual-e5-small")
EXAM = {"title": "期末試験", "parts": [{"name": "大問", "items": [{"question": TAUGHT}, {"question": OTHER}]}]}


@pytest.fixture
def author(operator: Operator) -> Operator:
    operator.file("site/x.html", a_page(BOXES))
    operator.file("exam.json", json.dumps(EXAM).encode())
    return operator


def test_each_question_has_what_teaches_it_or_is_not_taught(author: Operator) -> None:
    kept = ("coverage", "exam.json", "site", "--cache", "cache.sqlite")
    found = author.sakuin(*kept, "--json").document
    (taught, other), never_asked = found["questions"], found["never_asked"]
    assert (taught["name"], taught["state"], taught["taught_by"][0]) == ("/parts/0/items/0", "taught", "x#rule-formula")
    assert taught["probability"] > found["at"]
    assert (other["text"], other["state"], other["taught_by"]) == (OTHER, "not taught here", [])
    assert {each["id"] for each in never_asked} == {f"x#{anchor}" for anchor in BOXES} - set(taught["taught_by"])


def _match(id: str, evidence: float, *, z: float = 0.0, similarity: float = 0.0) -> Match:
    page = id.split("#")[0]
    found = SimpleNamespace(id=id, material=page, evidence=evidence, z=z, similarity=similarity, is_good=evidence > 7)
    return cast("Match", found)


def asking(matches: list[Match], at: float) -> TeachingPages:
    """Returns what asks pages of which a search finds these explanations; no page is near as a whole."""
    ranked = SimpleNamespace(matches=matches, asked=SimpleNamespace(has_words=True, vector=[1.0]))
    ranked.is_refused = not matches[0].is_good
    index = SimpleNamespace(weights=WEIGHTS)
    search = SimpleNamespace(ranked_matches=lambda _text, limit: ranked, index=index)
    pages = SimpleNamespace(page_cosines=lambda _vector: {each.material: WEIGHTS.mean for each in matches})
    return TeachingPages(cast("PredictedChunks", pages), cast("SearchKnowledge", search), at)


@pytest.mark.parametrize(
    ("at", "evidence", "taught_by"),
    [(0.5, 14.0, ("x#a", "x#b")), (0.55, 14.0, ()), (0.0, 7.5, ("x#a", "x#b")), (0.0, 6.0, ())],
    ids=["taught", "improbable", "all but the refused", "refused"],
)
def test_the_author_says_from_which_probability_a_question_is_taught(
    at: float, evidence: float, taught_by: tuple[str, ...]
) -> None:
    matches = [_match("x#a", evidence), _match("x#b", 0.0, similarity=0.2), _match("x#c", 0.0, similarity=0.01)]
    question = asking(matches, at)(ExamQuestion("1", "?"))
    assert question.taught_by == taught_by
    coverage = Coverage([question], dict.fromkeys(("x#a", "x#b", "x#c"), ""), at)
    assert coverage.never_asked == [id for id in coverage.titles if id not in taught_by]


def test_a_page_with_several_explanations_teaches_more_than_one_with_the_best() -> None:
    matches = [_match("y#1", 14.0), *(_match(f"x#{name}", 13.5) for name in "abc")]
    question = asking(matches, 0.5)(ExamQuestion("1", "?"))
    assert question.pages == ("x", "y")
    assert question.taught_by == ("x#a",)
    scale = WEIGHTS.scales["both"]
    assert question.probability == scale.similarity(13.5 + math.log(3) / scale.lead, 0.0)


def test_half_of_what_an_explanation_means_is_what_its_page_means() -> None:
    matches = [_match("y#1", 14.0, z=2.0), _match("x#a", 13.0, z=2.0)]
    near = {"x": WEIGHTS.mean + 4 * WEIGHTS.spread, "y": WEIGHTS.mean}
    evidence = page_evidence(matches, near, WEIGHTS, WEIGHTS.scales["both"])
    # Nearly: the cosines of the pages count as two texts among a thousand.
    assert evidence["x"] == pytest.approx(13.0 + WEIGHTS.meaning * (4 - 2) / 2, abs=0.1)
    assert evidence["y"] == pytest.approx(14.0 + WEIGHTS.meaning * (0 - 2) / 2, abs=0.1)


def test_the_table_is_written_for_people_and_as_csv_and_as_a_page(author: Operator) -> None:
    author.file("exam.json", json.dumps([TAUGHT, "=HYPERLINK(1)", "<script>述べよ</script>"]).encode())
    kept = ("coverage", "exam.json", "site", "--cache", "cache.sqlite")
    shown = author.sakuin(*kept, "--csv", "coverage.csv", "--html", "coverage.html")
    assert shown.code == 0
    assert re.search(rf"0\.\d\d +{TAUGHT} +x#rule-formula", shown.out)
    assert shown.out.splitlines()[-1].startswith("1 of 3 questions are taught (probability of at least 0.5); ")
    rows = list(csv.DictReader(Path("coverage.csv").read_text("utf-8-sig").splitlines()))
    assert [row["text"] for row in rows][1] == "'=HYPERLINK(1)"
    assert {row["state"] for row in rows} == {"taught", "not taught here", "never asked"}
    page = Path("coverage.html").read_text()
    assert 'href="./x.html#rule-formula"' in page
    assert "&lt;script&gt;述べよ" in page
    assert "<script" not in page


def test_pages_without_vectors_are_an_error_and_not_untaught(author: Operator) -> None:
    found = author.sakuin("coverage", "exam.json", "site", "--cache", "cold.sqlite", SAKUIN_URL="", SAKUIN_ADMIN_KEY="")
    assert (found.code, "set SAKUIN_URL and SAKUIN_PUSH_KEY" in found.err) == (1, True)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.json", '["1 + 1", {"問題": "2 + 2", "解答": "4 である。"}, 3]', [("/0", "1 + 1"), ("/1", "2 + 2")]),
        ("b.json", '{"a/b": [{"stem": "How many?", "id": 1}]}', [("/a~1b/0", "How many?")]),
        ("c.jsonl", '{"query": "1 + 1"}\n\n{"query": "2 + 2"}\n', [("1", "1 + 1"), ("3", "2 + 2")]),
        (
            "d.html",
            "<ul><li>menu</ul><ol><li id=q>Solve x<sup>2</sup> = 1.<ol><li>real<li>complex</ol><li>Draw it.</ol>",
            [("q", "Solve x^2 = 1.\n1. real\n2. complex"), ("2", "Draw it.")],
        ),
        ("e.html", "<div class=exercise id=e1>Why?</div><ol><li>no</ol>", [("e1", "Why?")]),
        ("f.html", "<nav><ul><li>menu</ul></nav><ul><li>Why?</ul>", [("1", "Why?")]),
    ],
)
def test_an_exam_is_a_json_document_or_an_html_list(
    tmp_path: Path, name: str, content: str, found: list[tuple[str, str]]
) -> None:
    (tmp_path / name).write_text(content)
    assert [(each.name, each.text) for each in exam_questions(tmp_path / name)] == found


def test_the_author_may_name_the_member_that_has_the_question(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"question": "1 + 1", "hint": "add"}, {"question": "no hint"}, "text"]')
    assert [each.text for each in exam_questions(tmp_path / "a.json", "hint")] == ["add"]


@pytest.mark.parametrize(("name", "content"), [("a.json", "{}"), ("a.jsonl", "{"), ("a.json", "["), ("a.html", "<p>x")])
def test_a_file_without_questions_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(Invalid):
        exam_questions(tmp_path / name)
