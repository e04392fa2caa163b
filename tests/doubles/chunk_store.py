"""Stores of chunks that do what a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sakuin.tables.nodes import Found


@dataclass
class WatchedStore:
    """A store that calls a function once, right before or after a method, by the method's name."""

    real: Any
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    after: dict[str, Callable[[], None]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)

        def called(*arguments: Any, **named: Any) -> Any:
            self.before.pop(name, _nothing)()
            result = method(*arguments, **named)
            self.after.pop(name, _nothing)()
            return result

        return called


@dataclass
class SayingStore:
    """A store whose every search finds what the test says."""

    found: Found

    def search(self, namespace: str, **asked: Any) -> Found:
        return self.found


def _nothing() -> None:
    pass
