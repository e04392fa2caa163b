"""How a recording is kept: one JSON file for each kind of answer, written so that it diffs well."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.golden.compare import RANKING

RECORDED = Path(__file__).parent / "recorded"
WIDTH = 160
# An entry of these is one line, however long.
_ON_ONE_LINE = frozenset({"ids", "knowledge", "tables", "rows"})
# Ids in the rankings of these are kept as codes, which `ids.json` explains: a ranking may have fifty.
_CODED = frozenset({"knowledge", "tables"})

Entries = dict[str, Any]


def write(folder: Path, kind: str, entries: Mapping[str, Any]) -> None:
    """Writes the answers of a kind."""
    if kind in _CODED:
        ids = {entry: None for answer in entries.values() for entry in answer.get(RANKING, {})}
        codes = _codes(_read(folder, "ids"), kind[0], ids)
        _write(folder, "ids", codes)
        by_id = {id: code for code, id in codes.items()}
        entries = {name: _renamed(answer, by_id) for name, answer in entries.items()}
    _write(folder, kind, entries)


def read(folder: Path, kind: str) -> Entries:
    """Reads the recorded answers of a kind; none where nothing was recorded."""
    entries = _read(folder, kind)
    if kind not in _CODED:
        return entries
    ids = _read(folder, "ids")
    return {name: _renamed(answer, ids) for name, answer in entries.items()}


def _codes(known: Mapping[str, str], prefix: str, ids: Iterable[str]) -> dict[str, str]:
    """Returns the known codes, and a code for each id that had none."""
    new = sorted(set(ids) - set(known.values()))
    first = 1 + sum(code.startswith(prefix) for code in known)
    return {**known, **{f"{prefix}{number}": id for number, id in enumerate(new, first)}}


def _renamed(answer: Mapping[str, Any], names: Mapping[str, str]) -> Entries:
    if RANKING not in answer:
        return dict(answer)
    return {**answer, RANKING: {names.get(id, id): score for id, score in answer[RANKING].items()}}


def _write(folder: Path, kind: str, entries: Mapping[str, Any]) -> None:
    width = None if kind in _ON_ONE_LINE else WIDTH
    written = ",\n".join(f"{_one_line(name)}: {_pretty(entry, width, 1)}" for name, entry in entries.items())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}.json").write_text(f"{{\n{written}\n}}\n", encoding="utf-8")


def _read(folder: Path, kind: str) -> Entries:
    file = folder / f"{kind}.json"
    entries: Entries = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return entries


def _pretty(value: Any, width: int | None, depth: int) -> str:
    """Writes JSON on one line where it fits, else a member on each line."""
    text = _one_line(value)
    if width is None or len(text) + depth <= width or not value or not isinstance(value, dict | list):
        return text
    start, end = "\n" + " " * depth, "\n" + " " * (depth - 1)
    if isinstance(value, dict):
        parts = [f"{_one_line(name)}: {_pretty(each, width, depth + 1)}" for name, each in value.items()]
        return "{" + start + f",{start}".join(parts) + end + "}"
    return "[" + start + f",{start}".join(_pretty(each, width, depth + 1) for each in value) + end + "]"


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
