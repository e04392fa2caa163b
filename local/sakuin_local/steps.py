"""Things that start side by side, shown to the person who waits."""

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
    """Steps in threads of their own; a terminal sees a spinner a step, a file a line a step."""

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
        """Stop drawing, so that what is printed next stays in place."""
        self._progress.stop()

    def start(self, title: str, work: Callable[[], T]) -> "Future[T]":
        """Do it in a thread that ends with the program; it may wait for the futures of earlier steps."""
        future: Future[T] = Future()
        task = self._progress.add_task(title, total=1)
        threading.Thread(target=self._do, args=(title, task, work, future), daemon=True).start()
        return future

    def finish(self, futures: "Iterable[Future[Any]]", watch: Callable[[], None] = lambda: None) -> None:
        """Wait for all; the first failure is raised at once, as are a wish to stop and what `watch` raises."""
        pending = set(futures)
        while pending:
            if self._stop.is_set():
                raise Stopped("stopped while starting")
            done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            watch()

    def _do(self, title: str, task: TaskID, work: "Callable[[], T]", future: "Future[T]") -> None:
        begun = time.monotonic()
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
            return
        self._progress.update(task, completed=1)
        if not self._console.is_terminal:
            self._console.print(f"✓ {title}, {time.monotonic() - begun:.1f} s", highlight=False)
        future.set_result(result)
