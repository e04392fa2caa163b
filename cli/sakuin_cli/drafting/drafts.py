"""Drafts of `learns`: from a language model if there is one, otherwise from the rules."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sakuin.errors import SakuinError
from sakuin.knowledge.learns.writer import complete_learns, write_learns

from sakuin_cli.drafting.learns_text import Draft
from sakuin_cli.drafting.review import ReviewedLearns

if TYPE_CHECKING:
    from sakuin.knowledge.learns.sources import LearnsModel

# Explanations in a call, as in the index.
LARGEST_GROUP = 6


@dataclass
class DraftWriter:
    """Writes drafts. After a failure of the model the rules write all others; `failure` says why."""

    model: "LearnsModel | None"
    failure: SakuinError | None = field(default=None, init=False)

    def drafts(self, missing: Sequence[ReviewedLearns]) -> dict[str, Draft]:
        """Returns drafts by anchor for explanations of one page."""
        found: dict[str, Draft] = {}
        for group in _groups(missing):
            answers = self._asked(group)
            for one in group:
                anchor = one.explanation.anchor
                if self.model is not None and (items := answers.get(anchor)):
                    name = self.model.name.rpartition("/")[0]
                    found[anchor] = Draft(complete_learns(items, one.explanation, one.page), name)
                else:
                    found[anchor] = Draft(write_learns(one.explanation, one.page), "rules")
        return found

    def _asked(self, group: Sequence[ReviewedLearns]) -> dict[str, tuple[str, ...]]:
        if self.model is None or self.failure is not None:
            return {}
        try:
            return dict(self.model.learns([one.explanation for one in group]))
        except SakuinError as error:
            self.failure = error
            return {}


def _groups(missing: Sequence[ReviewedLearns]) -> Iterator[Sequence[ReviewedLearns]]:
    """Yields groups of nearly equal size."""
    if not missing:
        return
    size = math.ceil(len(missing) / math.ceil(len(missing) / LARGEST_GROUP))
    yield from (missing[start : start + size] for start in range(0, len(missing), size))
