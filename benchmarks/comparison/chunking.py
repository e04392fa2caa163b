"""Pages and strings to chunks, and which rules the chunks keep; Sakuin's release before is among the contestants."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.comparison import data
from benchmarks.comparison.chunk_rules import Broken, Cut, broken
from benchmarks.comparison.measure import Contestant, Section, by_turns, rows
from benchmarks.comparison.worker import Worker

SIZE = 1000
QUESTIONS = 40


@dataclass(frozen=True, slots=True)
class Chunking:
    """The workers of one run: Sakuin's by release, and the peers'. `folder` takes the data that they share."""

    own: dict[str, Worker]
    peers: Worker
    folder: Path
    more_pages: Path | None = None

    def sections(self) -> list[Section]:
        """Returns the answers of all three questions."""
        return [self.pages(), self.strings(), self.questions()]

    def pages(self) -> Section:
        """HTML to chunks."""
        texts = data.pages(self.more_pages)
        results = self._measured("pages", "read", texts)
        remark = (
            f"{len(texts)} pages, {sum(map(len, texts)):,} characters: the samples, {data.GENERATED_PAGES} generated"
            f"{' and a folder' if self.more_pages else ''}. Sakuin also finds the anchor of each explanation, its "
            "type, its title and what an example illustrates, and leaves out navigation."
        )
        return replace(results, title="Pages to chunks", remark=remark)

    def strings(self) -> Section:
        """Strings to chunks, and the rules that these keep."""
        texts = data.strings()
        section = self._measured("strings", "cut", texts)
        file = str(self.folder / "strings.json")
        checked = [
            replace(row, more=row.more | asdict(_broken(texts, self._cuts(row.name, file)))) for row in section.rows
        ]
        remark = (
            f"{len(texts)} strings, {sum(map(len, texts)):,} characters: the sample Table, and generated ones with "
            "emoji, flags, combining signs and CR LF. How often a rule is broken: characters at no place of a chunk, "
            "chunks inside another, chunks that are not `text[start:end]` in code points, graphemes cut through, chunks "
            f"of more than {SIZE:,} characters."
        )
        return replace(section, title="Strings to chunks", remark=remark, rows=checked)

    def questions(self) -> Section:
        """The analysis of a question, beside the release before alone: no peer does it."""
        texts = [data.large_string(number)[30:60] for number in range(QUESTIONS)]
        section = self._measured("questions", "analyze", texts)
        return replace(section, title="Questions to words", remark=f"{QUESTIONS} questions; no peer analyzes them.")

    def _measured(self, name: str, work: str, texts: list[str]) -> Section:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(texts), "utf-8")
        results: dict[str, Any] = {}

        def run(contestant: str, worker: Worker, **arguments: str) -> Callable[[], float]:
            def once() -> float:
                done = worker.do(work, file=str(file), **arguments)
                results[contestant] = done.result if isinstance(done.result, dict) else {"chunks": done.result}
                # Of the process: on a busy machine, others' work is no part of it.
                return done.processor * 1000

            return once

        settings = self.peers.do("names").result.get(name, {})
        contestants = [Contestant(own, "", run(own, worker)) for own, worker in self.own.items()]
        contestants += [Contestant(peer, said, run(peer, self.peers, name=peer)) for peer, said in settings.items()]
        times = by_turns(contestants)
        return Section(name, name, "", "ms of the processor", rows(times, settings, results))

    def _cuts(self, name: str, file: str) -> list[list[Cut]]:
        worker, named = (self.own[name], {}) if name in self.own else (self.peers, {"name": name})
        return [[Cut(*each) for each in text] for text in worker.do("cuts", file=file, **named).result]


def _broken(texts: list[str], cuts: list[list[Cut]]) -> Broken:
    return sum((broken(text, some, size=SIZE) for text, some in zip(texts, cuts, strict=True)), Broken())
