"""How long a new worker of the `mcp` function takes to start, and to answer its first question.

`python -m benchmarks.cold_start [STARTS]`. It runs under Lambda's runtime emulator, of SAM's wheel, with Lambda's own
client from PyPI, against the running stack. Its processor time is that of INIT and the first answer: other programs on
the machine hardly change it.
"""

import json
import os
import platform
import re
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil
from sakuin_local.addresses import LOOPBACK, free_port
from sakuin_local.places import REPOSITORY, TOOLS
from sakuin_local.processes import Programs, until_ready

from benchmarks.stack import Stack
from tests.built_layers import RESOURCES, built_layers, layers_of

FUNCTION = "SakuinMcp"
CALLS = 4
# An interpreter with what Lambda's runtime brings, and nothing else.
_PYTHON = TOOLS / "runtime" / "bin" / "python"
# The emulator's own "Init Duration" is not the time of INIT; this line is.
_INIT = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)")
_ANSWER_SECONDS = 120


def main(rounds: int) -> None:
    """Starts so many workers, one after the other; prints milliseconds."""
    stack = Stack()
    environment, event = _environment(stack), _event(stack)
    with tempfile.TemporaryDirectory(dir=TOOLS, prefix="cold-start-") as place:
        layers = [layer / "python" for layer in layers_of(FUNCTION, built_layers(Path(place))).values()]
        starts = [_start(Path(place), layers, environment, event) for _ in range(rounds)]
    for name in starts[0]:
        times = [start[name] for start in starts]
        print(f"{name:<32} median {median(times):6.0f} ms  most {max(times):6.0f} ms")


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


def _start(
    place: Path, layers: Sequence[Path], environment: Mapping[str, str], event: Mapping[str, Any]
) -> dict[str, float]:
    """Starts a new worker and calls it; returns milliseconds."""
    code, port, programs = REPOSITORY / RESOURCES[FUNCTION]["Properties"]["CodeUri"], free_port(), Programs(place)
    addresses = {"runtime-interface-emulator": port, "runtime-api": free_port()}
    options = [f"--{name}-address={LOOPBACK}:{each}" for name, each in addresses.items()]
    command = [_emulator_program(), "--log-level=debug", *options, _PYTHON, "-m", "awslambdaric", "app.handler"]
    given = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "LAMBDA_TASK_ROOT": str(code),
        "AWS_LAMBDA_FUNCTION_NAME": code.name,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "60",
        "PYTHONPATH": os.pathsep.join(map(str, (code, *layers))),
        # What has no bytecode is to stay so.
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    try:
        emulator = programs.start("emulator", command, given)
        until_ready(emulator, lambda: _listens(port))
        first = _asked(port, event)
        worker = psutil.Process(emulator.record.pid).children(recursive=True)
        processor = sum(sum(child.cpu_times()[:2]) for child in worker) * 1000
        later = median(_asked(port, event) for _ in range(CALLS - 1))
        init = float(_INIT.findall(emulator.log.read_text())[0])
    finally:
        programs.stop()
    # The emulator starts INIT with the first call.
    searches = {"first search": first - init, "a search then": later}
    return {"INIT": init, **searches, "processor until the first answer": processor}


def _asked(port: int, event: Mapping[str, Any]) -> float:
    """Returns the milliseconds of a call."""
    url = f"http://{LOOPBACK}:{port}/2015-03-31/functions/function/invocations"
    started = time.perf_counter()
    answer = httpx.post(url, json=event, timeout=_ANSWER_SECONDS).json()
    milliseconds = (time.perf_counter() - started) * 1000
    if answer.get("statusCode") != 200:
        raise RuntimeError(f"the function answered {answer}")
    return milliseconds


def _listens(port: int) -> bool:
    with socket.create_connection((LOOPBACK, port)):
        return True


def _emulator_program() -> Path:
    """Returns the path of the emulator; ends with what to do if it is not installed."""
    machine = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    emulators = sorted(TOOLS.glob(f"sam/lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-{machine}"))
    if not emulators or not _PYTHON.exists():
        raise SystemExit("The runtime emulator and its interpreter are not there: run `make benchmarks`")
    return emulators[0]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
