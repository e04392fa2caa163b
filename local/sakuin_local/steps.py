"""Steps that run in parallel, with a line about each that is done."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from rich.console import Console
from sakuin.texts.catalogue import Texts

from sakuin_local.errors import Stopped

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps, each in its own thread."""

    console: Console
    stop: threading.Event
    texts: Texts

    def start(self, name: str, work: Callable[[], T]) -> "Future[T]":
        """Runs `work` in a daemon thread; it may wait for the futures of earlier steps. The texts have its title."""
        future: Future[T] = Future()

        def run() -> None:
            started = time.monotonic()
            try:
                result = work()
            except BaseException as error:
                future.set_exception(error)
                return
            title = self.texts(f"up.step.{name}")
            self.console.print(f"✓ {title}, {time.monotonic() - started:.1f} s")
            future.set_result(result)

        threading.Thread(target=run, daemon=True).start()
        return future

    def finish(self, futures: "Iterable[Future[Any]]", watch: Callable[[], None] = lambda: None) -> None:
        """Waits for all; raises the first failure, `Stopped`, and at once what `watch` raises: it may be the cause."""
        pending = set(futures)
        while pending:
            if self.stop.is_set():
                raise Stopped("stopped while starting")
            done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
            watch()
            for future in done:
                future.result()
