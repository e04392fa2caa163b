"""Pages and strings to chunks, and which rules the chunks keep."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.comparison import data
from benchmarks.comparison.chunk_rules import Broken, Cut, broken
from benchmarks.comparison.measure import PEERS_PYTHON, SAKUIN, Row, Run, Section, by_turns, rows
from benchmarks.comparison.worker import Worker

SIZE = 1000
QUESTIONS = 40
TOKENIZER = "Sudachi alone"


@dataclass(frozen=True, slots=True)
class _Workers:
    """The processes of Sakuin's releases and of the peers. `folder` takes the data that they share."""

    own: dict[str, Worker]
    peers: Worker
    folder: Path

    def measured(self, name: str, work: str, texts: Sequence[str]) -> list[Row]:
        """Gives the same work on these texts to everybody."""
        self.file(name).write_text(json.dumps(texts), "utf-8")
        results: dict[str, Any] = {}

        def contestant(who: str) -> Callable[[], float]:
            def once() -> float:
                done = self.do(who, work, name)
                results[who] = done.result if isinstance(done.result, dict) else {"chunks": done.result}
                # Of the process: on a busy machine, others' work is no part of it.
                return done.processor * 1000

            return once

        settings = self.peers.do("names").result.get(name, {TOKENIZER: "the same dictionary, split mode A"})
        return rows(by_turns({who: contestant(who) for who in [*self.own, *settings]}), settings, results)

    def do(self, who: str, work: str, name: str) -> Any:
        """Lets one of them work on the data of this name."""
        if who == TOKENIZER:
            return self.own[SAKUIN].do("tokenize", file=str(self.file(name)))
        if who in self.own:
            return self.own[who].do(work, file=str(self.file(name)))
        return self.peers.do(work, name=who, file=str(self.file(name)))

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def sections(run: Run) -> Iterator[Section]:
    """Yields pages, strings with the rules that their chunks keep, and questions beside what splits them into words."""
    module = "benchmarks.comparison"
    with ExitStack() as running:
        own = {
            name: running.enter_context(closing(Worker(run.python, f"{module}.own", path)))
            for name, path in run.own.items()
        }
        peers = running.enter_context(closing(Worker(PEERS_PYTHON, f"{module}.peers.chunkers")))
        workers = _Workers(own, peers, run.place("chunking"))
        yield _pages(workers, data.pages(run.data), has_folder=run.data is not None)
        yield _strings(workers, data.strings())
        texts = [data.large_string(number)[30:60] for number in range(QUESTIONS)]
        remark = f"{QUESTIONS}; no peer analyzes them, and Sudachi alone splits them into words only."
        measured = workers.measured("questions", "analyze", texts)
        yield Section("questions", "Questions to words", remark, "ms of the processor", measured)


def _pages(workers: _Workers, texts: Sequence[str], *, has_folder: bool) -> Section:
    remark = (
        f"{len(texts)} pages, {sum(map(len, texts)):,} characters: the samples, {data.GENERATED_PAGES} generated"
        f"{' and a folder' if has_folder else ''}. Sakuin also finds the anchor of each explanation, its type, its "
        "title and what an example illustrates, and leaves out navigation."
    )
    return Section("pages", "Pages to chunks", remark, "ms of the processor", workers.measured("pages", "read", texts))


def _strings(workers: _Workers, texts: Sequence[str]) -> Section:
    remark = (
        f"{len(texts)} strings, {sum(map(len, texts)):,} characters: the sample Table, and generated ones with emoji, "
        "flags, combining signs, CR LF and repetitions. How often a rule is broken: characters at no place of a chunk, "
        "chunks inside another, chunks that are not `text[start:end]` in code points, graphemes cut through, chunks of "
        f"more than {SIZE:,} characters."
    )
    checked = []
    for row in workers.measured("strings", "cut", texts):
        cuts = [[Cut(*each) for each in some] for some in workers.do(row.name, "cuts", "strings").result]
        found = (broken(text, some, size=SIZE) for text, some in zip(texts, cuts, strict=True))
        checked.append(replace(row, more=row.more | asdict(sum(found, Broken()))))
    return Section("strings", "Strings to chunks", remark, "ms of the processor", checked)
