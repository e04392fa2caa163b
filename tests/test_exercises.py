"""Textbooks for the learning of `sakuin coverage`, and what is learned from them."""

import json
import subprocess
from pathlib import Path

import numpy as np

from benchmarks.exercises import Asked, learn
from scripts import textbook

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
    assert exercise == {"query": question, "id": "e2", "page": "m1", "share": 1.0}


def test_learning_finds_the_feature_by_which_a_page_teaches() -> None:
    chance = np.random.default_rng(1)
    noise = chance.normal(size=(300, 6, 3))
    book = [Asked(others[0] + [3.0, 0.0, 0.0], others[1:], 1.0) for others in noise]
    learned = learn({"book": book})
    assert abs(learned.weights[0]) > 10 * np.abs(learned.weights[1:]).max()
    scores, without = ([learned.scores(each) for each in sites] for sites in ([one.all for one in book], noise[:, 1:]))
    assert np.mean([each.argmax() == 0 for each in scores]) > 0.9
    taught, untaught = (np.mean(list(map(learned.taught, each))) for each in (scores, without))
    assert untaught < 0.35 < 0.65 < taught
