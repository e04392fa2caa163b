"""Pages and strings to chunks, and which rules the chunks keep."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import regex
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.tables.chunking import chunks

from benchmarks.comparison import data
from benchmarks.comparison.report import SAKUIN, Section, by_turns
from benchmarks.comparison.server import PEERS_PYTHON, Caller, running_server

SIZE = 1000
_GRAPHEME = regex.compile(r"\X")
_SOLID = re.compile(r"\S")
# A chunk, its start and its end as its splitter says them, or None where it says nothing.
Cut = tuple[str, int | None, int | None]


def sections(folder: Path) -> Iterator[Section]:
    """Yields pages, and strings with the rules that their chunks keep."""
    with running_server(PEERS_PYTHON, "peers.frameworks") as port:
        peers = Caller(port)
        yield _pages(peers, data.pages(), folder / "pages.json")
        yield _strings(peers, data.strings(), folder / "strings.json")


def _pages(peers: Caller, texts: Sequence[str], file: Path) -> Section:
    encoded = [text.encode() for text in texts]

    def read() -> dict[str, int]:
        items = [item for html in encoded for item in read_page(html).explanations]
        anchors = sum(bool(item.anchor) for item in items)
        return {"chunks": len(items), "characters": sum(len(item.content) for item in items), "with an anchor": anchors}

    remark = (
        f"{len(texts)} pages, {sum(map(len, texts)):,} characters: the samples, and "
        f"{data.GENERATED_PAGES} generated. Sakuin also finds the anchor of each explanation, its type, its title and "
        "what an example illustrates, and leaves out navigation."
    )
    file.write_text(json.dumps(texts), "utf-8")
    return _section("Pages to chunks", remark, peers, "pages", file, read)


def _strings(peers: Caller, texts: Sequence[str], file: Path) -> Section:
    def cut() -> dict[str, int]:
        lengths = [len(piece.text) for text in texts for piece in chunks(text)]
        return {"chunks": len(lengths), "characters": sum(lengths)}

    remark = (
        f"{len(texts)} strings, {sum(map(len, texts)):,} characters: the sample Table, and generated ones with emoji, "
        "flags, combining signs, CR LF and repetitions. How often a rule is broken: characters in no chunk with a true "
        "place, chunks inside another, chunks that are not `text[start:end]` in code points, graphemes cut through, "
        f"chunks of more than {SIZE:,} characters."
    )
    file.write_text(json.dumps(texts), "utf-8")
    section = _section("Strings to chunks", remark, peers, "strings", file, cut)
    for name, columns in section.more.items():
        if name == SAKUIN:
            pieces: Any = [[(piece.text, piece.char_start, piece.char_end) for piece in chunks(text)] for text in texts]
        else:
            pieces = peers.call("cuts", {"name": name, "file": str(file)})["result"]
        for text, of_text in zip(texts, pieces, strict=True):
            for rule, times_broken in broken(text, of_text, size=SIZE).items():
                columns[rule] = columns.get(rule, 0) + times_broken
    return section


def _section(
    title: str, remark: str, peers: Caller, kind: str, file: Path, work: Callable[[], dict[str, int]]
) -> Section:
    """Compares processor times: on a busy machine, other programs are no part of them."""
    settings = peers.call("settings", {"kind": kind})
    counts: dict[str, dict[str, Any]] = {}

    def own() -> float:
        began = time.process_time()
        counts[SAKUIN] = dict(work())
        return (time.process_time() - began) * 1000

    def peer(name: str) -> Callable[[], float]:
        def split() -> float:
            counts[name] = peers.call("split", {"kind": kind, "name": name, "file": str(file)})
            return float(counts[name].pop("milliseconds"))

        return split

    times = by_turns({SAKUIN: own} | {name: peer(name) for name in settings})
    return Section(title, remark, "ms of the processor", times, settings, counts)


def broken(text: str, cuts: Sequence[Cut], *, size: int) -> Counter[str]:
    """Compares the chunks of a string with it; returns how often the rules are broken.

    `lost` are characters, but for white space, in no chunk with a true place. `inside` are chunks that another one
    contains. `unplaced` are chunks that are not `text[start:end]` in code points, or not behind the start of the chunk
    before. `graphemes` are cut through. `long` are chunks of more than `size`.
    """
    spans: list[tuple[int, int]] = []
    for chunk, start, end in cuts:
        before = spans[-1][0] if spans else -1
        if start is not None and end is not None and start > before and text[start:end] == chunk:
            spans.append((start, end))
    kept = bytearray(len(text))
    for start, end in spans:
        kept[start:end] = b"\1" * (end - start)
    places = {match.start() for match in _GRAPHEME.finditer(text)} | {len(text)}
    return Counter(
        lost=sum(not kept[match.start()] for match in _SOLID.finditer(text)),
        inside=_inside(spans),
        unplaced=len(cuts) - len(spans),
        graphemes=sum(place not in places for span in spans for place in span),
        long=sum(len(chunk) > size for chunk, _, _ in cuts),
    )


def _inside(spans: Sequence[tuple[int, int]]) -> int:
    count, furthest = 0, -1
    for _, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        count += end <= furthest
        furthest = max(furthest, end)
    return count
