"""`sakuin check`: which golden questions a change of pages takes the answer from."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_page
from tests.cli.conftest import Operator, Output

FORMULA = "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。"
BOXES = {
    "rule-formula": FORMULA,
    "rule-discriminant": "判別式: 解の個数は判別式の符号で分かる。",
    "method-square": "平方完成: 平方の形に直して頂点を求める。",
}
GOLDEN = [
    {"query": "二次方程式を公式で解きたい", "gold": ["junior/x#rule-formula"]},
    {"query": "判別式の符号で解の個数を調べる", "gold": ["junior/x#rule-discriminant"]},
    {"query": "平方の形に直して頂点を求める", "gold": ["y#method-parabola"]},
]
PARABOLA = {"method-parabola": "頂点の求め方: 二次関数を平方の形に直して頂点を求める。"}
LINES = b"\n".join


class Author:
    """An author with pages before and after a change, in the folders `old` and `site`."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self._earlier = len(operator.deployment.functions.openai.requests)
        operator.file("sakuin.toml", b'pages = "site"\n')
        self.write_golden(GOLDEN)
        for folder in ("old", "site"):
            operator.file(f"{folder}/junior/x.html", _lines(a_page(BOXES)))
            operator.file(f"{folder}/y.html", a_page(PARABOLA, title="二次関数"))
        # The deployment has these pages, but for the one that only this machine has.
        operator.deployment.put("junior/x.html", (operator.folder / "old/junior/x.html").read_bytes())
        assert self.check().code == 0

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests for embeddings so far."""
        return self.operator.deployment.functions.openai.requests[self._earlier :]

    def write_golden(self, questions: list[dict[str, Any]]) -> None:
        lines = (json.dumps(question, ensure_ascii=False) for question in questions)
        self.operator.file("golden.jsonl", "\n".join(lines).encode())

    def check(self, *arguments: str, **settings: str) -> Output:
        kept = ("--before", "old", "--cache", "check.sqlite")
        return self.operator.sakuin("check", *kept, *arguments, **settings)


def _lines(page: bytes) -> bytes:
    return page.replace(b"<section", b"\n<section")


@pytest.fixture
def author(operator: Operator) -> Author:
    return Author(operator)


def test_a_removed_element_is_named_with_its_line_and_the_questions_that_opened_it(author: Author) -> None:
    author.operator.file("site/junior/x.html", _lines(a_page(BOXES)).replace(b"id='rule-formula'", b"id='rule-other'"))
    found = author.check("--json")
    (loss,) = found.document["losses"]
    assert (found.code, found.document["lost"], found.document["unpredicted"]) == (1, 1, [])
    assert (loss["kind"], loss["id"], loss["path"], loss["line"]) == (
        *("removed", "junior/x#rule-formula"),
        *("site/junior/x.html", 2),
    )
    (question,) = loss["questions"]
    assert (question["line"], question["before"]["first"][0]) == (1, "junior/x#rule-formula")
    out = author.check().out
    assert out.startswith(
        "✗ site/junior/x.html:2: junior/x#rule-formula is removed and takes the answer from 1 question: "
    )
    assert 'q1 "二次方程式を公式で解きたい" ' in out
    assert " instead of junior/x#rule-formula" in out
    assert out.splitlines()[-1] == "1 of 3 golden questions lose their answer"


def test_an_element_that_outranks_the_answer_is_named_with_its_own_line(author: Author) -> None:
    author.operator.file("site/z.html", _lines(a_page({"rule-copy": FORMULA}, title="二次方程式を公式で解きたい")))
    (loss,) = author.check("--json").document["losses"]
    assert (loss["kind"], loss["id"], loss["path"], loss["line"]) == ("outranked", "z#rule-copy", "site/z.html", 2)


def test_the_findings_are_written_as_sarif_and_as_a_comment(author: Author) -> None:
    shutil.rmtree(author.operator.folder / "site/junior")
    assert author.check("--sarif", "log.sarif", "--markdown", "comment.md").code == 1
    log = json.loads(Path("log.sarif").read_text())
    assert (log["version"], log["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "lost-answer"}]
    assert {one["ruleId"] for one in run["results"]} == {"lost-answer"}
    assert {one["level"] for one in run["results"]} == {"error"}
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert [(place["artifactLocation"]["uri"], place["region"]) for place in places] == [
        ("site/junior/x.html", {"startLine": 2}),
        ("site/junior/x.html", {"startLine": 4}),
    ]
    comment = Path("comment.md").read_text()
    first, _, *lines = comment.splitlines()
    assert first == "**Search**: 2 of 3 golden questions lose their answer, 1 gain theirs."
    assert [line.partition(": ")[0] for line in lines] == ["- `site/junior/x.html:2`", "- `site/junior/x.html:4`"]


def test_a_question_is_no_markup_in_a_comment(author: Author) -> None:
    author.write_golden([{**GOLDEN[0], "query": "<img src=x> @team 二次方程式を公式で解きたい"}])
    shutil.rmtree(author.operator.folder / "site/junior")
    author.check("--markdown", "comment.md")
    assert "\\<img src=x\\> \\@team" in Path("comment.md").read_text()


def test_an_unchanged_site_asks_the_deployment_for_no_vector(author: Author) -> None:
    before = len(author.requests)
    assert author.check().code == 0
    assert len(author.requests) == before
    author.operator.file("site/y.html", a_page(PARABOLA, title="二次関数のグラフ"))
    assert author.check().code == 0
    assert [len(request["input"]) for request in author.requests[before:]] == [1]


def test_the_vectors_of_the_index_are_not_computed_again(author: Author) -> None:
    texts = [text for request in author.requests for text in request["input"]]
    assert sum("係数を読みとって公式に代入する" in text for text in texts) == 1


def test_without_a_deployment_the_questions_that_cannot_be_predicted_are_named(author: Author) -> None:
    nothing = {"SAKUIN_URL": "", "SAKUIN_ADMIN_KEY": ""}
    assert author.check("--json", **nothing).document["unpredicted"] == []
    author.operator.file("site/y.html", a_page({"method-parabola": "放物線: 平方の形に直し頂点を求める方法。"}))
    found = author.check(**nothing)
    named = [line for line in found.out.splitlines() if line.startswith("! ")]
    assert (found.code, "q3" in named[0], "set SAKUIN_URL and SAKUIN_PUSH_KEY" in named[0]) == (0, True, True)
    assert author.check("--json", "--cache", "cold.sqlite", **nothing).document["unpredicted"] == [
        {"line": number, "query": question["query"]} for number, question in enumerate(GOLDEN, 1)
    ]


def test_a_page_that_cannot_be_read_keeps_its_answers(author: Author) -> None:
    author.operator.file("site/junior/x.html", b"%PDF-1.7")
    assert author.check("--json").document["lost"] == 0


def test_golden_questions_that_are_missing_or_invalid_are_a_wrong_usage(author: Author) -> None:
    author.operator.file("golden.jsonl", b'{"query": ""}')
    assert author.check().code == 2
    (author.operator.folder / "golden.jsonl").unlink()
    assert author.check().code == 2
    assert author.operator.sakuin("check").code == 2


def test_a_push_that_takes_every_golden_link_of_a_page_asks(author: Author) -> None:
    operator = author.operator
    operator.file("site/junior/x.html", a_page({"method-square": BOXES["method-square"]}))
    pushed = operator.sakuin("push")
    lost = "junior/x would lose every link that golden questions open: #rule-discriminant, #rule-formula"
    assert (pushed.code, lost in pushed.err, operator.deployment.keys()) == (1, True, ["junior/x.html"])
    operator.file("site/junior/x.html", a_page({"rule-formula": FORMULA}))
    assert operator.sakuin("push").code == 0
