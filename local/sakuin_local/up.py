"""`sakuin up`: starts the stack, makes the first calls, shows what a person needs, and stops everything on Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
from rich.console import Console
from rich.text import Text
from sakuin_cli.commands.search import show_answer

from sakuin_local import samples
from sakuin_local.data_folder import claimed
from sakuin_local.errors import LocalError, Stopped
from sakuin_local.reconcile import reconcile
from sakuin_local.samples import load_table, write_settings
from sakuin_local.stack import Stack, running_stack
from sakuin_local.steps import Steps

QUESTION = "二次方程式を公式で解きたい"
SHOWN = 3
# This revision needs no handshake: one request is a whole conversation.
REVISION = "2025-06-18"
# A function loads its code with its first call.
FIRST_CALL_S = 90
HOW_OFTEN_S = 0.2


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command. Port 0 is a free one; `pages` are those of the library instead of the samples.

    `parameters` override those of the template.
    """

    data: Path
    port: int = 8787
    fresh: bool = False
    samples: bool = True
    pages: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


def up(options: Options, *, output: Console, progress: Console) -> int:
    """Runs the stack until a signal comes; returns the exit code: 0 when it was stopped, 1 when something failed."""
    stop = _stop_on_signals()
    folder = options.data.resolve()
    try:
        with claimed(folder, fresh=options.fresh) as ended:
            if ended:
                progress.print(f"ended programs of an earlier run: {', '.join(ended)}")
            _run(folder, options, stop, output, progress)
    except Stopped:
        progress.print("stopped")
    except LocalError as error:
        progress.print(Text.assemble(("✗ ", "red"), str(error)))
        return 1
    return 0


def _run(folder: Path, options: Options, stop: threading.Event, output: Console, progress: Console) -> None:
    with Steps(progress, stop) as steps:
        started = running_stack(folder, steps, port=options.port, given=options.parameters, show=progress.print)
        with started as stack:
            api = steps.start("function api", lambda: _call(stack, "GET", "/healthz", expected=200))
            if options.samples:
                answer = steps.start("sample pages, first search", lambda: _first_answer(stack, folder))
                steps.finish([api, answer], watch=stack.programs.check)
            else:
                # Without a key the function itself answers 401.
                mcp = steps.start("function mcp", lambda: _call(stack, "POST", "/mcp", expected=401))
                steps.finish([api, mcp], watch=stack.programs.check)
            if (pages := options.pages) is not None:
                pushed = steps.start(f"pages of {pages}", lambda: samples.load_pages(stack, pages, folder))
                steps.finish([pushed], watch=stack.programs.check)
                if failure := pushed.result():
                    progress.print(Text.assemble(("! ", "yellow"), failure))
            # After the pages: the same two cores embed both, and the first answer comes from the pages.
            name = "default project, sample Table" if options.samples else "default project"
            table = steps.start(name, lambda: _projects(stack, folder, samples=options.samples))
            steps.finish([table], watch=stack.programs.check)
            steps.close()
            if options.samples:
                _show_answer(output, answer.result())
            _show_connection(output, stack)
            _show_console(output, stack, folder)
            output.print(f"ready {stack.url}/mcp")
            if stack.was_killed:
                threading.Thread(target=_reconcile, args=(stack, progress.print), daemon=True).start()
            while not stop.wait(HOW_OFTEN_S):
                stack.parts.revive(progress.print)
            progress.print("stopping …")


def _reconcile(stack: Stack, show: Callable[[str], None]) -> None:
    try:
        show(reconcile(stack.environment))
    except LocalError as error:
        show(str(error))


def _projects(stack: Stack, folder: Path, *, samples: bool) -> None:
    write_settings(stack, folder, load_table(stack, folder, samples=samples))


def _first_answer(stack: Stack, folder: Path) -> dict[str, Any]:
    """Loads the samples and asks a first question, as an agent does."""
    samples.load(stack, folder)
    tool = {"name": "search_knowledge", "arguments": {"query": QUESTION}}
    headers = {
        "Authorization": f"Bearer {stack.api_key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    answer = _call(stack, "POST", "/mcp", expected=200, json=request, headers=headers)
    result = answer.json().get("result", {})
    if result.get("isError", True):
        raise LocalError(f"the first search failed: {answer.text[:1000]}\nsee logs/emulator.log in the data folder")
    structured: dict[str, Any] = result["structuredContent"]
    return structured


def _call(stack: Stack, method: str, path: str, *, expected: int, **request: Any) -> httpx.Response:
    """Returns the answer of the HTTP API; another status than the expected one is an error."""
    answer = httpx.request(method, f"{stack.url}{path}", timeout=FIRST_CALL_S, trust_env=False, **request)
    if answer.status_code != expected:
        raise LocalError(
            f"{method} {path} answered {answer.status_code} instead of {expected}: {answer.text[:1000]}\n"
            "see logs/emulator.log in the data folder"
        )
    return answer


def _show_answer(console: Console, answer: Mapping[str, Any]) -> None:
    """Prints the best results."""
    console.print(Text.assemble("\nAn agent that asks ", (f'"{QUESTION}"', "bold"), " gets:\n"))
    show_answer(console, {**answer, "results": answer["results"][:SHOWN]})


def _show_connection(console: Console, stack: Stack) -> None:
    """Prints the command that connects Claude Code, on one line."""
    line = f'claude mcp add --transport http sakuin {stack.url}/mcp --header "Authorization: Bearer {stack.api_key}"'
    console.print("Connect Claude Code:\n")
    console.print(line)
    console.print()


def _show_console(console: Console, stack: Stack, folder: Path) -> None:
    """Prints a link that signs in to the console as an admin, and how to sign in as a user."""
    asked = {"Authorization": f"Bearer {stack.environment['SAKUIN_ADMIN_KEY']}"}
    link = _call(stack, "POST", "/v1/console-links", expected=201, headers=asked).json()
    console.print(f"Open the console (this link signs you in once):\n\n{stack.url}{link['path']}\n")
    user = f"{stack.environment['SAKUIN_USER_EMAIL']} with SAKUIN_USER_PASSWORD of {folder / 'env'}"
    console.print(f"or sign in there as a user: {user}\n")


def _stop_on_signals() -> threading.Event:
    """Returns the event that Ctrl-C and similar signals set. Call it before anything starts."""
    stop = threading.Event()
    handler: Callable[[int, FrameType | None], None] = lambda *_: stop.set()  # noqa: E731 - the annotation is needed
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, handler)
    return stop
