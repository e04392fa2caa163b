"""`sakuin up`: starts the stack, makes the first calls, shows what a person needs, and stops everything on Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
from rich.console import Console
from rich.text import Text
from sakuin.errors import SakuinError
from sakuin_cli.agent import AgentClient
from sakuin_cli.commands.search import show_answer
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings
from sakuin_cli.terminal import Terminal

from sakuin_local import samples
from sakuin_local.data_folder import claimed
from sakuin_local.errors import LocalError, ServiceDied, Stopped
from sakuin_local.samples import load_table, write_settings
from sakuin_local.stack import STACK, FrontDoor, Stack, running_stack
from sakuin_local.steps import Steps
from sakuin_local.vendors import VectorSource

QUESTION = "二次方程式を公式で解きたい"
SHOWN = 3
# A function loads its code with its first call.
FIRST_CALL_S = 90
HOW_OFTEN_S = 0.2
FAILURES_SHOWN_S = 3.0
RUNS_AGAIN = "the stack runs again"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command. Port 0 is a free one; `pages` are those of the library instead of the samples.

    `parameters` override those of the template. `vectors` is the deployment whose model embeds, None is that of here.
    """

    data: Path
    port: int = 8787
    fresh: bool = False
    samples: bool = True
    pages: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    vectors: VectorSource | None = None


def up(options: Options, *, output: Terminal, progress: Console) -> int:
    """Runs the stack until a signal comes; returns the exit code: 0 when it was stopped, 1 when something failed.

    If one of its programs ends, all are restarted, as after a kill of the command itself.
    """
    stop = _stop_on_signals()
    folder = options.data.resolve()
    try:
        with claimed(folder, fresh=options.fresh) as ended, FrontDoor().served(options.port) as front:
            if ended:
                progress.print(f"ended programs of an earlier run: {', '.join(ended)}")
            runs = _Runs(folder, options, stop, output, progress, front)
            try:
                while not stop.is_set():
                    _run(runs)
            finally:
                (folder / "env").unlink(missing_ok=True)
    except Stopped:
        progress.print("stopped")
    except LocalError as error:
        progress.print(Text.assemble(("✗ ", "red"), str(error)))
        return 1
    return 0


def _run(runs: "_Runs") -> None:
    try:
        runs.run()
    except ServiceDied as death:
        # A restart does not help a stack that has never run.
        if runs.is_first:
            raise
        runs.progress.print(f"{death}\nrestarting the stack")


@dataclass(slots=True)
class _Runs:
    """Runs of the stack, one after the other; only the first one shows what a person needs."""

    folder: Path
    options: Options
    stop: threading.Event
    output: Terminal
    progress: Console
    front: FrontDoor
    is_first: bool = True

    def run(self) -> None:
        """Runs the stack until it is stopped; raises `ServiceDied` if one of its programs ends."""
        folder, options, progress = self.folder, self.options, self.progress
        given = {**_of_model(options.vectors), **options.parameters}
        steps = Steps(progress, self.stop)
        started = running_stack(folder, steps, self.front.url, given, options.vectors)
        with started as stack, self.front.leads_to(stack):
            answer = self._first_calls(stack, steps)
            if self.is_first:
                if answer:
                    _show_answer(self.output, answer)
                _show_connection(self.output, stack)
                _show_console(self.output, stack, folder)
                self.output.print(f"ready {stack.url}/mcp")
            else:
                progress.print(RUNS_AGAIN)
            self.is_first, ends = False, threading.Event()
            if stack.was_killed:
                threading.Thread(target=_reconcile, args=(stack.environment, progress.print), daemon=True).start()
            threading.Thread(target=_show_failures, args=(stack, ends, progress.print), daemon=True).start()
            try:
                while not self.stop.wait(HOW_OFTEN_S):
                    stack.programs.check()
            finally:
                ends.set()
            progress.print("stopping …")

    def _first_calls(self, stack: Stack, steps: Steps) -> Mapping[str, Any] | None:
        """Waits until the functions and what is to be searched are there; returns the answer from the samples."""
        folder, options, check = self.folder, self.options, stack.programs.check
        api = steps.start("function api", lambda: _call(stack, "GET", "/healthz", expected=200))
        if options.samples:
            mcp: Future[Any] = steps.start("sample pages, first search", lambda: _first_answer(stack, folder))
        else:
            # Without a key the function itself answers 401.
            mcp = steps.start("function mcp", lambda: _call(stack, "POST", "/mcp", expected=401))
        steps.finish([api, mcp], watch=check)
        if (pages := options.pages) is not None:
            pushed = steps.start(f"pages of {pages}", lambda: samples.load_pages(stack, pages))
            steps.finish([pushed], watch=check)
            if failure := pushed.result():
                self.progress.print(Text.assemble(("! ", "yellow"), failure))
        # After the pages: the same two cores embed both, and the first answer comes from the pages.
        name = "default project, sample Table" if options.samples else "default project"
        table = steps.start(name, lambda: _projects(stack, folder, samples=options.samples))
        steps.finish([table], watch=check)
        return mcp.result() if options.samples else None


def _show_failures(stack: Stack, stop: threading.Event, show: Callable[[Text], None]) -> None:
    """Shows a line about each failed invocation, also of the schedule, whose output nobody sees otherwise."""
    from sakuin_local.aws.client import client
    from sakuin_local.aws.failures import FailedInvocations

    failed = FailedInvocations(client(stack.emulator, "logs"), f"/sakuin/{STACK}/")
    while not stop.wait(FAILURES_SHOWN_S):
        for line in failed.lines():
            show(Text.assemble(("! ", "yellow"), line))


def _of_model(vectors: VectorSource | None) -> dict[str, str]:
    """Returns the parameter that names the model of another deployment: the ranking has weights of its own for it."""
    if vectors is None:
        return {}
    from sakuin_local.embeddings.deployment import DeploymentModel
    from sakuin_local.embeddings.refused import Refused

    try:
        return {"EmbeddingModel": DeploymentModel(vectors.url, vectors.key).name()}
    except Refused as error:
        raise LocalError(f"{vectors.url} gives no vectors: {error}") from error


def _reconcile(environment: Mapping[str, str], show: Callable[[str], None]) -> None:
    """Repairs differences between the index and its sources, after the emulator has lost its queues."""
    client = deployment_of(CommandSettings.read(environment))
    try:
        count = sum(len(page) for kind in ("keys", "tables") for page in client.reconcile(kind, dry_run=False))
        show(f"compared the index with its sources: {count} differences repaired")
    except SakuinError as error:
        show(f"the index could not be compared with the bucket: {error}")
    finally:
        client.http.close()


def _projects(stack: Stack, folder: Path, *, samples: bool) -> None:
    write_settings(stack, folder, load_table(stack, folder, samples=samples))


def _first_answer(stack: Stack, folder: Path) -> Mapping[str, Any]:
    """Loads the samples and asks a first question, as an agent does."""
    samples.load(stack, folder)
    try:
        agent = AgentClient(f"{stack.url}/mcp", stack.api_key, FIRST_CALL_S)
        return agent.call("search_knowledge", {"query": QUESTION})
    except SakuinError as error:
        raise LocalError(f"the first search failed: {error}\nsee logs/emulator.log in the data folder") from error


def _call(stack: Stack, method: str, path: str, *, expected: int, **request: Any) -> httpx.Response:
    """Returns the answer of the HTTP API; another status than the expected one is an error."""
    answer = httpx.request(method, f"{stack.url}{path}", timeout=FIRST_CALL_S, trust_env=False, **request)
    if answer.status_code != expected:
        raise LocalError(
            f"{method} {path} answered {answer.status_code} instead of {expected}: {answer.text[:1000]}\n"
            "see logs/emulator.log in the data folder"
        )
    return answer


def _show_answer(terminal: Terminal, answer: Mapping[str, Any]) -> None:
    """Prints the best results."""
    terminal.print("\nAn agent that asks ", (f'"{QUESTION}"', "bold"), " gets:\n")
    show_answer(terminal, {**answer, "results": answer["results"][:SHOWN]})


def _show_connection(terminal: Terminal, stack: Stack) -> None:
    """Prints the command that connects Claude Code, on one line."""
    line = f'claude mcp add --transport http sakuin {stack.url}/mcp --header "Authorization: Bearer {stack.api_key}"'
    terminal.print("Connect Claude Code:\n")
    terminal.print(line)
    terminal.print()


def _show_console(terminal: Terminal, stack: Stack, folder: Path) -> None:
    """Prints a link that signs in to the console as an admin, and how to sign in as a user."""
    asked = {"Authorization": f"Bearer {stack.environment['SAKUIN_ADMIN_KEY']}"}
    link = _call(stack, "POST", "/v1/console-links", expected=201, headers=asked).json()
    terminal.print(f"Open the console (this link signs you in once):\n\n{stack.url}{link['path']}\n")
    user = f"{stack.environment['SAKUIN_USER_EMAIL']} with SAKUIN_USER_PASSWORD of {folder / 'env'}"
    terminal.print(f"or sign in there as a user: {user}\n")


def _stop_on_signals() -> threading.Event:
    """Returns the event that Ctrl-C and similar signals set. Call it before anything starts."""
    stop = threading.Event()
    handler: Callable[[int, FrameType | None], None] = lambda *_: stop.set()  # noqa: E731 - the annotation is needed
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, handler)
    return stop
