"""The published conformance suite, against the entry point of the `mcp` function behind HTTP."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from mangum import Mangum
from sakuin.platform.aws import Handler
from sakuin.wiring.handlers import http_handler

from tests.builders import a_page
from tests.clients.node import ran
from tests.conformance.fixture_tools import ConformanceTools
from tests.conformance.gateway import behind_gateway
from tests.events import AUTHORIZATION, a_telemetry
from tests.mcp.wire import app_of
from tests.worlds import Worlds

HERE = Path(__file__).parent
SUITE = ".tools/clients/node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
# What of the suite a server has to pass that has tools and a prompt alone; the rest may be in the lists of failures.
OF_A_SEARCH_SERVER = {
    "2025-11-25": {
        "server-initialize",
        "ping",
        "tools-list",
        "prompts-list",
        "tools-call-error",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "prompts-list",
        "tools-call-error",
        "json-schema-2020-12",
        "dns-rebinding-protection",
        "http-header-validation",
        "http-custom-header-server-validation",
    },
}


@pytest.fixture(scope="module")
def url(a_world: Worlds) -> Iterator[str]:
    """The entry point with a page of knowledge and the suite's tools; the key is added on the way."""
    world = a_world(base_url="/school_asset")
    world.put("junior/二次方程式の解き方_教材.html", a_page({"rule-a": "解の公式: 係数を公式に代入する。"}))
    tools = ConformanceTools(world, world.read)

    def handler(own_origin: str) -> Handler:
        return http_handler(Mangum(app_of(tools, origins=(own_origin,)), lifespan="off"), a_telemetry())

    with behind_gateway(handler, **AUTHORIZATION) as front:
        yield front


def expected(revision: str) -> Path:
    return HERE / f"expected_failures_{revision}.yml"


@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_fails_but_what_a_search_server_does_not_have(url: str, tmp_path: Path, revision: str) -> None:
    asked = ("server", "--url", f"{url}/mcp", "--suite", "all", "--spec-version", revision)
    done = ran(SUITE, *asked, "--expected-failures", str(expected(revision)), "-o", str(tmp_path), seconds=900)
    # The suite also fails when something passes that is expected to fail.
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {path.parent.name: json.loads(path.read_text("utf-8")) for path in tmp_path.glob("*/checks.json")}
    passed = {name for name, made in checks.items() if not any(check["status"] == "FAILURE" for check in made)}
    for scenario in OF_A_SEARCH_SERVER[revision]:
        assert any(scenario in name for name in passed), scenario
    counted = [check["status"] for made in checks.values() for check in made]
    assert counted.count("SUCCESS") > 40, done.stdout


@pytest.mark.parametrize("revision", REVISIONS)
def test_each_expected_failure_is_one_check_and_has_a_reason(revision: str) -> None:
    listed = yaml.safe_load(expected(revision).read_text("utf-8"))["server"]
    assert all(re.fullmatch(r"[a-z0-9-]+:[a-z0-9-]+", entry) for entry in listed)
    assert not {entry.partition(":")[0] for entry in listed} & OF_A_SEARCH_SERVER[revision]
    reason = ""
    for line in expected(revision).read_text("utf-8").splitlines()[2:]:
        reason = line if line.startswith("  # ") else reason
        assert reason, line
