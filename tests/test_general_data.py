"""A question set in SQuAD's format becomes pages, a Table and questions that name the same places."""

import json
from pathlib import Path

from sakuin.knowledge.reading.page_reader import read_page

from scripts.general_data import main

SET = {
    "data": [
        {
            "title": "摩擦",
            "paragraphs": [
                {"context": "摩擦 [SEP] 摩擦は熱になる。", "qas": []},
                {
                    "context": "摩擦 [SEP] 静止摩擦は<動摩擦>より大きい。",
                    "qas": [
                        {"question": "どちらが大きい？", "answers": [{"text": "静止摩擦", "answer_start": 9}]},
                        {"question": "題は？", "answers": [{"text": "摩擦", "answer_start": 0}]},
                    ],
                },
            ],
        }
    ]
}


def test_pages_table_and_questions_name_the_same_places(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(json.dumps(SET), "utf-8")
    main(tmp_path / "set.json", "ja", tmp_path / "ja", None)
    (question,) = map(json.loads, (tmp_path / "ja" / "queries.jsonl").read_text("utf-8").splitlines())
    (article,) = json.loads((tmp_path / "ja" / "table.json").read_text("utf-8"))["articles"]
    assert article["content"][question["start"] : question["end"]] == question["answer"] == "静止摩擦"
    page = read_page((tmp_path / "ja" / "site" / "a0.html").read_bytes())
    name, _, anchor = question["chunk"].partition("#")
    (element,) = [each for each in page.explanations if each.anchor == anchor]
    assert (name, page.title) == ("a0", "摩擦")
    assert "静止摩擦は<動摩擦>より大きい。" in element.content
