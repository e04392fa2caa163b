"""What happens when many pages or Tables arrive within an hour: a model, and a simulation of its queues.

`python -m benchmarks.scale` writes docs/scale.md; `… measure` prints the processor time of messages, `… local [PAGES]`
how long pages take on a stack of its own. The assumptions are in scale.toml.
"""

import re
import sys
import time
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import simpy
from sakuin.limits import Limits
from sakuin.platform.openai.models import VENDORS
from sakuin.tables.index_table import CHUNKS_A_MESSAGE
from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY, TEMPLATE

from benchmarks.__main__ import running_stack
from benchmarks.comparison.freshness import ONE_RULE
from benchmarks.comparison.indexing_again import own_pages
from benchmarks.stack import Stack, quantile
from benchmarks.table_stack import large_string, running

PAGE = REPOSITORY / "docs" / "scale.md"
HOUR, DAY = 3_600.0, 86_400.0
# MB of memory with which a function of Lambda has one processor.
_MB_A_PROCESSOR = 1_769
_EMBED_MEMORY = 1_024
_MOST_RECEIPTS = 500
RUNS = 3
TABLE_BEGINS = "| ---: | ---: | ---: |\n"


def _toml(path: Traversable) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


ASSUMED = _toml(Path(__file__).with_suffix(".toml"))
_WORK = _toml(REPOSITORY / "tests" / "wiring" / "limits_of_work.toml")
_COST = (REPOSITORY / "docs" / "reference" / "cost.md").read_text("utf-8")
# Prices and figures.
FIGURES = {name: float(value.replace(",", "")) for name, value in re.findall(r"\| `(\w+)` \| ([\d.,e-]+) \|", _COST)}
ENTRY_SECONDS = ASSUMED["request_seconds"]["entry"]
_PARAMETERS = read_template(TEMPLATE)["Parameters"]


def parameter(name: str) -> str:
    """Returns the default of a parameter of template.yaml."""
    return str(_PARAMETERS[name]["Default"])


@dataclass(frozen=True, slots=True)
class Stage:
    """A queue, the setting that raises its workers, and what a message needs.

    That is seconds of a worker alone and of Postgres, tokens, and entries in a namespace's log.
    """

    setting: str
    workers: int
    memory: int
    own_seconds: float
    postgres_seconds: float
    tokens: float
    commits: int

    @property
    def seconds(self) -> float:
        return self.own_seconds + self.postgres_seconds


@dataclass(frozen=True, slots=True)
class Load:
    """Pages or Tables that arrive within `arrival` seconds.

    Each has one message in the first stage, and `messages` in the last.
    """

    name: str
    units: int
    messages: int
    chunks: int
    bytes: float
    stages: Sequence[Stage]
    tokens_a_minute: float
    daily_tokens: float
    processors: int
    arrival: float = HOUR

    def sums(self, what: str) -> float:
        """Returns the sum of a member of the stages over all their messages."""
        return sum(float(getattr(stage, what)) * count for stage, count in self.counted())

    def counted(self) -> Iterator[tuple[Stage, int]]:
        """Yields each stage with the number of its messages."""
        for stage in self.stages:
            yield stage, self.units * (self.messages if stage is self.stages[-1] else 1)

    def stations(self) -> dict[str, float]:
        """Returns the seconds that each station would need alone, by what moves it."""
        tokens = self.sums("tokens")
        days = ceil(tokens / self.daily_tokens) - 1 if self.daily_tokens else 0
        rest = (tokens - days * self.daily_tokens) / self.tokens_a_minute * 60
        return {stage.setting: count * stage.seconds / stage.workers for stage, count in self.counted()} | {
            "OpenAI's tokens a minute": tokens / self.tokens_a_minute * 60,
            "`embedding_daily_tokens`": days * DAY + rest if days else 0.0,
            "the instance of Postgres": self.sums("postgres_seconds") / self.processors,
            # Writes that wait share the next entry.
            "entries of a namespace": self.sums("commits") / self.units / self.stages[-1].workers * ENTRY_SECONDS,
        }

    def finish(self) -> float:
        """Returns the seconds until everything is searchable."""
        slowest = max(self.stations().values())
        return max(self.arrival, slowest) + sum(stage.seconds for stage in self.stages)

    def dollars(self) -> float:
        """Returns what the work costs once, with `learns` of authors or rules."""
        prices: dict[str, float] = {model["name"]: model["usd_read"] for model in _toml(VENDORS)["model"]}
        gigabytes = sum(count * stage.seconds * stage.memory / 1024 for stage, count in self.counted())
        messages = sum(count for _, count in self.counted())
        s3 = self.units * (FIGURES["s3_writes"] + 2 * FIGURES["s3_reads"]) / 1e3
        requests = messages * (FIGURES["lambda_requests"] + 3 * FIGURES["sqs"]) / 1e6
        embedding = self.sums("tokens") * prices[parameter("EmbeddingModel")] / 1e6
        return embedding + gigabytes * FIGURES["lambda_gb_seconds"] + s3 + requests


@dataclass
class Simulation:
    """The queues, workers and limits of a load, event by event. `waits` has the seconds of each page or Table."""

    load: Load
    env: simpy.Environment = field(default_factory=simpy.Environment)
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(28))
    waits: list[float] = field(default_factory=list)
    # When a namespace has its next entry, when OpenAI accepts the next token, and the tokens of each day.
    entries: dict[int, float] = field(default_factory=dict)
    next_token: float = 0.0
    spent: dict[int, float] = field(default_factory=dict)

    def run(self) -> tuple[float, float]:
        """Returns the seconds until everything is searchable, and the 95th percentile of the waits."""
        self.postgres = simpy.Resource(self.env, self.load.processors)
        self.left = [self.load.messages] * self.load.units
        queues: list[Any] = [simpy.Store(self.env) for _ in self.load.stages]
        for stage, (queue, following) in zip(self.load.stages, pairwise([*queues, None]), strict=True):
            for _ in range(stage.workers):
                self.env.process(self._work(stage, queue, following))
        self.env.process(self._arrive(queues[0]))
        self.env.run()
        return self.env.now, quantile(self.waits, 0.95)

    def _arrive(self, queue: simpy.Store) -> Generator[simpy.Event, Any, None]:
        for unit, at in enumerate(np.sort(self.chance.random(self.load.units)) * self.load.arrival):
            yield self.env.timeout(float(at) - self.env.now)
            queue.put((unit, float(at)))

    def _work(self, stage: Stage, queue: Any, following: Any) -> Generator[simpy.Event, Any, None]:
        while True:
            unit, arrived = yield queue.get()
            yield self.env.timeout(stage.own_seconds * self.chance.gamma(4, 0.25))
            if stage.tokens:
                yield from self._embed(stage)
            if stage.commits:
                yield self.env.timeout(max(0.0, self.entries.get(unit, 0.0) - self.env.now))
                self.entries[unit] = self.env.now + ENTRY_SECONDS
            with self.postgres.request() as turn:
                yield turn
                yield self.env.timeout(stage.postgres_seconds)
            for _ in range(self.load.messages if following else 0):
                following.put((unit, arrived))
            self.left[unit] -= not following
            if not self.left[unit]:
                self.waits.append(self.env.now - arrived)

    def _embed(self, stage: Stage) -> Generator[simpy.Event, Any, None]:
        # All messages wait for the next day, so it does not matter that a worker does, too.
        while self.load.daily_tokens and self.spent.get(self._day(), 0.0) >= self.load.daily_tokens:
            yield self.env.timeout((self._day() + 1) * DAY - self.env.now)
        self.spent[self._day()] = self.spent.get(self._day(), 0.0) + stage.tokens
        begin = max(self.env.now, self.next_token)
        self.next_token = begin + stage.tokens * 60 / self.load.tokens_a_minute
        yield self.env.timeout(begin - self.env.now)

    def _day(self) -> int:
        return int(self.env.now // DAY)


def loads() -> Iterator[Load]:
    """Yields each load of scale.toml with each of its settings."""
    return (_load(load, settings) for load in ASSUMED["loads"] for settings in ASSUMED["settings"])


def _load(load: Mapping[str, Any], settings: Mapping[str, Any]) -> Load:
    def stage(kind: str, work: str, name: str, memory: int, tokens: float) -> Stage:
        counts, measured = _WORK[work], ASSUMED[kind]
        waits = sum(counts.get(vendor, 0) * seconds for vendor, seconds in ASSUMED["request_seconds"].items())
        own = waits + measured["own_seconds"] * max(1.0, _MB_A_PROCESSOR / memory)
        workers = int(settings.get("workers", parameter(name)))
        # One of the requests to turbopuffer writes.
        commits = min(1, counts.get("turbopuffer", 0))
        return Stage(
            f"`{name}`", workers, memory, own, measured["postgres_seconds"], tokens * measured["tokens"], commits
        )

    if "pages" in load:
        chunks, size = int(FIGURES["chunks_a_page"]), FIGURES["database_bytes_a_chunk"]
        tokens = chunks * FIGURES["tokens_a_chunk"]
        stages = [stage("page", "page", "PageWorkers", int(parameter("PageMemory")), tokens)]
    else:
        chunks, size = load["messages"] * CHUNKS_A_MESSAGE, FIGURES["database_bytes_a_table_chunk"]
        tokens = CHUNKS_A_MESSAGE * FIGURES["tokens_a_table_chunk"]
        stages = [
            stage("scan", "scan_of_32_chunks", "ScanWorkers", int(parameter("ScanMemory")), tokens),
            stage("message", "message_of_32_chunks", "EmbedWorkers", _EMBED_MEMORY, tokens),
        ]
    units = load.get("pages") or load["tables"]
    return Load(
        f"{load['name']}, {settings['name']}",
        units,
        load.get("messages", 1),
        units * chunks,
        units * chunks * size,
        stages,
        settings["tokens_a_minute"],
        settings.get("daily_tokens", Limits().embedding_daily_tokens),
        settings["processors"],
        HOUR if units > 1 else 0.0,
    )


def of_the_local_run() -> Load:
    """Returns the load of the local run, whose pages take as long as those of the short runs did."""
    few, many, workers = ASSUMED["local"]["few"], ASSUMED["local"]["many"], int(parameter("PageWorkers"))
    seconds = sum(run["seconds"] for run in few) / sum(run["pages"] for run in few) * workers
    stage = Stage("`PageWorkers`", workers, 0, seconds, 0.0, 0.0, 0)
    return Load("local", many["pages"], 1, many["pages"], 0.0, [stage], 1.0, 0.0, 2, many["arrival"])


def table(simulated: bool = True) -> Iterator[str]:
    """Yields the lines of docs/scale.md; without the columns of the simulation, which takes minutes."""
    for load in loads():
        stations = load.stations()
        first = max(stations, key=lambda name: stations[name])
        cells = [load.name, f"{load.chunks:,}", f"{first}, {duration(stations[first])}", duration(load.finish())]
        cells += map(duration, Simulation(load).run()) if simulated else []
        cells += [f"{load.dollars():,.2f}", f"{load.bytes / 1e9:,.1f}"]
        yield f"| {' | '.join(cells)} |"


def duration(seconds: float) -> str:
    """Returns a time for people."""
    units = ((DAY, "days"), (HOUR, "hours"), (60.0, "minutes"), (0.0, "seconds"))
    size, unit = next((size, unit) for size, unit in units if seconds >= 2 * size)
    return f"{seconds / (size or 1):.1f} {unit}"


def write() -> None:
    """Writes the table of docs/scale.md again."""
    lines = [f"{line}\n" for line in table()]
    before, _, after = PAGE.read_text("utf-8").partition(TABLE_BEGINS)
    PAGE.write_text(before + TABLE_BEGINS + "".join(lines) + re.sub(r"^(\|.*\n)*", "", after), "utf-8")


def measure() -> None:
    """Prints the processor seconds of a page, a scan and a message: of the worker, of Postgres with PostgREST."""
    files = {file.name: file.read_text("utf-8") for file in (REPOSITORY / "samples").rglob("*.html")}
    with own_pages() as put:
        for run in range(RUNS):
            texts = {f"{run}/{name}": text for name, text in files.items()}
            _, own, postgres = _measured(put, texts)
            print(f"page     {own / len(files):.3f} {postgres / len(files):.3f}")
    with running() as stack:
        for run in range(RUNS):
            made = stack.table({})
            stack.tool_over(made, "/articles")
            # Each has two chunks.
            strings = [large_string(run * CHUNKS_A_MESSAGE + number) for number in range(CHUNKS_A_MESSAGE // 2)]
            stack.upload(made, {"articles": [{"content": text} for text in strings]})
            messages, own, postgres = _measured(stack.work, ("index", stack.project, made, None, 0))
            print(f"scan     {own:.3f} {postgres:.3f}")
            _, own, postgres = _measured(stack.work, messages[0])
            print(f"message  {own:.3f} {postgres:.3f}")


def _measured(act: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    def spent() -> tuple[float, float]:
        children = [each for each in psutil.Process().children(recursive=True) if each.name().startswith("postg")]
        return time.process_time(), sum(sum(each.cpu_times()[:2]) for each in children)

    before = spent()
    result = act(*arguments)
    own, postgres = (after - began for after, began in zip(spent(), before, strict=True))
    return result, own, postgres


def run_locally(stack: Stack, first: int, pages: int) -> None:
    """Uploads small pages at once and prints when all had arrived, and when all were searchable."""
    headers = {"Authorization": f"Bearer {stack.environment['SAKUIN_ADMIN_KEY']}"}

    def put(number: int) -> dict[str, str]:
        key, body = f"scale/{number}.html", ONE_RULE.format(number=number).encode()
        version = stack.s3.put_object(Bucket=stack.environment["SAKUIN_BUCKET"], Key=key, Body=body)["VersionId"]
        return {"key": key, "version_id": version}

    began = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        waiting = list(pool.map(put, range(first, first + pages)))
    arrived = time.perf_counter() - began
    while waiting:
        time.sleep(0.2)
        answer = stack.http.post("/v1/receipts", headers=headers, json={"versions": waiting[:_MOST_RECEIPTS]})
        applied = {each["key"] for each in answer.json()["receipts"] if each["outcome"] == "applied"}
        waiting = [each for each in waiting if each["key"] not in applied]
    print(f"{pages} pages: arrived after {arrived:.1f} s, searchable after {time.perf_counter() - began:.1f} s")


def main(arguments: Sequence[str]) -> None:
    """Does what the arguments say."""
    match arguments:
        case ["measure"]:
            measure()
        case ["local", *pages]:
            with running_stack() as folder:
                for run, count in enumerate((100, int(pages[0]) if pages else 1000, 100)):
                    run_locally(Stack(folder), run * 10_000, count)
        case _:
            write()


if __name__ == "__main__":
    main(sys.argv[1:])
