"""The benchmarks: what they say is right, what they call exists, and their textbooks and question sets are read."""

import json
import re
import subprocess
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.tables.chunking import chunks

from benchmarks.books import compared, independent, rows
from benchmarks.comparison import data
from benchmarks.comparison.chunking import Cut, broken
from benchmarks.comparison.report import SAKUIN, Section, by_turns
from benchmarks.comparison.server import REPOSITORY
from benchmarks.large_index import OTHERS
from scripts import textbook
from scripts.general_data import main

TEXT = "一つ目の文。二つ目の👩‍👩‍👧‍👦文。\n\n三つ目の文。"

FIRST_20, THE_END = 20, len(TEXT)


def cuts(*spans: tuple[int, int]) -> list[Cut]:
    return [(TEXT[start:end], start, end) for start, end in spans]


@pytest.mark.parametrize(
    ("chunked", "expected"),
    [
        (cuts((0, FIRST_20), (FIRST_20, THE_END)), {}),
        (cuts((0, 6), (9, THE_END)), {"lost": 3}),
        (cuts((0, FIRST_20), (6, 18), (FIRST_20, THE_END)), {"inside": 1}),
        (cuts((0, 12), (12, THE_END)), {"graphemes": 2}),
        ([*cuts((0, THE_END - 1)), (TEXT[-1:], 0, 1)], {"unplaced": 1, "lost": 1}),
        ([*cuts((0, THE_END - 1)), (TEXT[-1:], None, None)], {"unplaced": 1, "lost": 1}),
        (cuts((0, THE_END)), {"long": 1}),
    ],
    ids=["kept", "lost", "inside", "grapheme", "wrong place", "no place", "long"],
)
def test_each_planted_defect_of_chunks_is_found(chunked: list[Cut], expected: dict[str, int]) -> None:
    assert +broken(TEXT, chunked, size=THE_END - 1) == expected


def test_a_place_that_repeats_the_chunk_before_is_no_place() -> None:
    repetition = ("はい。はい。", 0, 6)
    assert +broken("はい。" * 2, [repetition, repetition], size=6) == {"unplaced": 1}


def test_sakuin_keeps_every_rule_on_the_strings_of_the_benchmark() -> None:
    for text in data.strings()[::4]:
        pieces: list[Cut] = [(piece.text, piece.char_start, piece.char_end) for piece in chunks(text)]
        assert +broken(text, pieces, size=1000) == {}


def test_contestants_begin_by_turns_and_the_first_run_does_not_count() -> None:
    began: list[str] = []
    seconds = count(1)

    def run(name: str) -> float:
        began.append(name)
        return float(next(seconds))

    times = by_turns({name: partial(run, name) for name in "ab"}, runs=2)
    assert began == ["a", "b", "b", "a", "a", "b"]
    assert times == {"a": [4.0, 5.0], "b": [3.0, 6.0]}


def test_a_ratio_compares_times_of_one_run_and_a_peer_may_have_further_columns() -> None:
    times = {SAKUIN: [1.0, 2.0, 4.0], "peer": [2.0, 2.0, 2.0]}
    section = Section("Pages", "", "ms", times, {"peer": "as its guide"}, {"peer": {"chunks": 1200}})
    assert section.table().splitlines()[2:] == [
        "| **Sakuin** |  | 2 (1–4) | 1 |  |",
        "| peer | as its guide | 2 | 1 (0.5–2) | 1,200 |",
    ]


def test_the_schema_has_each_function_that_the_large_index_measures() -> None:
    schema = "".join(file.read_text("utf-8") for file in (REPOSITORY / "supabase" / "schema").glob("*.sql"))
    called = {name for _, query in OTHERS for name in re.findall(r"(?:select|from|, )\s*([a-z_]+)\(", query)}
    names = set(re.findall(r"create (?:or replace )?function (?:public\.)?([a-z_]+)", schema))
    assert called - names == {"array", "count", "generate_series"}


PAGE = """<!DOCTYPE html><title>Tea 7</title><nav>Home Shop</nav><main><h1>Tea</h1>
<p>Boil <b>w</b>ater to 95 degrees for <code>tea --hot</code>.</p><aside aria-hidden=true>Copied</aside>
<pre>pour(
    3)</pre><p>Opened in 1945<sup><a href="#n">2</a></sup>.</p></main><footer>Imprint</footer>"""

KEPT = "Tea\nBoil water to 95 degrees for `tea --hot`.\n> ```\n> pour(\n>     3)\n> ```\nOpened in 1945[2]."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (KEPT, {}),
        (KEPT.replace("for ", ""), {"lost": 1}),
        (KEPT.replace("water to", "waterto"), {"glued": 1}),
        (KEPT.replace("water", "w ater"), {"torn": 1}),
        (KEPT.replace("1945[2]", "19452"), {"numbers": 1, "lost": 2}),
        (KEPT.replace(">     3", "> 3"), {"code": 1}),
        (KEPT.replace("--hot", "-hot"), {"inline": 1}),
        (KEPT + "\nHome Imprint", {"furniture": 2}),
        ("", {"unread": 1, "code": 1, "lost": 15}),
    ],
    ids=["kept", "lost", "glued", "torn", "number", "code", "inline code", "furniture", "unread"],
)
def test_each_planted_loss_is_counted(text: str, expected: dict[str, int]) -> None:
    counts, _ = compared(independent(PAGE.encode()), text, frozenset())
    del counts["words"], counts["searched"], counts["left out"], counts["blocks"]
    assert +counts == +type(counts)(expected)


def test_what_most_pages_of_a_site_have_once_is_left_out(tmp_path: Path) -> None:
    for number in range(9):
        text = f"<p>Kettle number {number} whistles</p><p>All rights reserved</p>"
        (tmp_path / f"{number}.html").write_text(f"<body><h1>Kettle {number}</h1>{text}")
    site, worst = rows(tmp_path, 1)
    assert site.startswith(f"| **{tmp_path.name}**, 9 pages | 0.0% | 33.3% | 54 | 81 | 27 |")
    assert worst.startswith("| 0.html | 0.0% | 33.3% | 6 | 9 | 3 |")


BOOK = '<col:collection xmlns:col="c"><col:module document="m1"/><col:module document="m2"/></col:collection>'

MODULE = """<document xmlns="http://cnx.rice.edu/cnxml"><title>Falling</title><metadata>no text</metadata><content>
<section id="s1"><title>Stones</title><para id="p1"><title>Far</title>A stone <term>falls</term> %s</para>
<example><exercise id="e1"><problem><para>How far is it after a second?</para></problem></exercise></example></section>
<section><title>Exercises</title><exercise id="e2"><problem><para>How far away does a stone of exactly two kilograms
fall in <m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mn>3</m:mn> <m:mi>s</m:mi></m:math>?</para></problem>
<solution><para>Far.</para></solution></exercise></section></content></document>"""


def test_a_page_has_what_a_module_explains_and_the_exercises_are_beside_it(tmp_path: Path) -> None:
    repository = tmp_path / "a+osbooks-falling"
    for number, length in (("1", 400), ("2", 1)):
        (repository / "modules" / f"m{number}").mkdir(parents=True)
        (repository / "modules" / f"m{number}" / "index.cnxml").write_text(MODULE % ("far. " * length))
    (repository / "book.xml").write_text(BOOK)
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a")):
        subprocess.run(["git", "-C", str(repository), *command], check=True)
    textbook.main(repository, "book.xml", "en", tmp_path / "made")
    # The other module is too short.
    (page,) = (tmp_path / "made" / "site").iterdir()
    html = page.read_text("utf-8")
    assert '<section id="s1">' in html
    assert '<h5>Far</h5>\n<p id="p1">A stone <dfn>falls</dfn> far.' in html
    assert "How far is it after a second?" in html
    assert "Exercises" not in html
    exercise = json.loads((tmp_path / "made" / "exercises.jsonl").read_text("utf-8"))
    question = "How far away does a stone of exactly two kilograms fall in 3s?"
    assert exercise == {"query": question, "id": "e2", "page": "m1"}


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
