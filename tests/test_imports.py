"""Each function starts with its layers and Lambda's packages alone, and loads only what it needs."""

import functools
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY, TEMPLATE

from tests.built_layers import FUNCTIONS, RESOURCES, built_layers, layers_of

WHOLE = read_template(TEMPLATE)
VARIABLES: dict[str, Any] = WHOLE["Globals"]["Function"]["Environment"]["Variables"]
LAMBDA_BRINGS = ("boto3", "botocore", "s3transfer", "urllib3", "jmespath", "dateutil", "six")
NOBODY_THERE = "http://127.0.0.1:9"
SECRET = {
    "supabase_service_key": "k",
    "openai_api_key": "k",
    "knowledge_key_hashes": [],
    "admin_key_hashes": [],
    "turbopuffer_api_key": "k",
}
# Told by its arguments, since -I takes no PYTHONPATH and -S no site-packages.
START = """
import json, sys
sys.path[:0] = sys.argv[1:]
import app
assert callable(app.handler)
print(json.dumps(sorted(sys.modules)))
"""
NEVER = {
    "SakuinMcp": {"jwt", "fastapi", "bs4", "lxml", "numpy", "yaml", "postgrest", "turbopuffer", "openai", "typer"},
    "SakuinApi": {"mcp", "mcp_types", "jinja2", "openai", "sudachipy", "numpy", "postgrest", "turbopuffer", "typer"},
    "SakuinSendWebhooks": {"fastapi", "turbopuffer", "numpy", "postgrest", "bs4"},
    "SakuinIndexMaterial": {"mcp", "fastapi", "mangum", "numpy", "postgrest", "turbopuffer", "regex"},
    "SakuinIndexTool": {"mcp", "fastapi", "mangum", "openai", "numpy", "postgrest", "sudachipy", "bs4", "lxml"},
    "SakuinEmbedChunks": {"mcp", "fastapi", "mangum", "numpy", "postgrest", "bs4", "lxml"},
    "SakuinMaintain": {"fastapi", "mangum", "numpy", "postgrest", "bs4", "lxml"},
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
def lambda_s_own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the packages that the runtime has beside the standard library."""
    folder = tmp_path_factory.mktemp("runtime")
    for name in LAMBDA_BRINGS:
        spec = find_spec(name)
        assert spec
        assert spec.origin
        origin = Path(spec.origin)
        whole = origin.parent if spec.submodule_search_locations else origin
        (folder / whole.name).symlink_to(whole)
    return folder


@pytest.fixture(scope="module")
def loaded(layers: dict[str, Path], lambda_s_own: Path, asked_url: str) -> Any:
    """Returns the modules that a function has loaded after its start; each start happens once."""

    @functools.cache
    def modules(function: str, **more: str) -> set[str]:
        folders = [path / "python" for path in layers_of(function, layers).values()]
        code = REPOSITORY / RESOURCES[function]["Properties"]["CodeUri"]
        environment = {name: _value(value) for name, value in variables(function).items()} | {
            "AWS_ENDPOINT_URL": asked_url,
            "SUPABASE_URL": asked_url,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_LAMBDA_FUNCTION_NAME": function,
            "LAMBDA_TASK_ROOT": str(code),
            **more,
        }
        command = [sys.executable, "-I", "-S", "-c", START, *map(str, [code, *folders, lambda_s_own])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return set(json.loads(done.stdout.splitlines()[-1]))

    return modules


def variables(function: str) -> dict[str, Any]:
    """Returns the environment that the template gives a function."""
    own = RESOURCES[function]["Properties"].get("Environment", {}).get("Variables", {})
    return {**VARIABLES, **own}


def _value(said: Any) -> str:
    """Returns the value in the template, or the default of its parameter."""
    if not isinstance(said, dict):
        return str(said)
    default = WHOLE["Parameters"].get(said.get("Ref"), {}).get("Default", NOBODY_THERE)
    return str(default)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_starts_with_its_layers_alone_and_without_what_it_does_not_need(loaded: Any, function: str) -> None:
    assert loaded(function) & NEVER[function] == set()


def test_what_the_first_question_needs_is_loaded_before_it_comes(loaded: Any) -> None:
    needed = {
        "mcp.server.lowlevel.server",
        "sakuin.platform.supabase.client",
        "sakuin.platform.openai.embeddings",
        "sudachipy",
        "mangum",
    }
    assert needed <= loaded("SakuinMcp")


def test_a_start_that_nobody_waits_for_loads_what_search_tools_and_tokens_need_too(loaded: Any) -> None:
    assert {"turbopuffer", "jwt"} <= loaded("SakuinMcp", AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")
