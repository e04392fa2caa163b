"""The deployed template on the local stack: started once, found through its outputs alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import boto3
import httpx
import pytest
from botocore.config import Config
from sakuin_local.data_folder import MARK

from tests.awaiting import awaited
from tests.cli.command import run
from tests.recorded_vectors import recorded_vectors

REPOSITORY = Path(__file__).resolve().parents[2]
T = TypeVar("T")
# The samples are those of mathematics.
JAPANESE = {**os.environ, "LC_ALL": "ja_JP.UTF-8"}
# Each many times what it takes. What a queue forgot is sent again after three minutes, by a schedule of a minute.
READY_SECONDS, SEARCHABLE_SECONDS, STOPPED_SECONDS, REQUEST_SECONDS = 1500, 600, 120, 300


@dataclass(frozen=True, slots=True)
class Deployed:
    """A running stack. `url` is its address, `outputs` are the template's."""

    environment: dict[str, str]
    outputs: dict[str, str]

    @property
    def url(self) -> str:
        return self.environment["SAKUIN_URL"]

    @property
    def bucket(self) -> str:
        return self.outputs["MaterialsBucket"]

    def client(self, service: str) -> Any:
        """A boto3 client of the account that the stack is deployed to."""
        return boto3.client(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
            # A second request before the answer would do the work twice.
            config=Config(read_timeout=REQUEST_SECONDS),
        )

    def put(self, key: str, body: str | bytes) -> str:
        """Uploads and waits until the version was processed; returns the outcome."""
        body = body.encode() if isinstance(body, str) else body
        answer = self.client("s3").put_object(Bucket=self.bucket, Key=key, Body=body)
        return self.outcome(key, answer["VersionId"])

    def delete(self, key: str) -> str:
        """Deletes and waits; returns the outcome of the delete marker."""
        answer = self.client("s3").delete_object(Bucket=self.bucket, Key=key)
        return self.outcome(key, answer["VersionId"])

    def outcome(self, key: str, version_id: str) -> str:
        """The outcome of a version, once it was processed."""
        asked = {"versions": [{"key": key, "version_id": version_id}]}
        results = eventually(
            f"a result of {key}, version {version_id}",
            lambda: self.api("POST", "/v1/files/results", json=asked)["results"],
        )
        return str(results[0]["outcome"])

    def api(self, method: str, path: str, **parts: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.environment['SAKUIN_ADMIN_KEY']}"}
        answer = httpx.request(method, self.url + path, headers=headers, timeout=REQUEST_SECONDS, **parts)
        answer.raise_for_status()
        return answer.json()

    def mcp(self, endpoint: dict[str, Any], method: str, **params: Any) -> dict[str, Any]:
        """The result of a message to an endpoint of Search Tools."""
        headers = {
            "Authorization": f"Bearer {endpoint['key']}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        url = f"{self.url}/mcp/{endpoint['mcp_id']}"
        answer = httpx.post(url, headers=headers, json=message, timeout=REQUEST_SECONDS)
        result: dict[str, Any] = answer.json()["result"]
        return result

    def tool_names(self, endpoint: dict[str, Any]) -> list[str]:
        return [tool["name"] for tool in self.mcp(endpoint, "tools/list")["tools"]]

    def call_tool(self, endpoint: dict[str, Any], name: str, query: str, **arguments: Any) -> dict[str, Any]:
        return self.mcp(endpoint, "tools/call", name=name, arguments={"query": query, **arguments})

    def sakuin(self, *arguments: str) -> tuple[int, str]:
        """A command against this deployment: its exit code and what it prints.

        It runs in this process. Tutorials and guides type it into a terminal.
        """
        done = run(*arguments, **self.environment)
        return done.exit_code, done.stdout

    def printed(self, *arguments: str) -> Any:
        """What a command that succeeds prints as JSON."""
        code, output = self.sakuin(*arguments, "--json")
        assert code == 0, output
        return json.loads(output)

    def search(self, query: str, **arguments: Any) -> dict[str, Any]:
        """What an agent would get, by the command."""
        options = [part for name, value in arguments.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        answer: dict[str, Any] = self.printed("search", query, *options)
        return answer

    def state(self, material: str) -> dict[str, Any]:
        """The record of the first material with this prefix."""
        found: dict[str, Any] = self.api("GET", "/v1/materials", params={"prefix": material})["materials"][0]
        return found


def eventually(what: str, look: Callable[[], T]) -> T:
    """Returns the first result of `look` that is not empty, while the queues are processed."""
    return awaited(what, look, within_s=SEARCHABLE_SECONDS)


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """`sakuin up` in a data folder of its own, on a free port, with the samples."""
    folder = tmp_path_factory.mktemp("stack")
    data = folder / "data"
    data.mkdir()
    # Without it the folder is not Sakuin's.
    (data / MARK).touch()
    with recorded_vectors(data / "vectors.sqlite"), started(folder) as stack:
        yield stack


@contextmanager
def started(folder: Path, *options: str) -> Iterator[Deployed]:
    """A stack of a test's own, which runs while the block does; its data is in `folder / "data"`."""
    data, log = folder / "data", folder / "up.log"
    command = [str(Path(sys.executable).parent / "sakuin"), "up", "--port", "0", "--data", str(data), *options]
    with log.open("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=REPOSITORY, env=JAPANESE)
    try:
        _wait_until_ready(process, log)
        environment = _environment(data / "env")
        yield Deployed({**environment, "SAKUIN_DATA_FOLDER": str(data)}, _outputs(environment))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOPPED_SECONDS)
        finally:
            process.kill()


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    def ready() -> bool:
        assert process.poll() is None, f"it ended with {process.returncode}"
        return any(line.startswith("ready http") for line in log.read_text().splitlines())

    try:
        awaited("a stack that is ready", ready, within_s=READY_SECONDS)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{log.read_text()}") from error


def _environment(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)


def _outputs(environment: dict[str, str]) -> dict[str, str]:
    stacks = Deployed(environment, {}).client("cloudformation").describe_stacks(StackName=environment["SAKUIN_STACK"])
    return {output["OutputKey"]: output["OutputValue"] for output in stacks["Stacks"][0]["Outputs"]}
