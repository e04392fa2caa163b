"""What a change of a large Table, or a look at a part of it, takes of a function's memory.

    python -m benchmarks.patching [MB …]

Each case is a process of its own: the most memory that it held, less what it held before; of a refusal, all that it
held. The document comes from a file and goes into one, as it comes from S3 and goes there.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sakuin.limits import Limits
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.model import PendingUpload, StoredTable, Table, UploadTarget, User

_MEGABYTE = 1_000_000
_SIZES = (10, 50, 100)
_ENGLISH = "A quadratic equation is solved by completing the square, or by the formula. " * 26
_JAPANESE = "二次方程式は平方完成か解の公式で解くことができる。" * 40


def _strings(text: str) -> Callable[[int], object]:
    return lambda size: [{"id": number, "body": text} for number in range(size // (len(text.encode()) + 22))]


def _values(size: int) -> object:
    return [{"x": number, "y": [number, "ab"]} for number in range(size // 36)]


DOCUMENTS: Mapping[str, Callable[[int], object]] = {
    "English": _strings(_ENGLISH),
    "Japanese": _strings(_JAPANESE),
    "with pictographs": _strings(f"{_ENGLISH}\U0001f4d0"),
    "small values": _values,
}


@dataclass(frozen=True, slots=True)
class FileBodies:
    """A `TableBodies` of one folder."""

    folder: Path

    def upload_target(self, key: str, *, seconds: int, size: int) -> UploadTarget:
        raise NotImplementedError

    def read(self, key: str, *, max_bytes: int) -> bytes:
        return (self.folder / "body.json").read_bytes()

    def write(self, key: str, body: bytes) -> None:
        (self.folder / "next.json").write_bytes(body)


class OneTable:
    """As much of `ProjectRecords` as a change of one Table asks for, whose document lies in a folder."""

    table_now = Table("t", "p", "t", 1, None, False)

    def table(self, user: User | None, table_id: str) -> StoredTable:
        return StoredTable(self.table_now, None, "body.json")

    def replace_table(self, user: User | None, table_id: str, *, data: str, expected_version: int | None) -> Table:
        return self.table_now

    def begin_upload(self, user: User | None, table_id: str, *, size: int = 0) -> PendingUpload:
        return PendingUpload("p", table_id, 2)

    def finish_upload(self, table_id: str, upload: int, key: str | None, error: str | None, *, size: int) -> bool:
        return True


def measured(what: str, folder: Path) -> tuple[float, float]:
    """Megabytes and seconds of one change, or one look, at the document that lies in the folder."""
    records: Any = OneTable()
    keep = TableAdmin(records, FileBodies(folder), replace(Limits(), table_bytes=1_000 * _MEGABYTE))
    before, started = _held("VmRSS"), time.process_time()
    if what == "patch":
        operation = {"op": "set", "path": "/0/note", "value": "changed"}
        keep.patch(None, "t", [operation], expected_version=None)
    else:
        keep.node(None, "t", "/0")
    return _held("VmHWM") - before, time.process_time() - started


def _held(line: str) -> float:
    """What Linux says of this process's memory: `VmRSS` now, `VmHWM` at most so far."""
    said = Path("/proc/self/status").read_text(encoding="ascii")
    return int(said.partition(f"{line}:")[2].split()[0]) * 1024 / _MEGABYTE


def main(arguments: list[str]) -> None:
    """Prints a row a case; as its own child, one case."""
    if arguments[:1] == ["case"]:
        try:
            print(*measured(arguments[1], Path(arguments[2])))
        except Exception as error:
            # A refusal is a result.
            print(_held("VmHWM"), 0.0, str(error)[:60])
        return
    print("| document | MB | what | peak MB | s | said |\n|---|---|---|---|---|---|")
    for kind, document in DOCUMENTS.items():
        for size in [int(each) for each in arguments] or _SIZES:
            with tempfile.TemporaryDirectory() as name:
                text = json.dumps(document(size * _MEGABYTE), ensure_ascii=False, separators=(",", ":"))
                (Path(name) / "body.json").write_text(text, encoding="utf-8")
                del text
                for what in ("read", "patch"):
                    case = [sys.executable, "-m", "benchmarks.patching", "case", what, name]
                    said = subprocess.run(case, capture_output=True, text=True, check=True)
                    peak, seconds, *rest = said.stdout.split(maxsplit=2)
                    cells = kind, str(size), what, f"{float(peak):.0f}", f"{float(seconds):.1f}", " ".join(rest).strip()
                    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
