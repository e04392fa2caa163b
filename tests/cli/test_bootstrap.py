"""`sakuin eval --bootstrap`: a starter set of questions from an author's pages or a document."""

import json
from pathlib import Path
from typing import Any

from sakuin_cli.evaluation.bootstrap import MOST_PASSAGES, Passage, starter_questions
from sakuin_cli.evaluation.labels import labelled_questions

from tests.builders import a_page
from tests.cli.conftest import Operator

PAGE = {
    "rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。",
    "method-square": "平方完成: 二次式を平方の形に直す方法です。",
}
LEARNS = "m:\n  rule-formula:\n    - 解の公式を使う方法\n    - 符号を確かめる手順\n    - 係数の代入\n"


def written(file: Path) -> list[dict[str, Any]]:
    """The labels in a file; every line is one."""
    text = file.read_text("utf-8")
    questions, bad = labelled_questions(text)
    assert (bad, len(questions)) == ([], text.count("\n"))
    return [json.loads(line) for line in text.splitlines()]


def asked(questions: list[dict[str, Any]]) -> set[str]:
    return {question["query"] for question in questions}


def test_pages_on_this_machine_become_questions_in_the_form_of_labels(operator: Operator) -> None:
    operator.file("site/a/m.html", a_page(PAGE))
    operator.file("site/learns.yml", LEARNS.encode())
    operator.file("site/broken.html", b"\xff\xfe\x00")
    labels = operator.folder / "labels.jsonl"
    made = operator.sakuin("eval", labels, "--bootstrap", "--from", operator.folder / "site", "--prefix", "p", "--json")
    questions = written(labels)
    assert made.document == {"file": str(labels), "questions": len(questions), "passages": 2}
    assert {question["category"] for question in questions} == {"bootstrap"}
    assert [question["half"] for question in questions][:2] == ["dev", "held-out"]
    assert {id for question in questions for id in question["gold"]} == {"p/a/m#rule-formula", "p/a/m#method-square"}
    assert "解の公式とは何ですか" in asked(questions)
    operator.file("sakuin.toml", b'pages = "site"\nprefix = "p"\n')
    assert operator.sakuin("eval", "again.jsonl", "--bootstrap").code == 0
    assert written(operator.folder / "again.jsonl") == questions


def test_a_document_becomes_questions_about_its_long_strings(operator: Operator) -> None:
    text = "Momentum is mass times velocity. " * 8
    document = {"articles": [{"id": "a1", "title": "Momentum and speed", "text": text}]}
    file = operator.file("articles.json", json.dumps(document).encode())
    labels = operator.folder / "labels.jsonl"
    assert operator.sakuin("eval", labels, "--bootstrap", "--from", file).code == 0
    assert asked(written(labels)) == {"What is Momentum and speed?", "Momentum is mass times velocity"}
    assert written(labels)[0]["gold"] == ["/articles/0/text"]


def test_a_file_that_is_there_is_never_replaced(operator: Operator) -> None:
    file = operator.file("labels.jsonl", b"mine")
    refused = operator.sakuin("eval", file, "--bootstrap", "--from", operator.file("m.html"))
    assert (refused.code, file.read_bytes()) == (1, b"mine")
    assert "exists already" in refused.err
    empty = operator.sakuin("eval", "new.jsonl", "--bootstrap")
    assert (empty.code, "Name a folder of built pages" in empty.err) == (2, True)
    assert operator.sakuin("eval", file, "--from", operator.folder).code == 2
    assert operator.sakuin("eval", "none.jsonl").code == 2


def test_questions_are_about_all_parts_of_a_site_and_ambiguous_ones_are_left_out() -> None:
    passages = [
        Passage(
            f"m#rule-{number}", "Overview" if number % 2 else f"Topic {number}", "Site", f"Sentence number {number}."
        )
        for number in range(200)
    ]
    questions = starter_questions(passages)
    assert "What is Overview?" not in {question["query"] for question in questions}
    asked_about = {id for question in questions for id in question["gold"]}
    assert len(asked_about) == MOST_PASSAGES
    assert {"m#rule-0", "m#rule-196"} <= asked_about
    assert starter_questions(passages) == questions


def test_questions_are_in_the_language_of_the_text() -> None:
    questions = starter_questions(
        [
            Passage("1", "求め方", learns=("頂点を求める方法",)),
            Passage("2", "How to chop onions"),
            Passage("3", "Die Verträge", content="Die Verträge wurden geändert."),
            Passage("4", "元朝的历史", content="元朝是中国的朝代。"),
            Passage("5", "どの解き方を選ぶか"),
        ]
    )
    assert {question["query"] for question in questions} >= {
        "頂点を求める方法を教えてください",
        "How do I chop onions?",
        "Die Verträge",
        "什么是元朝的历史？",
        "どの解き方を選ぶかを教えてください",
    }
