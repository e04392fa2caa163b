"""Each function starts with its layers and Lambda's packages alone, and loads only what it needs."""

import functools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.built_layers import FUNCTIONS, built_layers, run_function, runtime_packages

SECRET = {
    "supabase_service_key": "k",
    "openai_api_key": "k",
    "knowledge_key_hashes": [],
    "admin_key_hashes": [],
    "turbopuffer_api_key": "k",
}
# Prints the modules that are loaded after the start. Then makes every import of these modules of ours, also those
# inside functions, and of the modules that they load. Prints those that fail.
START = """
import ast, importlib, json
import app
assert callable(app.handler)
print(json.dumps(sorted(sys.modules)))

class Imports(ast.NodeVisitor):
    def __init__(self): self.names = []
    def visit_If(self, node):
        if getattr(node.test, "id", "") != "TYPE_CHECKING": self.generic_visit(node)
    def visit_Import(self, node): self.names += [(each.name, "") for each in node.names]
    def visit_ImportFrom(self, node): self.names += [(node.module, each.name) for each in node.names]

def load(module, name):
    if name and not hasattr(importlib.import_module(module), name): module = f"{module}.{name}"
    importlib.import_module(module)

followed, failures = set(), []
while modules := {name for name in sys.modules if name.split(".")[0] in ("app", "sakuin")} - followed:
    for module in sorted(modules):
        imports = Imports()
        imports.visit(ast.parse(open(sys.modules[module].__file__, encoding="utf-8").read()))
        for name in imports.names:
            try: load(*name)
            except ImportError as error: failures.append(f"{module} imports {'.'.join(name)}: {error}")
    followed |= modules
print(json.dumps(failures))
"""
NEVER = {
    "SakuinMcp": {"fastapi", "bs4", "lxml", "numpy", "yaml", "turbopuffer", "typer"},
    "SakuinApi": {"mcp", "mcp_types", "jinja2", "openai", "sudachipy", "numpy", "turbopuffer", "typer"},
    "SakuinIndexMaterial": {"mcp", "fastapi", "mangum", "numpy", "turbopuffer", "regex"},
    "SakuinIndexTool": {"mcp", "fastapi", "mangum", "openai", "numpy", "sudachipy", "bs4", "lxml"},
    "SakuinEmbedChunks": {"mcp", "fastapi", "mangum", "numpy", "bs4", "lxml"},
    "SakuinMaintain": {"fastapi", "mangum", "numpy", "bs4", "lxml"},
}


class _Asked(BaseHTTPRequestHandler):
    """Secrets Manager and the database, as far as a start asks them."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        secret = {"Name": "sakuin", "SecretString": json.dumps(SECRET)}
        body = json.dumps(secret if "X-Amz-Target" in self.headers else "").encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def asked_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Asked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built_layers(tmp_path_factory.mktemp("layers"))


@pytest.fixture(scope="module")
def started(layers: dict[str, Path], asked_url: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Returns what `START` prints for a function; each start happens once."""
    runtime = runtime_packages(tmp_path_factory.mktemp("runtime"))

    @functools.cache
    def start(function: str, **more: str) -> tuple[set[str], list[str]]:
        addresses = {"AWS_ENDPOINT_URL": asked_url, "SUPABASE_URL": asked_url}
        printed = run_function(function, layers, runtime, START, **addresses, **more)
        modules, failures = map(json.loads, printed.splitlines()[-2:])
        return set(modules), failures

    return start


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_starts_with_its_layers_alone_and_without_what_it_does_not_need(started: Any, function: str) -> None:
    modules, _failures = started(function)
    assert modules & NEVER[function] == set()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_the_layers_of_its_later_imports_too(started: Any, function: str) -> None:
    _modules, failures = started(function)
    assert failures == []


def test_what_the_first_question_needs_is_loaded_before_it_comes(started: Any) -> None:
    needed = {
        "mcp.server.lowlevel.server",
        "sakuin.platform.supabase.client",
        "sakuin.platform.openai.embeddings",
        "sudachipy",
        "mangum",
    }
    modules, _failures = started("SakuinMcp")
    assert needed <= modules


def test_a_start_that_nobody_waits_for_loads_what_search_tools_and_tokens_need_too(started: Any) -> None:
    modules, _failures = started("SakuinMcp", AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")
    assert {"turbopuffer", "jwt"} <= modules
