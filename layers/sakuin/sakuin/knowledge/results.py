"""What indexing led to."""

from dataclasses import dataclass

from sakuin.domain.material_version import Applied


@dataclass(frozen=True, slots=True)
class PageResult:
    """What became of a version of a page, and its cost: `embedded` texts had no vector yet.

    `provisional`: some `learns` wait for a language model that was late.
    """

    applied: Applied
    chunks: int = 0
    embedded: int = 0
    provisional: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """What an event led to; `ignored` says why nothing had to be done, `asked` how many pages are indexed again."""

    material: str | None
    result: PageResult | None = None
    ignored: str | None = None
    asked: int = 0
