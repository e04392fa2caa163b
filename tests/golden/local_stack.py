"""A local stack of the recorder's own, in a folder and on ports that nobody else uses."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.awaiting import awaited
from tests.golden.deployment import REPOSITORY, TERMINAL, Deployment, command

READY_SECONDS, STOPPED_SECONDS = 1500, 120


def read_settings(file: Path) -> dict[str, str]:
    """Reads the lines `NAME=value` of a file."""
    return dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)


@contextmanager
def running_stack(folder: Path) -> Iterator[Deployment]:
    """Runs `sakuin up` with the samples while the block runs."""
    data, printed, progress = folder / "data", folder / "stdout", folder / "stderr"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAKUIN_"))}
    with printed.open("w") as output, progress.open("w") as complaints:
        process = subprocess.Popen(  # noqa: S603 - the project's own command
            [command(), "up", "--port", "0", "--data", str(data)],
            env={**inherited, **TERMINAL},
            cwd=REPOSITORY,
            stdout=output,
            stderr=complaints,
        )
    try:
        awaited("a stack that is ready", lambda: _is_ready(process, printed, progress), within_s=READY_SECONDS)
        yield Deployment(read_settings(data / "env"), printed.read_text(encoding="utf-8"), process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOPPED_SECONDS)
        process.kill()


def _is_ready(process: "subprocess.Popen[bytes]", printed: Path, progress: Path) -> bool:
    assert process.poll() is None, f"sakuin up ended with {process.returncode}: {progress.read_text()}"
    return any(line.startswith("ready http") for line in printed.read_text().splitlines())
