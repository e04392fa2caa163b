"""`sakuin up`: starts the stack, makes the first calls, welcomes a person, and stops everything on Ctrl-C."""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.text import Text
from sakuin.errors import SakuinError
from sakuin.texts.catalogue import Texts
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings
from sakuin_cli.terminal import Terminal

from sakuin_local.data_folder import claimed
from sakuin_local.errors import LocalError, ServiceDied, Stopped
from sakuin_local.samples import Samples, load, load_pages, load_table, samples_in, write_settings
from sakuin_local.stack import STACK, FrontDoor, Stack, running_stack
from sakuin_local.steps import Steps
from sakuin_local.vendors import VectorSource
from sakuin_local.welcome import Welcome, call, texts_of_locale

HOW_OFTEN_S = 0.2
FAILURES_SHOWN_S = 3.0
RUNS_AGAIN = "the stack runs again"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command. Port 0 is a free one; `pages` are those of the library instead of the samples.

    `parameters` override those of the template. `vectors` is the deployment whose model embeds, or the path of one of
    ONNX; None is the usual one.
    """

    data: Path
    port: int = 8787
    fresh: bool = False
    samples: bool = True
    pages: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    vectors: VectorSource | Path | None = None


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
    texts: Texts = field(default_factory=texts_of_locale)
    is_first: bool = True

    @property
    def samples(self) -> Samples | None:
        """The samples in the language of the person; None if there are to be none."""
        return samples_in(self.texts.language) if self.options.samples else None

    def run(self) -> None:
        """Runs the stack until it is stopped; raises `ServiceDied` if one of its programs ends."""
        folder, options, progress = self.folder, self.options, self.progress
        parameters = self.samples.parameters if self.samples else {}
        given = {**_of_model(options.vectors), **parameters, **options.parameters}
        steps = Steps(progress, self.stop, self.texts)
        started = running_stack(folder, steps, self.front.url, given, options.vectors)
        with started as stack, self.front.leads_to(stack):
            self._first_calls(stack, steps)
            if self.is_first:
                pages = options.pages or (self.samples and self.samples.folder)
                welcome = Welcome(self.output, stack, self.texts, _shown(pages) if pages else "")
                welcome.show(own_pages=options.pages is not None)
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
            progress.print(self.texts("up.stopping"))

    def _first_calls(self, stack: Stack, steps: Steps) -> None:
        """Waits until the functions and what is to be searched are there."""
        folder, samples, check = self.folder, self.samples, stack.programs.check
        api = steps.start("api", lambda: call(stack, "GET", "/healthz", expected=200))
        # Without a key the function itself answers 401.
        mcp = steps.start("mcp", lambda: call(stack, "POST", "/mcp", expected=401))
        loaded = [steps.start("samples", lambda: load(stack, folder, samples))] if samples else []
        steps.finish([api, mcp, *loaded], watch=check)
        if (pages := self.options.pages) is not None:
            pushed = steps.start("pages", lambda: load_pages(stack, pages))
            steps.finish([pushed], watch=check)
            if failure := pushed.result():
                self.progress.print(Text.assemble(("! ", "yellow"), failure))
        # After the pages: the same two cores embed both, and the first answer comes from the pages.
        settings = steps.start("project", lambda: load_table(stack, folder, samples))
        steps.finish([settings], watch=check)
        write_settings(stack, folder, settings.result())


def _shown(folder: Path) -> str:
    """Returns the name of a folder as a person in the current one writes it."""
    return f"{os.path.relpath(folder)}/" if folder.is_relative_to(Path.cwd()) else f"{folder}/"


def _show_failures(stack: Stack, stop: threading.Event, show: Callable[[Text], None]) -> None:
    """Shows a line about each failed invocation, also of the schedule, whose output nobody sees otherwise."""
    from sakuin_local.aws.client import client
    from sakuin_local.aws.failures import FailedInvocations

    failed = FailedInvocations(client(stack.emulator, "logs"), f"/sakuin/{STACK}/")
    while not stop.wait(FAILURES_SHOWN_S):
        for line in failed.lines():
            show(Text.assemble(("! ", "yellow"), line))


def _of_model(vectors: VectorSource | Path | None) -> dict[str, str]:
    """Returns the parameter that names another model: the ranking has weights of its own for it."""
    if vectors is None:
        return {}
    if isinstance(vectors, Path):
        from sakuin_local.embeddings.onnx import OnnxModel

        return {"EmbeddingModel": OnnxModel(vectors).name()}
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


def _stop_on_signals() -> threading.Event:
    """Returns the event that Ctrl-C and similar signals set. Call it before anything starts."""
    stop = threading.Event()
    handler: Callable[[int, FrameType | None], None] = lambda *_: stop.set()  # noqa: E731 - the annotation is needed
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, handler)
    return stop
