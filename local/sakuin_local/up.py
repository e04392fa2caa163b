"""`sakuin up`: from nothing running to an answer, and back to nothing on Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.text import Text

from sakuin_local import samples
from sakuin_local.asking import asked
from sakuin_local.data_folder import claimed
from sakuin_local.errors import LocalError, Stopped
from sakuin_local.reconcile import reconcile
from sakuin_local.samples import load_table, write_settings
from sakuin_local.stack import Stack, running_stack
from sakuin_local.steps import Steps
from sakuin_local.warm import warm_api, warm_mcp
from sakuin_local.welcome import QUESTION, show_answer, show_connection

HOW_OFTEN_S = 0.2


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for; port 0 is a free one, `parameters` are those of the template with other values."""

    data: Path
    port: int = 8787
    fresh: bool = False
    samples: bool = True
    parameters: Mapping[str, str] = field(default_factory=dict)


def up(options: Options, *, output: Console, progress: Console) -> int:
    """Run the stack until a signal comes; the exit code: 0 when it was stopped, 1 when something failed."""
    stop = _stop_on_signals()
    folder = options.data.resolve()
    try:
        with claimed(folder, fresh=options.fresh) as ended:
            if ended:
                progress.print(f"ended what an earlier start left running: {', '.join(ended)}", highlight=False)
            _run(folder, options, stop, output, progress)
    except Stopped:
        progress.print("stopped")
    except LocalError as error:
        progress.print(Text.assemble(("✗ ", "red"), str(error)), soft_wrap=True)
        return 1
    return 0


def _run(folder: Path, options: Options, stop: threading.Event, output: Console, progress: Console) -> None:
    def tell(said: str) -> None:
        progress.print(said, highlight=False, soft_wrap=True)

    with Steps(progress, stop) as steps:
        stack_of_folder = running_stack(folder, steps, port=options.port, given=options.parameters, tell=tell)
        with stack_of_folder as stack:
            api = steps.start("function api", lambda: warm_api(stack))
            if options.samples:
                answer = steps.start("sample pages, a first search", lambda: _first_answer(stack, folder))
                steps.finish([api, answer], watch=stack.programs.check)
            else:
                mcp = steps.start("function mcp", lambda: warm_mcp(stack))
                steps.finish([api, mcp], watch=stack.programs.check)
            # After the pages: both are embedded by the same two cores, and the first answer comes from the pages.
            name = "default project, sample Table" if options.samples else "default project"
            table = steps.start(name, lambda: _projects(stack, folder, samples=options.samples))
            steps.finish([table], watch=stack.programs.check)
            steps.close()
            if options.samples:
                show_answer(output, answer.result())
            show_connection(output, url=stack.url, api_key=stack.api_key)
            output.print(f"ready {stack.url}/mcp", highlight=False, soft_wrap=True)
            if stack.was_killed:
                threading.Thread(target=_reconcile, args=(stack, tell), daemon=True).start()
            while not stop.wait(HOW_OFTEN_S):
                stack.parts.revive(tell)
            progress.print("stopping …")


def _reconcile(stack: Stack, tell: Callable[[str], None]) -> None:
    try:
        tell(reconcile(stack.environment))
    except LocalError as error:
        tell(str(error))


def _projects(stack: Stack, folder: Path, *, samples: bool) -> None:
    write_settings(stack, folder, load_table(stack, folder, samples=samples))


def _first_answer(stack: Stack, folder: Path) -> dict[str, Any]:
    samples.load(stack, folder)
    return asked(stack, QUESTION)


def _stop_on_signals() -> threading.Event:
    """Set by Ctrl-C and its like; installed before anything is started."""
    stop = threading.Event()
    handler: Callable[[int, FrameType | None], None] = lambda *_: stop.set()  # noqa: E731 - its type is the point
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, handler)
    return stop
