"""How a library gets better by being asked: half of the labels are asked, the other half is measured.

    .venv/bin/python -m tests.general.asked

The sections of asked questions that are not answered first get them among their `learns`, as an owner would write them
after `sakuin learns --questions`. It prints right first and among five of both halves, without `learns` and with those
of the samples.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.general.cached_model import CachedModel
from tests.general.library import indexed

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "asked.sqlite"
HALVES = {"asked": "dev", "measured": "held-out"}
Label = dict[str, Any]
# Material → anchor → items.
Lists = dict[str, dict[str, list[str]]]


def labels() -> Iterator[Label]:
    """Yields the questions in readers' own words that have an answer."""
    for name in ("paraphrases", "knowledge"):
        for line in (ROOT / "tests" / "labels" / f"{name}.jsonl").read_text("utf-8").splitlines():
            label: Label = json.loads(line)
            if label["gold"] and label["category"] in ("paraphrase", "natural"):
                yield label


def measure(folder: Path, lists: Lists, name: str) -> list[Label]:
    """Prints the figures of a library with these `learns`; returns the asked questions that are not answered first."""
    (folder / "learns.yml").write_text(yaml.safe_dump(lists, allow_unicode=True), "utf-8")
    model = CachedModel.in_file(CACHE)
    model.cache.add_recorded()
    with indexed(folder, model) as library:
        found = [(label, [hit.id for hit in library.explain(label["query"]).results]) for label in labels()]
    for half, code in HALVES.items():
        some = [(label, ids) for label, ids in found if label["half"] == code]
        first, five = (sum(not set(ids[:k]).isdisjoint(label["gold"]) for label, ids in some) for k in (1, 5))
        sys.stdout.write(f"{name:24} {half:9} {first / len(some):.3f} {five / len(some):.3f} of {len(some)}\n")
    return [one for one, ids in found if one["half"] == "dev" and set(ids[:1]).isdisjoint(one["gold"])]


def covered(lists: Lists, missed: list[Label]) -> Lists:
    """Returns the `learns` with the missed questions first in those of their sections."""
    result = {material: dict(anchors) for material, anchors in lists.items()}
    for label in missed:
        material, _, anchor = label["gold"][0].rpartition("#")
        items = result.setdefault(material, {}).get(anchor, [])
        result[material][anchor] = [label["query"], *items][:5]
    return result


def main() -> None:
    with TemporaryDirectory() as data:
        folder, written = Path(data), Lists()
        for part in ("junior", "senior"):
            shutil.copytree(ROOT / "samples" / part, folder / part)
            file = folder / part / "learns.yml"
            written |= {f"{part}/{name}": lists for name, lists in yaml.safe_load(file.read_text("utf-8")).items()}
            file.unlink()
        for name, lists in (("no learns", Lists()), ("learns", written)):
            measure(folder, covered(lists, measure(folder, lists, name)), f"{name} and the asked")


if __name__ == "__main__":
    main()
