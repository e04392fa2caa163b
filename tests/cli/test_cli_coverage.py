"""`sakuin coverage`: which questions of an exam the pages teach."""

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from sakuin.errors import Invalid
from sakuin.platform.embedding import EmbeddingModel, packed
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin_cli.evaluation.coverage import Coverage, TeachingPages
from sakuin_cli.evaluation.exam import ExamQuestion, exam_questions
from sakuin_cli.prediction.answers import Predict
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.prediction.evidence import Evidence, PageWeights, SiteEvidence
from sakuin_cli.prediction.pages import predicted_site
from sakuin_cli.prediction.vectors import Vectors
from sakuin_cli.site.uploads import uploads_below

from tests.builders import a_page
from tests.cli.conftest import Operator

BOXES = {
    "rule-formula": "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。",
    "rule-discriminant": "判別式: 解の個数は判別式の符号で分かる。",
    "method-square": "平方完成: <b>平方</b>の形に直して頂点を求める。",
}
TAUGHT, OTHER = "二次方程式を公式で解きたい", "明治時代の鉄道について述べよ"
if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient

WEIGHTS = weights_of("multilingual-e5-small")
# A page without evidence is a typical one.
PAGES = PageWeights(np.array([1.0, 0.0, 0.0]), np.zeros(3), 7.0)
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


def asking(scores: Mapping[str, float], pages: Mapping[str, float], at: float) -> TeachingPages:
    """Returns what asks a site of which each explanation and page has this evidence."""
    numbers = {page: number for number, page in enumerate(pages)}

    class Site:
        ids, page_of = list(scores), np.array([numbers[id.split("#")[0]] for id in scores])

        def __init__(self) -> None:
            self.pages = list(pages)

        def __call__(self, _text: str) -> Evidence:
            features = np.array([[evidence, 0.0, 0.0] for evidence in pages.values()])
            return Evidence(np.array(list(scores.values())), features, WEIGHTS.scales["both"])

    return TeachingPages(cast("SiteEvidence", Site()), at, PAGES)


@pytest.mark.parametrize(
    ("at", "evidence", "taught_by"),
    [(0.5, 14.1, ("x#a", "x#b")), (0.55, 14.1, ()), (0.0, 7.5, ("x#a", "x#b")), (0.0, 6.0, ())],
    ids=["taught", "improbable", "all but the refused", "refused"],
)
def test_the_author_says_from_which_probability_a_question_is_taught(
    at: float, evidence: float, taught_by: tuple[str, ...]
) -> None:
    ask = asking({"x#a": evidence, "x#b": evidence - 1, "x#c": -9.0}, {"x": evidence}, at)
    question = ask(ExamQuestion("1", "?"))
    assert question.taught_by == taught_by
    coverage = Coverage([question], dict.fromkeys(("x#a", "x#b", "x#c"), ""), at)
    assert coverage.never_asked == [id for id in coverage.titles if id not in taught_by]


def test_the_best_page_is_named_before_the_best_explanation() -> None:
    question = asking({"y#1": 14.0, "x#a": 13.0, "x#b": 13.5}, {"y": 14.0, "x": 15.0}, 0.1)(ExamQuestion("1", "?"))
    assert (question.pages, question.taught_by) == (("x", "y"), ("x#b", "y#1", "x#a"))
    assert question.probability == PAGES.taught(PAGES.scores(np.array([[14.0, 0.0, 0.0], [15.0, 0.0, 0.0]])))


def test_no_page_is_a_choice_that_grows_with_the_pages() -> None:
    weights = PageWeights(np.array([2.0, 0.0, 0.0]), np.array([1.0, 9.0, 9.0]), 1.0)
    # A page counts by what it has more than the mean page, the typical one among them.
    one, two = (np.array([[evidence, 5.0, 5.0] for evidence in some]) for some in ((4.0,), (4.0, 1.0)))
    assert weights.scores(one) == pytest.approx([3.0])
    assert weights.scores(two) == pytest.approx([4.0, -2.0])
    assert weights.taught(weights.scores(one)) == round(1 / (1 + math.exp(1 - 3)), 4)
    pages = (math.exp(4) + math.exp(-2)) / 2
    assert weights.taught(weights.scores(two)) == round(pages / (pages + math.exp(1)), 4)


class _Embedder:
    """The deployment that gives vectors: `angles` by text, of one circle."""

    def __init__(self, angles: Mapping[str, float]) -> None:
        self.angles = angles

    def vectors(self, *, names: Sequence[str] = (), texts: Sequence[str] = (), queries: Sequence[str] = ()) -> Any:
        def one(text: str) -> str:
            angle = 0.0 if text in queries else next((each for part, each in self.angles.items() if part in text), 0.6)
            return packed([math.cos(angle), math.sin(angle), *[0.0] * 1534])

        return {"vectors": {}, "texts": list(map(one, texts)), "queries": list(map(one, queries))}


def site_evidence(folder: Path, pages: Mapping[str, Mapping[str, str]], angles: Mapping[str, float]) -> SiteEvidence:
    folder.mkdir(exist_ok=True)
    for name, boxes in pages.items():
        (folder / f"{name}.html").write_bytes(a_page(boxes))
    version = PageIndexVersion(EmbeddingModel("multilingual-e5-small", 1536), TEXT_TEMPLATE, ANALYZER, "")
    cache = Cache(folder / "cache.sqlite")
    site = predicted_site(uploads_below([folder], folder=""), version, cache)
    vectors = Vectors(cache, version.space, cast("DeploymentClient", _Embedder(angles)))
    texts = {name: text for page in site.pages.values() for name, text in page.texts.items()}
    assert vectors.fetch(texts, lambda _phase, _done, _total: None) is None
    return SiteEvidence(Predict(version, WEIGHTS, vectors), site)


QUESTION = "How far does a stone fall in two seconds?"
FALL = {"rule-1": "Fall: a stone falls far.", "rule-2": "Time: seconds of a fall.", "rule-3": "Speed: two stones fall."}
OTHER_PAGE = {"rule-4": "Fall: a stone falls in two seconds.", "rule-5": "Tax: the law.", "rule-6": "Court: the judge."}


@pytest.mark.parametrize(
    ("question", "angle"), [(QUESTION, 0.6), ("二秒で石はどれだけ落ちるか", 0.9)], ids=["the same language", "another"]
)
def test_the_evidence_of_an_explanation_is_that_of_the_search(tmp_path: Path, question: str, angle: float) -> None:
    # All texts are equally near, pages too, so that the meaning of a page changes nothing.
    site = site_evidence(tmp_path, {"x": FALL, "y": OTHER_PAGE}, {"": angle})
    evidence = site(question)
    found = dict(zip(site.ids, evidence.explanations, strict=True))
    ranked = site.predict.search(site.site).ranked_matches(question, limit=9)
    assert ranked.matches
    assert evidence.scale == ranked.answer.scale
    for match in ranked.matches:
        alone = match.ranked.evidence - WEIGHTS.scattered * match.ranked.words.scattered
        assert found[match.id] == pytest.approx(alone, abs=0.1)


def test_a_page_has_the_evidence_of_all_its_explanations_and_of_its_whole_meaning(tmp_path: Path) -> None:
    site = site_evidence(tmp_path / "far", {"x": FALL, "y": OTHER_PAGE}, {"Tax": 1.0, "Court": 1.0})
    found = site(QUESTION)
    scores, slope = dict(zip(site.ids, found.explanations, strict=True)), found.scale.lead
    (x, nearest, passages), (y, less_near, _) = (found.pages[site.pages.index(page)].tolist() for page in "xy")
    of_x = [score for id, score in scores.items() if id.startswith("x#")]
    assert x == pytest.approx(math.log(sum(math.exp(slope * score) for score in of_x)) / slope)
    assert x > max(of_x)
    assert passages == pytest.approx(math.log(3))
    # One passage of the other page is as near, two are not.
    assert nearest > less_near
    # The same text counts less on a page about something else.
    near = site_evidence(tmp_path / "near", {"x": FALL, "y": OTHER_PAGE}, {})(QUESTION)
    assert scores["y#rule-4"] < near.explanations[site.ids.index("y#rule-4")]
    assert x > y


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


@pytest.mark.parametrize(("name", "content"), [("a.json", "{}"), ("a.json", "["), ("a.html", "<p>x")])
def test_a_file_without_questions_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(Invalid):
        exam_questions(tmp_path / name)
