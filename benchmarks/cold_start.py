"""How long a new worker of the `mcp` function takes to start, and to answer its first question.

It runs under Lambda's runtime emulator, of SAM's wheel, with Lambda's own client from PyPI, against the running stack.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sakuin_local.addresses import free_port
from sakuin_local.aws.layers import built, is_our_own
from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY, TEMPLATE, TOOLS, UV

from benchmarks.stack import Stack

FUNCTION = "SakuinMcp"
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
REQUIREMENTS = REPOSITORY / "requirements" / "runtime.txt"
CALLS = 4
_INVOKE = "http://127.0.0.1:{port}/2015-03-31/functions/function/invocations"
# The emulator's own "Init Duration" is not the time of INIT; this line is.
_INIT = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)")
_READY_SECONDS = 20
_ANSWER_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Start:
    """INIT of a new worker, then its answers one after the other, in milliseconds.

    `processor` is the processor time of INIT and the first answer: other programs on the machine hardly change it.
    """

    init: float
    processor: float
    answers: tuple[float, ...]


def measured(stack: Stack, rounds: int) -> list[Start]:
    """Starts so many workers, one after the other."""
    environment, event = _environment(stack), _event(stack)
    resources = read_template(TEMPLATE)["Resources"]
    with tempfile.TemporaryDirectory(dir=TOOLS, prefix="cold-start-") as place:
        names = [layer["Ref"] for layer in resources[FUNCTION]["Properties"]["Layers"]]
        sources = [(name, REPOSITORY / resources[name]["Properties"]["ContentUri"]) for name in names]
        layers = [_layer(name, source, Path(place)) for name, source in sources]
        folder = REPOSITORY / resources[FUNCTION]["Properties"]["CodeUri"]
        return [_start(folder, layers, environment, event) for _ in range(rounds)]


def _layer(name: str, source: Path, place: Path) -> Path:
    """What the layer puts on the path; our own is built here, the others were by `sakuin up`."""
    if not is_our_own(source):
        return built(source, MINOR) / "python"
    target = place / name
    command = ["make", "--silent", f"--makefile={source / 'Makefile'}", f"build-{name}"]
    given = [f"ARTIFACTS_DIR={target}", f"PY={MINOR}", "STRICT=1"]
    subprocess.run([*command, *given], check=True, env={**os.environ, "PYTHON_OF_LAYER": sys.executable})
    return target / "python"


def _environment(stack: Stack) -> dict[str, str]:
    """What the deployed function has, and the stack's account."""
    [deployed] = stack.client("cloudformation").describe_stacks(StackName=stack.environment["SAKUIN_STACK"])["Stacks"]
    name = next(output["OutputValue"] for output in deployed["Outputs"] if output["OutputKey"] == "McpFunction")
    configuration = stack.client("lambda").get_function_configuration(FunctionName=name)
    account = {name: value for name, value in stack.environment.items() if name.startswith("AWS_")}
    return {**configuration["Environment"]["Variables"], **account}


def _event(stack: Stack) -> dict[str, Any]:
    """Returns a question as API Gateway sends it."""
    event: dict[str, Any] = json.loads((REPOSITORY / "events" / "mcp.search.json").read_text("utf-8"))
    event["headers"]["authorization"] = f"Bearer {stack.environment['SAKUIN_API_KEY']}"
    return event


def _start(folder: Path, layers: Sequence[Path], environment: Mapping[str, str], event: Mapping[str, Any]) -> Start:
    """Starts a new worker for `folder`/app.py and calls it; raises RuntimeError if it does not answer with 200."""
    with tempfile.TemporaryFile() as log, _emulator(folder, layers, environment, log) as (port, emulator):
        whole = [_asked(port, event)]
        processor = sum(sum(child.cpu_times()[:2]) for child in emulator.children(recursive=True)) * 1000
        whole += [_asked(port, event) for _ in range(CALLS - 1)]
        log.seek(0)
        init = float(_INIT.findall(log.read().decode())[0])
    # The emulator starts INIT with the first call.
    return Start(init, processor, (whole[0] - init, *whole[1:]))


@contextmanager
def _emulator(
    folder: Path, layers: Sequence[Path], environment: Mapping[str, str], log: Any
) -> Iterator[tuple[int, psutil.Process]]:
    port, api = free_port(), free_port()
    command = [
        str(emulator_program()),
        "--log-level=debug",
        f"--runtime-interface-emulator-address=127.0.0.1:{port}",
        f"--runtime-api-address=127.0.0.1:{api}",
        str(_python()),
        "-m",
        "awslambdaric",
        "app.handler",
    ]
    given = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "LAMBDA_TASK_ROOT": str(folder),
        "AWS_LAMBDA_FUNCTION_NAME": folder.name,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "60",
        "PYTHONPATH": os.pathsep.join(map(str, layers)),
        # What has no bytecode is to stay so.
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    process = subprocess.Popen(
        command, cwd=folder, env=given, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        _wait(port)
        yield port, psutil.Process(process.pid)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _asked(port: int, event: Mapping[str, Any]) -> float:
    request = urllib.request.Request(_INVOKE.format(port=port), json.dumps(event).encode())
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as response:
        answer = json.load(response)
    milliseconds = (time.perf_counter() - started) * 1000
    if answer.get("statusCode") != 200:
        raise RuntimeError(f"the function answered {answer}")
    return milliseconds


def _wait(port: int) -> None:
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the runtime emulator does not listen")


def emulator_program() -> Path:
    machine = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    found = sorted(TOOLS.glob(f"sam/lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-{machine}"))
    if not found:
        raise SystemExit("The runtime emulator is in SAM's wheel: run `make template` once")
    return found[0]


def _python() -> Path:
    """An interpreter with what Lambda's runtime brings, and nothing else."""
    content = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    place = TOOLS / f"runtime-{content}"
    if not place.exists():
        unfinished = Path(tempfile.mkdtemp(prefix="runtime-", dir=TOOLS))
        _run(UV, "venv", "--quiet", "--clear", "--relocatable", "--python", sys.executable, unfinished)
        _run(
            UV, "pip", "install", "--quiet", "--compile-bytecode", "--require-hashes",
            "--python", unfinished, "--requirement", REQUIREMENTS,
        )  # fmt: skip
        for older in set(TOOLS.glob("runtime-*")) - {unfinished}:
            shutil.rmtree(older)
        unfinished.rename(place)
    return place / "bin" / "python"


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)
