"""How a search grows with the number of chunks, from a hundred on: times, and the slope of their logarithms."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np
from sakuin_local.supabase.database import running_database

from benchmarks.comparison import data
from benchmarks.comparison.measure import PEERS_PYTHON, SAKUIN, Row, Run, Section, Spread
from benchmarks.comparison.search import PEERS, STORES, other_database
from benchmarks.comparison.server import milliseconds, running_server
from benchmarks.large_index import SEARCH, filled_index
from benchmarks.large_index import milliseconds as processor_milliseconds

CALLS = 20
# Further on, local Qdrant takes a second for a question; its documents end there, too.
MOST_OF_QDRANT = 10_000
_WIDTH = 384
# Of a size, the milliseconds of the calls.
Times = Mapping[int, Sequence[float]]


def sections(run: Run) -> Iterator[Section]:
    """Yields one section: a line for each engine and size, and the slopes."""
    folder = run.place("growth")
    sizes = [size for power in range(2, 8) if (size := 10**power) <= run.most]
    times: dict[str, Times] = {SAKUIN: {size: _own(size) for size in sizes}}
    with ExitStack() as running:
        database = running.enter_context(running_database(folder / "database"))
        dsn = other_database(database)
        for size in sizes:
            place = folder / str(size)
            _write_library(place, size)
            for name, (argument, _) in PEERS.items():
                if name != "Qdrant local" or size <= MOST_OF_QDRANT:
                    times.setdefault(name, {})
                    times[name] = {**times[name], size: _peer(argument, place, dsn)}
    remark = (
        f"Synthetic chunks. {SAKUIN}: the processor time that Postgres takes for the candidates of a question, with "
        "questions of 8 to 40 terms; peers: p50 of a call of the tool over MCP, by one caller. Slope: of the "
        "logarithms; 0 does not grow, 1 grows as the number of chunks."
    )
    yield Section("growth", "Growth of a search", remark, "ms", list(_rows(times)), "the smallest size")


def slope(times: Times) -> float:
    """Returns the exponent of a power of the size, by least squares of the logarithms of the medians."""
    sizes = sorted(times)
    fitted = np.polyfit(np.log(sizes), np.log([max(median(times[size]), 1e-3) for size in sizes]), 1)
    return float(fitted[0])


def _rows(times: Mapping[str, Times]) -> Iterator[Row]:
    for name, by_size in times.items():
        first = median(by_size[min(by_size)])
        for size, some in by_size.items():
            spread = Spread.of(some)
            ratio = Spread(*(getattr(spread, key) / max(first, 1e-3) for key in ("median", "low", "high")))
            said = "" if name == SAKUIN else PEERS[name][1]
            more = {"slope": round(slope(by_size), 2)} if size == max(by_size) and len(by_size) > 1 else {}
            yield Row(f"{name}, {size:,} chunks", said, spread, ratio, more)


def _own(size: int) -> list[float]:
    with filled_index(np.random.default_rng(data.SEED), size) as (_database, sql, questions):
        return [processor_milliseconds(sql, SEARCH, (*each, None, None)) for each in questions]


def _write_library(place: Path, size: int) -> None:
    place.mkdir()
    chance = np.random.default_rng(data.SEED)
    texts = [f"{data.unrelated_sentence(at)}{data.unrelated_sentence(at + 1)}" for at in range(size)]
    queries = [data.unrelated_sentence(at * 7) for at in range(CALLS)]
    library = {"ids": [str(at) for at in range(size)], "texts": texts}
    (place / "library.json").write_text(json.dumps(library), "utf-8")
    (place / "questions.json").write_text(json.dumps(queries), "utf-8")
    np.save(place / "library.npy", chance.standard_normal((size, _WIDTH)).astype(np.float32))
    np.save(place / "questions.npy", chance.standard_normal((len(queries), _WIDTH)).astype(np.float32))


def _peer(argument: str, place: Path, dsn: str) -> list[float]:
    queries = json.loads((place / "questions.json").read_text("utf-8"))
    call: Callable[[int], tuple[str, dict[str, object]]] = lambda number: (  # noqa: E731
        "tools/call",
        {"name": "search_chunks", "arguments": {"query": queries[number % len(queries)], "top_k": 5}},
    )
    with running_server(PEERS_PYTHON, STORES, argument, str(place), dsn) as port:
        milliseconds(port, 1, 3, call)
        return milliseconds(port, 1, CALLS, call)
