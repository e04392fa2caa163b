"""What `sakuin check` predicts is what the deployment answers after the change."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sakuin.platform.embedding import packed
from sakuin.upkeep.index_versions import LiveVectors
from sakuin_cli.evaluation.bootstrap import starter_questions
from sakuin_cli.evaluation.labels import LabelledQuestion
from sakuin_cli.evaluation.passages import passages_below
from sakuin_cli.prediction.answers import FIRST, Predict, PredictedAnswer, Prediction
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.prediction.pages import PredictedSite, predicted_site
from sakuin_cli.prediction.vectors import Vectors
from sakuin_cli.site.uploads import uploads_below

from tests.cli.edits import edit_site
from tests.doubles.embedder import WEIGHTS
from tests.effort import times
from tests.parallel import SUMMARY
from tests.worlds import World, Worlds

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PAGES = ("junior/一次関数_教材.html", "junior/二次方程式の解き方_教材.html", "senior/三角比の入口_教材.html")
BESIDE = ("junior/learns.yml", "senior/learns.yml")
CODE = """<!doctype html><html lang=en><title>Queues</title><h1 id=queues>Queues</h1>
<h2 id=def-retry>Retrying a message</h2><p>A worker retries a message with a delay that grows.</p>
<pre><code>def retry(message):
    sleep(2 ** message.attempts)
    send(message)</code></pre>
<h2 id=def-dead>Dead letters</h2><p>After five attempts a message becomes a dead letter.</p>
<pre><code>redrive(queue)</code></pre>
"""
ASKED = [
    *(
        "こうばいとは",
        "かいのこうしきをおしえて",
        "勾配はどう求めますか",
        "解の公司",
        "y=ax+b",
        "How are mesages retried?",
    ),
    *("晩ご飯の献立", "どうして sin と cos を使うの"),
]


@dataclass(frozen=True)
class WorldClient:
    """The part of `DeploymentClient` that a prediction calls, over a world."""

    world: World

    def vectors(
        self, *, names: Sequence[str] = (), texts: Sequence[str] = (), queries: Sequence[str] = ()
    ) -> dict[str, Any]:
        live = LiveVectors(self.world.index, self.world.kept, self.world.embedder_of)
        settings, stored, embedded, asked = live(names, texts, queries)
        return {
            "settings": settings.as_json(),
            "vectors": {name: packed(vector) for name, vector in stored.items()},
            "texts": list(map(packed, embedded)),
            "queries": list(map(packed, asked)),
        }


@dataclass
class Checked:
    """A site in a world, and in a folder; `golden` are the questions about it."""

    world: World
    folder: Path
    cache: Cache
    golden: list[LabelledQuestion]

    @property
    def version(self) -> Any:
        return self.world.settings.pages

    def site(self, folder: Path) -> PredictedSite:
        return predicted_site(uploads_below([folder], folder=""), self.version, self.cache)

    def predicted(self, before: Path, after: Path, *, asks: bool = True) -> tuple[list[Prediction], str | None]:
        """The predictions, and why there are not all vectors. Without `asks`, the world gives none."""
        old = self.site(before)
        new = self.site(after).after(old)
        vectors = Vectors(self.cache, self.version.space, WorldClient(self.world) if asks else None)
        texts = {name: text for each in (old, new) for page in each.pages.values() for name, text in page.texts.items()}
        reason = vectors.fetch(texts, lambda *_: None)
        predict = Predict(self.version, WEIGHTS, vectors)
        lacks = reason is not None
        return predict.predictions(old, new, self.golden, lacks_vectors=lacks, on_progress=lambda *_: None), reason

    def deployed(self) -> list[PredictedAnswer]:
        """The answers of the world."""
        ranked = [self.world.search.ranked_matches(each.query, limit=FIRST) for each in self.golden]
        return [PredictedAnswer(tuple(match.id for match in each.matches), each.is_refused) for each in ranked]

    def put(self, file: Path, folder: Path) -> None:
        self.world.put(file.relative_to(folder).as_posix(), file.read_bytes())


@pytest.fixture(scope="module")
def checked(a_world: Worlds, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    folder = tmp_path_factory.mktemp("site")
    for place in (*PAGES, *BESIDE):
        (folder / place).parent.mkdir(exist_ok=True)
        shutil.copy(SAMPLES / place, folder / place)
    (folder / "queues.html").write_text(CODE, "utf-8")
    (folder / "synonyms.yml").write_text("- [傾き, 勾配]\n", "utf-8")
    world = a_world()
    for file in sorted(filter(Path.is_file, folder.rglob("*")), key=lambda file: file.suffix == ".html"):
        world.put(file.relative_to(folder).as_posix(), file.read_bytes())
    rows = starter_questions(passages_below([folder], folder=""))
    golden = [
        LabelledQuestion(line, str(row["query"]), tuple(row["gold"]))  # type: ignore[arg-type]
        for line, row in enumerate([*rows[::4], *({"query": query, "gold": []} for query in ASKED)], 1)
    ]
    return Checked(world, folder, Cache(tmp_path_factory.mktemp("cache") / "check.sqlite"), golden)


def test_the_predicted_results_are_the_deployed_ones_after_random_edits(
    checked: Checked, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    harmful: Counter[bool] = Counter()
    harmless: Counter[bool] = Counter()
    old = checked.deployed()
    # The first ones have an edit of each kind that matters, and harmless ones.
    for seed in range(0, 3 * times(4), 3):
        after = tmp_path / str(seed)
        shutil.copytree(checked.folder, after)
        name, file = edit_site(after, seed)
        predicted, reason = checked.predicted(checked.folder, after)
        assert reason is None
        checked.put(file, after)
        new = checked.deployed()
        assert [each.before for each in predicted] == old, (seed, name)
        assert [each.after for each in predicted] == new, (seed, name)
        lost = any(
            one.is_right(question) and not other.is_right(question)
            for question, one, other in zip(checked.golden, old, new, strict=True)
        )
        (harmful if lost else harmless)[any(each.is_lost for each in predicted)] += 1
        key = file.relative_to(after).as_posix()
        if (before := checked.folder / key).exists():
            checked.put(before, checked.folder)
        else:
            checked.world.bucket.remove(key)
            checked.world.settle()
    count = harmful.total() + harmless.total()
    flagged = f"{harmful[True]} of {harmful.total()} harmful and {harmless[True]} of {harmless.total()} other edits"
    pytestconfig.stash[SUMMARY].add(f"check: {count} edits, {len(old)} questions each; flagged {flagged}")
    assert harmful[True] >= 0.95 * harmful.total() > 0
    assert harmless[True] <= 0.02 * harmless.total()


def test_files_that_cannot_be_read_keep_what_they_said(checked: Checked, tmp_path: Path) -> None:
    after = tmp_path / "after"
    shutil.copytree(checked.folder, after)
    (after / "synonyms.yml").write_text("- [", "utf-8")
    (after / PAGES[0]).write_bytes(b"%PDF-1.7")
    old = checked.site(checked.folder)
    new = checked.site(after).after(old)
    assert (new.synonyms, new.pages.keys()) == (old.synonyms, old.pages.keys())
    assert new.pages[PAGES[0].removesuffix(".html")] == old.pages[PAGES[0].removesuffix(".html")]


def test_a_question_is_predicted_without_vectors_if_they_cannot_matter(checked: Checked, tmp_path: Path) -> None:
    after = tmp_path / "after"
    shutil.copytree(checked.folder, after)
    (after / "queues.html").write_text(CODE.replace("a delay that grows", "a delay that doubles each time"), "utf-8")
    checked.predicted(checked.folder, checked.folder)
    known, reason = checked.predicted(checked.folder, after, asks=False)
    assert reason is not None
    assert {each.is_known for each in known} == {True, False}
    whole, reason = checked.predicted(checked.folder, after)
    assert reason is None
    for one, other in zip(known, whole, strict=True):
        assert not one.is_known or (one.after and one.after.opened) == (other.after and other.after.opened)
