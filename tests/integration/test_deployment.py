"""The real `sam deploy` of the built template, onto an account of its own that enforces every role."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from sakuin_local.addresses import free_port
from sakuin_local.aws.client import client
from sakuin_local.aws.deployment import put_secrets
from sakuin_local.aws.emulator import ACCESS_KEY, REGION, SECRET_KEY, Emulator, start
from sakuin_local.aws.keys import ApiKeys, api_keys_of, secret_values
from sakuin_local.aws.template import read_template, without_alarms
from sakuin_local.processes import Programs

from tests.awaiting import awaited
from tests.effort import EFFORT
from tests.integration.conftest import REPOSITORY

BUILT = REPOSITORY / ".aws-sam" / "build" / "template.yaml"
SAM = REPOSITORY / ".tools" / "sam" / "bin" / "sam"
SECRET = "sakuin/test"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT.exists() or not SAM.exists(), reason="`make template` builds what is deployed"),
]


@dataclass(frozen=True, slots=True)
class Account:
    """An empty AWS account, with the secret in it."""

    emulator: Emulator
    keys: ApiKeys
    folder: Path
    parameters: dict[str, str] = field(default_factory=dict)

    def deploy(self, **changed: str) -> dict[str, str]:
        """Runs `sam deploy` with these parameters; the stack's outputs."""
        self.parameters.update(changed)
        packaged = self.folder / "packaged.yaml"
        if not packaged.exists():
            # A quarter of a gigabyte is packed once, not with each deployment.
            self._sam("package", "--template-file", BUILT, "--resolve-s3", "--output-template-file", packaged)
            # The emulator refuses metric math.
            packaged.write_text(json.dumps(without_alarms(read_template(packaged))))
        overrides = [f"{name}={value}" for name, value in self.parameters.items()]
        self._sam("deploy", "--template-file", packaged, "--no-confirm-changeset", "--parameter-overrides", *overrides)
        described = client(self.emulator, "cloudformation").describe_stacks(StackName="sakuin")["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}

    def _sam(self, subcommand: str, *arguments: str | Path) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "AWS_ENDPOINT_URL": self.emulator.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": REGION,
            "SAM_CLI_TELEMETRY": "0",
        }
        command = [SAM, subcommand, "--config-file", REPOSITORY / "samconfig.toml", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    def live(self, function: str) -> dict[str, Any]:
        """The configuration that a function's alias points at."""
        functions = client(self.emulator, "lambda")
        one: dict[str, Any] = functions.get_function_configuration(FunctionName=function, Qualifier="live")
        return one

    def started(self, function: str) -> str:
        awaited(f"{function} started", lambda: self.live(function)["State"] != "Pending", within_s=600)
        return str(self.live(function)["State"])

    def request(self, method: str, path: str, **parts: Any) -> httpx.Response:
        api = client(self.emulator, "cloudformation").describe_stack_resources(
            StackName="sakuin", LogicalResourceId="SakuinHttpApi"
        )["StackResources"][0]["PhysicalResourceId"]
        return httpx.request(
            method, f"http://127.0.0.1:{self.emulator.port}/_aws/execute-api/{api}/$default{path}", timeout=60, **parts
        )


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    folder = tmp_path_factory.mktemp("account")
    programs = Programs(folder)
    emulator = Emulator(free_port())
    try:
        start(folder, programs, emulator)
        keys = api_keys_of(folder)
        nobody = dict.fromkeys(("service_key", "search_key", "publishable_key", "jwt_secret"), "no")
        put_secrets(emulator, secret_values(keys, SECRET, **nobody))
        # Nobody answers there: what is deployed must start all the same.
        yield Account(emulator, keys, folder, {"SecretName": SECRET, "SupabaseUrl": "http://127.0.0.1:9"})
    finally:
        programs.stop()


@pytest.fixture(scope="module")
def outputs(account: Account) -> dict[str, str]:
    return account.deploy()


def test_every_output_has_a_value(outputs: dict[str, str]) -> None:
    expected = without_alarms(read_template(REPOSITORY / "template.yaml"))
    assert outputs.keys() == expected["Outputs"].keys()
    assert all(outputs.values())


def test_the_gateway_answers_by_way_of_the_alias(account: Account, outputs: dict[str, str]) -> None:
    assert account.started(outputs["ApiFunction"]) == "Active"
    health = account.request("GET", "/healthz")
    assert (health.status_code, health.json()["status"]) == (200, "ok")


def test_a_key_of_the_secret_opens_the_endpoint_and_another_does_not(account: Account, outputs: dict[str, str]) -> None:
    assert account.started(outputs["McpFunction"]) == "Active"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    refused = account.request("POST", "/mcp", json=body, headers=headers)
    headers["Authorization"] = f"Bearer {account.keys.knowledge}"
    answered = account.request("POST", "/mcp", json=body, headers=headers)
    assert (refused.status_code, answered.status_code) == (401, 200)
    assert len(answered.json()["result"]["tools"]) == 6


def test_a_function_is_invoked_under_its_own_role(account: Account, outputs: dict[str, str]) -> None:
    recorded = json.loads((REPOSITORY / "events" / "index_material.test_event.json").read_text(encoding="utf-8"))
    functions = client(account.emulator, "lambda")
    answer = functions.invoke(FunctionName=outputs["IndexMaterialFunction"], Payload=json.dumps(recorded).encode())
    assert json.loads(answer["Payload"].read()) == {"batchItemFailures": []}


def test_only_a_changed_setting_moves_the_alias_and_reaches_it(account: Account, outputs: dict[str, str]) -> None:
    before = account.live(outputs["McpFunction"])
    if EFFORT > 1:  # tests/test_template.py compares the settings that a version is numbered by
        assert account.deploy(AlarmEmail="operator@example.org") == outputs
        assert account.live(outputs["McpFunction"])["Version"] == before["Version"]
    account.deploy(BaseUrl="/school_asset")
    after = account.live(outputs["McpFunction"])
    assert int(after["Version"]) == int(before["Version"]) + 1
    assert after["Environment"]["Variables"]["BASE_URL"] == "/school_asset"
    assert before["Environment"]["Variables"]["BASE_URL"] == ""
