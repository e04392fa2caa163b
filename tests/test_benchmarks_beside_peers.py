"""What `make bench` says is right: the rules of chunks, ratios, losses, slopes, and the page."""

import sys
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from sakuin.tables.chunking import chunks

from benchmarks.comparison import data
from benchmarks.comparison.chunk_rules import Broken, Cut, broken
from benchmarks.comparison.growth import slope
from benchmarks.comparison.measure import SAKUIN, Section, Spread, by_turns, losses, rows
from benchmarks.comparison.worker import Worker

TEXT = "一つ目の文。二つ目の👩‍👩‍👧‍👦文。\n\n三つ目の文。"


def cuts(*spans: tuple[int, int]) -> list[Cut]:
    return [Cut(TEXT[start:end], start, end) for start, end in spans]


@pytest.mark.parametrize(
    ("chunked", "expected"),
    [
        (cuts((0, 20), (20, len(TEXT))), Broken()),
        (cuts((0, 6), (9, len(TEXT))), Broken(lost=3)),
        (cuts((0, 20), (6, 18), (20, len(TEXT))), Broken(inside=1)),
        (cuts((0, 12), (12, len(TEXT))), Broken(graphemes=2)),
        ([Cut(TEXT[:20], 1, 21), *cuts((20, len(TEXT)))], Broken(unplaced=1)),
        ([Cut(TEXT[:20], None, None), *cuts((20, len(TEXT)))], Broken(unplaced=1)),
        (cuts((0, len(TEXT))), Broken(long=1)),
    ],
    ids=["kept", "lost", "inside", "grapheme", "wrong place", "no place", "long"],
)
def test_each_planted_defect_of_chunks_is_found(chunked: list[Cut], expected: Broken) -> None:
    assert broken(TEXT, chunked, size=22) == expected


def test_a_place_that_repeats_the_chunk_before_is_no_place() -> None:
    repeated = "はい。" * 4
    found = broken(repeated, [Cut("はい。はい。", 0, 6), Cut("はい。はい。", 0, 6)], size=6)
    assert found == Broken(unplaced=1)


def test_sakuin_keeps_every_rule_on_the_strings_of_the_benchmark() -> None:
    for text in data.strings()[::4]:
        cut = [Cut(each.text, each.char_start, each.char_end) for each in chunks(text)]
        assert broken(text, cut, size=1000) == Broken()


def test_contestants_begin_by_turns_and_the_first_run_does_not_count() -> None:
    began: list[str] = []
    seconds = count(1)

    def run(name: str) -> float:
        began.append(name)
        return float(next(seconds))

    times = by_turns({name: partial(run, name) for name in "ab"}, runs=2)
    assert began == ["a", "b", "b", "a", "a", "b"]
    assert times == {"a": [4.0, 5.0], "b": [3.0, 6.0]}


def test_a_ratio_compares_times_of_one_run() -> None:
    [own, peer] = rows({SAKUIN: [1.0, 2.0, 4.0], "peer": [2.0, 2.0, 2.0]}, {"peer": "as its guide"})
    assert (own.ratio, peer.ratio) == (Spread(1.0, 1.0, 1.0), Spread(1.0, 0.5, 2.0))
    assert peer.settings == "as its guide"


@pytest.mark.parametrize(("before", "named"), [(0.74, True), (0.76, False)])
def test_a_loss_of_a_quarter_is_named(before: float, named: bool) -> None:
    measured = rows({SAKUIN: [1.0], "v1.0.0": [before], "peer": [0.1]}, {})
    lost = losses([Section("pages", "Pages to chunks", "", "ms", measured)], "v1.0.0")
    assert lost == ["Pages to chunks: 26% of the speed of v1.0.0 is lost"] * named


def test_a_slope_is_the_exponent_of_growth() -> None:
    assert slope({size: [size * 0.5] * 3 for size in (100, 1_000, 10_000)}) == pytest.approx(1)
    assert slope({size: [7.0] for size in (100, 1_000, 10_000)}) == pytest.approx(0, abs=1e-9)


def test_a_worker_does_what_it_is_told_and_says_what_went_wrong(tmp_path: Path) -> None:
    file = tmp_path / "strings.json"
    file.write_text('["一つ目。", "二つ目。"]', "utf-8")
    worker = Worker(Path(sys.executable), "benchmarks.comparison.own")
    try:
        done = worker.do("cut", file=str(file))
        assert done.result == 2
        assert done.seconds > 0
        with pytest.raises(RuntimeError, match="FileNotFoundError"):
            worker.do("cut", file=str(tmp_path / "absent.json"))
    finally:
        worker.close()
