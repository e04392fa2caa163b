"""A day's embedding tokens in memory."""

from dataclasses import dataclass


@dataclass
class MemoryLedger:
    """An `EmbeddingLedger`."""

    tokens: int = 0

    def spent(self) -> int:
        return self.tokens

    def add(self, tokens: int) -> None:
        self.tokens += tokens
