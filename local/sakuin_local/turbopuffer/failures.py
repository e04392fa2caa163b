"""Answers that a test asks for instead of the right ones."""

import threading
from dataclasses import dataclass
from typing import Any

from sakuin_local.turbopuffer.refusals import Refused


@dataclass(frozen=True, slots=True)
class Failure:
    """`is_late`: the request is done, and then its answer is lost."""

    status: int
    is_late: bool
    retry_after_ms: int


class Failures:
    """How the next requests fail."""

    def __init__(self) -> None:
        self._waiting: list[Failure] = []
        self._lock = threading.Lock()

    def ask(self, body: Any) -> None:
        """`{"status": 429, "times": 2}` replaces what was asked for; `late` and `retry_after_ms` may be added."""
        if not isinstance(body, dict) or not 400 <= int(body.get("status", 0)) < 600:
            raise Refused("a failure has a status of 400 to 599", status=422)
        failure = Failure(int(body["status"]), bool(body.get("late")), int(body.get("retry_after_ms", 1)))
        with self._lock:
            self._waiting = [failure] * int(body.get("times", 1))

    def next(self) -> Failure | None:
        """How this request fails, if it does."""
        with self._lock:
            return self._waiting.pop() if self._waiting else None
