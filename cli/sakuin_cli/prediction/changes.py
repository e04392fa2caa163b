"""The changed elements that take answers from golden questions, with their lines."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from sakuin_cli.prediction.answers import Prediction
from sakuin_cli.prediction.pages import PredictedChunk, PredictedSite
from sakuin_cli.site.sarif import line_of

# removed    the right answer is gone
# changed    the right answer has another text
# outranked  another element, which is new or changed, ranks first
# elsewhere  none of these changed, but what else the index has
Kind = Literal["removed", "changed", "outranked", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Cause:
    """A changed element that takes answers. `path` and `line` are where it is, or was."""

    kind: Kind
    id: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Loss:
    """A cause, and the golden questions whose answers it takes."""

    cause: Cause
    questions: tuple[Prediction, ...]


def losses(
    predictions: Iterable[Prediction], before: PredictedSite, after: PredictedSite, folders: tuple[str, str]
) -> list[Loss]:
    """Returns the causes of all lost answers, in the order of their places. `folders` are those of the two sites."""
    changes = _Changes(before, after, _chunks(before), _chunks(after), folders)
    by_cause: defaultdict[Cause, list[Prediction]] = defaultdict(list)
    for each in predictions:
        if each.is_lost:
            by_cause[changes.cause(each)].append(each)
    ordered = sorted(by_cause.items(), key=lambda item: (item[0].path, item[0].line, item[0].id))
    return [Loss(cause, tuple(some)) for cause, some in ordered]


@dataclass(frozen=True, slots=True)
class _Changes:
    """Two versions of a site, and their elements by id."""

    before: PredictedSite
    after: PredictedSite
    old: Mapping[str, PredictedChunk]
    new: Mapping[str, PredictedChunk]
    folders: tuple[str, str]

    def cause(self, prediction: Prediction) -> Cause:
        was = prediction.before and prediction.before.opened
        now = prediction.after and prediction.after.opened
        if was and was not in self.new:
            return Cause("removed", was, *self._place(was))
        if was and self._differs(was):
            return Cause("changed", was, *self._place(was))
        if now and self._differs(now):
            return Cause("outranked", now, *self._place(now))
        changed = next(filter(self._differs, (*self.new, *self.old)), now or was or "")
        return Cause("elsewhere", changed, *self._place(changed))

    def _differs(self, id: str) -> bool:
        return self.old.get(id) != self.new.get(id)

    def _place(self, id: str) -> tuple[str, int]:
        """Returns file and line of an element; of a removed one, the line of the new file where it was."""
        material, _, anchor = id.rpartition("#")
        page = self.after.pages.get(material)
        if page is not None and id in self.new:
            return page.path, line_of(page.path, anchor)
        if (old := self.before.pages.get(material)) is None:
            return "", 1
        line = line_of(old.path, anchor)
        if page is not None:
            return page.path, _line_after(line, old.path, page.path)
        # The place that a removed page had in the new folder.
        return old.path.replace(*self.folders, 1), line


def _line_after(line: int, before: str, after: str) -> int:
    """Returns the line of the new file that stands where a line of the old file was."""
    old, new = _lines(before), _lines(after)
    for _, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if start < line <= end:
            return min(first + min(line - start, max(1, last - first)), max(1, len(new)))
    return 1


def _chunks(site: PredictedSite) -> dict[str, PredictedChunk]:
    return {chunk.id: chunk for page in site.pages.values() for chunk in page.chunks}


def _lines(path: str) -> Sequence[str]:
    try:
        return Path(path).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
