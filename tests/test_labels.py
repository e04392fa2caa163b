"""The labelled questions: valid, unique, and alike in both halves."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.tables.json_pointer import resolve

ROOT = Path(__file__).resolve().parent.parent
LABELS = ROOT / "tests" / "labels"
SAMPLES = ROOT / "samples"
TABLE = SAMPLES / "tables" / "学習コラム.json"
FILES = ("knowledge", "pages", "table")
MEMBERS = {"query", "gold", "category", "half"}
CATEGORIES = {
    *("natural", "paraphrase", "kana-only", "typo", "english", "keyword", "conversational", "notation", "off-topic")
}
# What a new Table indexes, in characters.
LARGE = 200
ID = re.compile(r"(junior|senior)/[^/#]+#(rule|method|def|ex|tip)-[a-z0-9-]+")
KANA = re.compile(r"[ぁ-ゖァ-ヺー]+")
JAPANESE = re.compile(r"[ぁ-ゖァ-ヺ一-鿿]")


def labels(name: str) -> list[dict[str, Any]]:
    text = (LABELS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def count_by_category(*names: str) -> Counter[str]:
    return Counter(label["category"] for name in names for label in labels(name))


def folded(query: str) -> str:
    return unicodedata.normalize("NFKC", query).casefold().strip()


def explained() -> set[str]:
    """Returns the ids of all explanations of the sample pages."""
    return {
        f"{path.relative_to(SAMPLES).with_suffix('').as_posix()}#{item.anchor}"
        for path in SAMPLES.glob("*/*.html")
        for item in read_page(path.read_bytes()).explanations
    }


@pytest.mark.parametrize("name", FILES)
def test_a_label_has_a_question_of_its_category_a_half_and_answers_unless_it_is_off_topic(name: str) -> None:
    for label in labels(name):
        assert label.keys() == MEMBERS, label
        query, category = label["query"], label["category"]
        assert query.strip() == query != "", label
        assert category in CATEGORIES, label
        assert category != "kana-only" or KANA.fullmatch(query), label
        assert category != "english" or not JAPANESE.search(query), label
        assert label["half"] in {"dev", "held-out"}, label
        assert (category == "off-topic") == (label["gold"] == []), label
        assert len(set(label["gold"])) == len(label["gold"]), label


@pytest.mark.parametrize("name", FILES)
def test_no_question_is_asked_twice_and_the_halves_are_alike_in_every_category(name: str) -> None:
    questions = Counter(folded(label["query"]) for label in labels(name))
    assert questions.total() == len(questions)
    halves = [Counter(one["category"] for one in labels(name) if one["half"] == half) for half in ("dev", "held-out")]
    assert all(abs(halves[0][category] - halves[1][category]) <= 1 for category in CATEGORIES)


def test_no_held_out_question_stands_in_another_test_or_in_a_document() -> None:
    files = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("tests/**/*.yaml"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}
    held_out = {label["query"] for name in FILES for label in labels(name) if label["half"] == "held-out"}
    dev = {label["query"] for name in FILES for label in labels(name)} - held_out
    alone = [query for query in held_out if not any(query in other for other in dev)]
    assert [(query, name) for query in alone for name, text in texts.items() if query in text] == []


def test_the_answers_are_elements_of_the_samples_or_have_the_form_of_an_id() -> None:
    known = explained()
    assert [label for label in labels("knowledge") if not known.issuperset(label["gold"])] == []
    assert [gold for label in labels("pages") for gold in label["gold"] if not ID.fullmatch(gold)] == []


def test_every_article_of_the_table_is_an_answer_and_large_enough_to_be_indexed() -> None:
    tree = json.loads(TABLE.read_text(encoding="utf-8"))
    gold = {pointer for label in labels("table") for pointer in label["gold"]}
    assert gold == {f"/articles/{place}/content" for place in range(len(tree["articles"]))}
    assert min(len(str(resolve(tree, pointer))) for pointer in gold) >= LARGE


@pytest.mark.parametrize(
    ("names", "total", "least", "english", "off_topic"),
    [(("knowledge", "pages"), 210, 12, 24, 24), (("table",), 60, 5, 5, 8)],
)
def test_there_are_enough_questions_to_tell_two_systems_apart(
    names: tuple[str, ...], total: int, least: int, english: int, off_topic: int
) -> None:
    asked = count_by_category(*names)
    assert asked.total() >= total
    assert min(asked[category] for category in CATEGORIES) >= least
    assert (asked["english"] >= english, asked["off-topic"] >= off_topic) == (True, True)
