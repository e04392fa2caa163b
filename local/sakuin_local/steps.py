"""Steps that run in parallel, with their progress on the terminal."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from sakuin_local.errors import Stopped

T = TypeVar("T")


class Steps:
    """Steps, each in its own thread: a spinner per step on a terminal, a line per step in a file."""

    def __init__(self, console: Console, stop: threading.Event) -> None:
        self._console = console
        self._stop = stop
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=False,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> "Steps":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops drawing, so that later output stays in place."""
        self._progress.stop()

    def start(self, title: str, work: Callable[[], T]) -> "Future[T]":
        """Runs `work` in a daemon thread; it may wait for the futures of earlier steps."""
        future: Future[T] = Future()
        task = self._progress.add_task(title, total=1)
        threading.Thread(target=self._do, args=(title, task, work, future), daemon=True).start()
        return future

    def finish(self, futures: "Iterable[Future[Any]]", watch: Callable[[], None] = lambda: None) -> None:
        """Waits for all; raises the first failure, `Stopped` and what `watch` raises at once."""
        pending = set(futures)
        while pending:
            if self._stop.is_set():
                raise Stopped("stopped while starting")
            done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            watch()

    def _do(self, title: str, task: TaskID, work: "Callable[[], T]", future: "Future[T]") -> None:
        started = time.monotonic()
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
            return
        self._progress.update(task, completed=1)
        if not self._console.is_terminal:
            self._console.print(f"✓ {title}, {time.monotonic() - started:.1f} s")
        future.set_result(result)
