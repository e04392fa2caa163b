"""How long a new worker of the `mcp` function takes to start, and to answer its first question.

Each variant runs under Lambda's runtime emulator against the running stack, in turn, N times.
"""

import ast
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sakuin_local.aws.layers import built, is_our_own
from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY, TEMPLATE, TOOLS

from benchmarks.lambda_runtime import Start, start
from benchmarks.stack import Stack

FUNCTION = "SakuinMcp"
QUESTION = "二次方程式の解の公式"
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
_CALLS = 4


@dataclass(frozen=True, slots=True)
class Variant:
    """A function's folder and its layers."""

    name: str
    folder: Path
    layers: tuple[Path, ...]


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    stack = Stack()
    environment, event = _environment(stack), _event(stack)
    with tempfile.TemporaryDirectory(dir=TOOLS, prefix="cold-start-") as place:
        variants = _variants(Path(place))
        starts: dict[str, list[Start]] = {variant.name: [] for variant in variants}
        for _ in range(rounds):
            for variant in variants:
                starts[variant.name].append(start(variant.folder, variant.layers, environment, event, _CALLS))
    _show(starts)


def _show(starts: Mapping[str, list[Start]]) -> None:
    reference = next(iter(starts.values()))
    print("| Variant | INIT ms | of the reference | first search ms | a search then ms | processor ms | of it |")
    print("|---|---|---|---|---|---|---|")
    for name, runs in starts.items():
        first = statistics.median(run.answers[0] for run in runs)
        then = statistics.median(answer for run in runs for answer in run.answers[1:])
        init, processor = _init(runs), _processor(runs)
        shares = [f"1/{_init(reference) / init:.1f}", f"1/{_processor(reference) / processor:.1f}"]
        print(f"| {name} | {init:,.0f} | {shares[0]} | {first:.0f} | {then:.0f} | {processor:,.0f} | {shares[1]} |")


def _init(runs: list[Start]) -> float:
    return statistics.median(run.init for run in runs)


def _processor(runs: list[Start]) -> float:
    return statistics.median(run.processor for run in runs)


def _variants(place: Path) -> list[Variant]:
    """The reference first: no bytecode, and every import of our code at the top."""
    resources = read_template(TEMPLATE)["Resources"]
    sources = {name: REPOSITORY / one["Properties"]["ContentUri"] for name, one in resources.items() if _is_layer(one)}
    layers = {name: _layer(name, source, place) for name, source in sources.items()}
    mine = [layer["Ref"] for layer in resources[FUNCTION]["Properties"]["Layers"]]
    folder = REPOSITORY / resources[FUNCTION]["Properties"]["CodeUri"]

    bare = {name: _without_bytecode(layer, place / "bare" / name) for name, layer in layers.items()}
    eager = place / "eager"
    eager.mkdir()
    hoisted = "\n".join(dict.fromkeys(_imports(bare["SakuinLayer"])))
    (eager / "app.py").write_text(f"{hoisted}\n{(folder / 'app.py').read_text('utf-8')}", "utf-8")
    return [
        Variant("no bytecode, everything imported at the top", eager, tuple(bare.values())),
        Variant("no bytecode", folder, tuple(bare[name] for name in mine)),
        Variant("everything imported at the top", eager, tuple(layers.values())),
        Variant("as deployed", folder, tuple(layers[name] for name in mine)),
    ]


def _is_layer(resource: Mapping[str, Any]) -> bool:
    return bool(resource["Type"] == "AWS::Serverless::LayerVersion")


def _layer(name: str, source: Path, place: Path) -> Path:
    """What the layer puts on the path; our own is built here, the others were by `sakuin up`."""
    if not is_our_own(source):
        return built(source, MINOR) / "python"
    target = place / name
    command = ["make", "--silent", f"--makefile={source / 'Makefile'}", f"build-{name}"]
    given = [f"ARTIFACTS_DIR={target}", f"PY={MINOR}", "STRICT=1"]
    subprocess.run([*command, *given], check=True, env={**os.environ, "PYTHON_OF_LAYER": sys.executable})
    return target / "python"


def _without_bytecode(layer: Path, target: Path) -> Path:
    shutil.copytree(layer, target, copy_function=os.link, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def _imports(layer: Path) -> Iterator[str]:
    """An import of each of our modules, and each import that stands inside a function."""
    for file in sorted(layer.rglob("*.py")):
        yield f"import {'.'.join(file.relative_to(layer).with_suffix('').parts).removesuffix('.__init__')}"
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = (node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom))
                # What Lambda's runtime alone brings is asked for where it may be missing.
                yield from (text for text in map(ast.unparse, inside) if "snapshot_restore_py" not in text)


def _environment(stack: Stack) -> dict[str, str]:
    """What the deployed function has, and the stack's account."""
    [deployed] = stack.client("cloudformation").describe_stacks(StackName=stack.environment["SAKUIN_STACK"])["Stacks"]
    name = next(output["OutputValue"] for output in deployed["Outputs"] if output["OutputKey"] == "McpFunction")
    configuration = stack.client("lambda").get_function_configuration(FunctionName=name)
    account = {name: value for name, value in stack.environment.items() if name.startswith("AWS_")}
    return {**configuration["Environment"]["Variables"], **account}


def _event(stack: Stack) -> dict[str, Any]:
    """The question as API Gateway sends it."""
    http = {"method": "POST", "path": "/mcp", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "benchmark"}
    return {
        "version": "2.0",
        "routeKey": "ANY /mcp",
        "rawPath": "/mcp",
        "rawQueryString": "",
        "headers": {
            "authorization": f"Bearer {stack.environment['SAKUIN_API_KEY']}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "host": "127.0.0.1",
            "mcp-protocol-version": "2025-11-25",
        },
        "requestContext": {"http": http, "requestId": "cold-start", "stage": "$default", "domainName": "127.0.0.1"},
        "body": f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        f'{{"name":"search_knowledge","arguments":{{"query":"{QUESTION}"}}}}}}',
        "isBase64Encoded": False,
    }


if __name__ == "__main__":
    main()
