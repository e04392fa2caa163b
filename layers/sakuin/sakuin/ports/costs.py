"""What the work costs."""

from typing import Protocol


class Meter(Protocol):
    """Numbers for people who look at graphs later. It raises nothing, and nothing depends on it."""

    def count(self, name: str, value: float = 1) -> None:
        """Adds up."""

    def took(self, name: str, milliseconds: float) -> None:
        """How long one thing took."""


class EmbeddingLedger(Protocol):
    """The tokens that indexing has had embedded today; a day begins at 00:00 UTC, for everybody at once."""

    def spent(self) -> int:
        """How many so far."""

    def add(self, tokens: int) -> None:
        """Adds to the day's sum; nothing of it is lost when others add at the same time."""
