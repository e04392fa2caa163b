"""The sample events of `events/`, and the keys in them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.platform.keys import KEY_PREFIX, hash_of_key
from sakuin.platform.redaction import Redaction
from sakuin.platform.telemetry import CurrentWork, EmfMeter
from sakuin.wiring.clients import Telemetry

EVENTS = Path(__file__).resolve().parents[1] / "events"
KEY = "sk_sakuin_the-key-in-this-file-opens-nothing"
# An endpoint of Search Tools, and a key of the shape that such a one has.
ENDPOINT = "00000000-0000-4000-8000-00000000000e"
ENDPOINT_KEY = KEY_PREFIX + "e" * 43
AUTHORIZATION = {"Authorization": f"Bearer {KEY}"}


def event(name: str) -> dict[str, Any]:
    """Reads one sample event."""
    read: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def s3_message(
    key: str,
    *,
    version: str | None = "v1",
    sequencer: str = "0A",
    bucket: str = "materials",
    event_name: str = "ObjectCreated:Put",
    etag: str = "e",
) -> dict[str, Any]:
    """Returns S3's message about a version of a file; None for a bucket without versions."""
    stored = {"key": key, "sequencer": sequencer, "eTag": etag} | ({"versionId": version} if version else {})
    return {"Records": [{"eventName": event_name, "s3": {"bucket": {"name": bucket}, "object": stored}}]}


def queue_event(body: object) -> dict[str, Any]:
    """Returns what a function gets of its queue: one message."""
    record = event("index_material.put")["Records"][0]
    return {"Records": [record | {"body": json.dumps(body)}]}


@dataclass(frozen=True, slots=True)
class Ring:
    """A `KeyRing` of the one key."""

    key: str = KEY

    def hashes(self, *, newer: bool = False) -> list[str]:
        return [hash_of_key(self.key)]


ring = Ring()


def a_telemetry(logger: Logger | None = None, redaction: Redaction | None = None) -> Telemetry:
    """Returns the logger and metrics of a function; nothing is traced."""
    metrics = Metrics(namespace="Sakuin", service="test")
    logger = logger or Logger(service="test")
    meter = EmfMeter(metrics, "Search")
    return Telemetry(logger, metrics, Tracer(disabled=True), CurrentWork(), meter, redaction or Redaction())


class Context:
    """The context of an invocation."""

    function_name = "sakuin"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:ap-northeast-1:123456789012:function:sakuin"
    aws_request_id = "52fdfc07-2182-154f-163f-5f0f9a621d72"

    def get_remaining_time_in_millis(self) -> int:
        return 90_000
