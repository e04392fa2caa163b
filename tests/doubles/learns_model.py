"""A language model that says what it was told to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sakuin.errors import Unavailable
from sakuin.knowledge.learns.instructions import Section


@dataclass
class MemoryLearnsModel:
    """A `LearnsModel`. `answers` are items by anchor; `late` makes it miss its time; `groups` are the asked anchors."""

    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    late: bool = False
    groups: list[tuple[str, ...]] = field(default_factory=list)
    name: str = "told/1"

    @property
    def asked(self) -> int:
        """The number of calls."""
        return len(self.groups)

    def learns(self, sections: Sequence[Section]) -> Mapping[str, tuple[str, ...]]:
        self.groups.append(tuple(section.anchor for section in sections))
        if self.late:
            raise Unavailable("The language model gave no usable answer in time", vendor="openai")
        return {section.anchor: self.answers.get(section.anchor, ()) for section in sections}
