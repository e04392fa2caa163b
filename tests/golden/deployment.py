"""A deployment as its users reach it: over HTTP, over MCP, and with the command."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
import psycopg

from tests.awaiting import awaited
from tests.golden.normalise import Normaliser, lines

REPOSITORY = Path(__file__).resolve().parents[2]
REVISION = "2025-06-18"
# What the command takes its width and colours from.
TERMINAL = {"COLUMNS": "100", "LINES": "40", "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8"}
# A key has its calls again after a minute, and a busy machine answers in time after a while.
CALM_SECONDS = 180
HEADERS = (
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "allow",
    "cache-control",
    "content-type",
    "mcp-session-id",
    "retry-after",
    "www-authenticate",
)
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Deployment:
    """A running deployment; `environment` is the file `env` that `sakuin up` writes.

    `printed` is what `sakuin up` wrote to stdout, and `process_id` its process; None if somebody else started it.
    """

    environment: Mapping[str, str]
    printed: str | None = None
    process_id: int | None = None
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=120), repr=False)

    @property
    def url(self) -> str:
        return self.environment["SAKUIN_URL"]

    @property
    def admin_key(self) -> str:
        return self.environment["SAKUIN_ADMIN_KEY"]

    @property
    def knowledge_key(self) -> str:
        return self.environment["SAKUIN_API_KEY"]

    @property
    def tools_url(self) -> str:
        """Returns the address of the sample's endpoint."""
        return self.environment["SAKUIN_TOOLS_MCP_URL"]

    @property
    def tools_key(self) -> str:
        return self.environment["SAKUIN_TOOLS_API_KEY"]

    def normaliser(self) -> Normaliser:
        """Returns a normaliser that knows the keys, addresses and ids of this deployment."""
        names = {
            "SAKUIN_URL": "<url>",
            "SAKUIN_API_KEY": "<knowledge key>",
            "SAKUIN_ADMIN_KEY": "<admin key>",
            "SAKUIN_TOOLS_API_KEY": "<key of the sample endpoint>",
            "SAKUIN_PROJECT": "<sample project>",
            "AWS_ENDPOINT_URL": "<aws>",
        }
        known = {self.environment[name]: shown for name, shown in names.items() if name in self.environment}
        known[self.tools_url.rpartition("/")[2]] = "<sample endpoint>"
        known[str(REPOSITORY)] = "<repository>"
        return Normaliser(known)

    def request(self, method: str, path: str, *, key: str | None = None, **parts: Any) -> httpx.Response:
        """Sends an HTTP request; `key` travels as a bearer token."""
        headers = {**({"Authorization": f"Bearer {key}"} if key is not None else {}), **parts.pop("headers", {})}
        return self.http.request(method, self.url + path, headers=headers, **parts)

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Returns the JSON that the REST API answers to an admin."""
        parts = {} if body is None else {"json": body}
        answer = self.request(method, path, key=self.admin_key, **parts)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def mcp(self, message: object, *, url: str | None = None, key: str | None = None, **headers: str) -> httpx.Response:
        """Sends a message to an MCP endpoint: with neither `url` nor `key` to the knowledge endpoint."""
        sent = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": REVISION,
            "Authorization": f"Bearer {self.knowledge_key if key is None else key}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.http.post(url or f"{self.url}/mcp", headers=sent, content=json.dumps(message))

    def call(self, tool: str, arguments: object, *, url: str | None = None, key: str | None = None) -> Answer:
        """Calls a tool; repeats it while the minute's calls are used up or a vendor is too slow."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}

        def answer() -> Answer | None:
            sent = self.mcp(message, url=url, key=key)
            if sent.status_code == 429:
                return None
            sent.raise_for_status()
            result: Answer = sent.json()["result"]
            return None if "degraded" in result.get("structuredContent", {}) else result

        found = awaited(f"an answer of {tool} to {arguments}", answer, within_s=CALM_SECONDS)
        assert found is not None
        return found

    def sakuin(
        self, *arguments: str, settings: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """The command as a person runs it, with this deployment's settings or others, in `folder`."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAKUIN_"))}
        return subprocess.run(  # noqa: S603 - the project's own command
            [command(), *arguments],
            env={**inherited, **TERMINAL, **(self.environment if settings is None else settings)},
            cwd=folder or REPOSITORY,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def sql(self) -> "psycopg.Connection[Any]":
        """Opens a connection that can only read."""
        connection = psycopg.connect(self.environment["SAKUIN_DATABASE_DSN"], autocommit=True)
        connection.execute("set default_transaction_read_only = on")
        return connection

    def aws(self, service: str) -> Any:
        """Returns a boto3 client of the account that it is deployed to."""
        client: Any = boto3.client
        return client(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )

    def secret(self) -> dict[str, Any]:
        """Reads the secret of the functions, which the operator of a deployment writes."""
        read = self.aws("secretsmanager").get_secret_value(SecretId=self.environment["SAKUIN_SECRET"])
        secret: dict[str, Any] = json.loads(read["SecretString"])
        return secret

    @contextmanager
    def without_schedule(self, name: str) -> Iterator[None]:
        """Disables a schedule while the block runs; `name` is a part of its rule's name."""
        events = self.aws("events")
        rules = [rule["Name"] for rule in events.list_rules()["Rules"] if name in rule["Name"]]
        for rule in rules:
            events.disable_rule(Name=rule)
        try:
            yield
        finally:
            for rule in rules:
                events.enable_rule(Name=rule)

    def wait_for_tool(self, tool_id: str) -> None:
        """Waits until a Search Tool has indexed what its Table holds now."""

        def ready() -> bool:
            state = self.api("GET", f"/v1/tools/{tool_id}")["metadata"]["search_index"]
            assert state["state"] != "error", state
            return bool(state["state"] == "ready")

        awaited(f"tool {tool_id}", ready, within_s=600)

    def wait_for_rest(self) -> None:
        """Waits until no queue holds a message, nor a worker one in hand."""
        sqs = self.aws("sqs")
        counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        queues = [url for url in sqs.list_queues().get("QueueUrls", []) if "DeadLetters" not in url]

        def at_rest() -> bool:
            held = (sqs.get_queue_attributes(QueueUrl=url, AttributeNames=counts)["Attributes"] for url in queues)
            return not any(int(count) for each in held for count in each.values())

        awaited("queues without messages", at_rest, within_s=600)


def command() -> str:
    """Returns the command `sakuin` of this interpreter's environment."""
    return str(Path(sys.executable).parent / "sakuin")


def answer_entry(answer: httpx.Response, normaliser: Normaliser) -> Answer:
    """Returns an HTTP answer as it is recorded: its status, the headers that matter, its body."""
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    return {
        "status": answer.status_code,
        "headers": normaliser.value(headers),
        "body": normaliser.value(body_of(answer)),
    }


def body_of(answer: httpx.Response) -> Any:
    """Returns the JSON of an answer, or the lines of its text."""
    try:
        return answer.json()
    except ValueError:
        return lines(answer.text)
