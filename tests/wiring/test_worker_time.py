"""Workers make no call that might outlast their invocation."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.utils import unix_time_millis
from moto.sqs.models import sqs_backends
from sakuin.errors import OutOfTime
from sakuin.knowledge.learns.openai import LEARNS_TIMEOUT
from sakuin.platform.calls import LONGEST_CALL
from sakuin.platform.secrets import Secrets
from sakuin.platform.turbopuffer.client import LONGEST_QUICK_CALL, connected, quick
from sakuin.settings import Settings
from sakuin.wiring import embed_chunks, index_material, index_tool
from sakuin.wiring.clients import Clients, Telemetry, start_telemetry

from tests.contracts.openai_server import OpenAIServer
from tests.events import Context, event


@pytest.fixture
def observed() -> Telemetry:
    """Telemetry of a worker with twenty-five seconds left."""
    observed = start_telemetry("Index")
    observed.work.milliseconds_left = lambda: 25_000
    return observed


def test_a_call_that_might_outlast_the_invocation_is_not_made(
    observed: Telemetry, openai: OpenAIServer, environ: dict[str, str], members: dict[str, object]
) -> None:
    settings, secrets = Settings.read(environ | {"LEARNS_MODEL": "gpt"}), Secrets.read(members, "sakuin")
    clients = Clients(settings, secrets, observed)
    model = clients.learns_model()
    assert model is not None
    calls = (
        lambda: clients.indexing_embedder(settings.embedding_model).passages(["a text"]),
        lambda: model.learns(()),
        lambda: clients.chunk_store().delete_namespace("n"),
    )
    for call in calls:
        with pytest.raises(OutOfTime, match="this continues automatically"):
            call()
    assert openai.requests == []
    clients.indexing_embedder(settings.embedding_model, at_once=True).passages(["a text"])
    assert len(openai.requests) == 1
    observed.work.milliseconds_left = lambda: 9_000
    with pytest.raises(OutOfTime):
        clients.chunk_store(for_upkeep=True).delete_namespace("n")


def test_no_client_waits_longer_than_the_longest_call(environ: dict[str, str], members: dict[str, object]) -> None:
    settings, secrets = Settings.read(environ), Secrets.read(members, "sakuin")
    embeds: Any = Clients(settings, secrets, start_telemetry("Index")).indexing_embedder(settings.embedding_model)
    assert embeds.seconds == LONGEST_CALL
    stores = connected("https://store", "key")
    for timeout in (LEARNS_TIMEOUT, stores.timeout):
        assert timeout.connect + timeout.read == LONGEST_CALL
    timeout = quick(stores).timeout
    assert timeout.connect + timeout.read == LONGEST_QUICK_CALL


REGION = "us-east-1"
LEASE_SECONDS = 77


@pytest.fixture
def aws(
    environ: dict[str, str], members: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """The environment of a function with queue and secret at moto."""
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    with mock_aws():
        boto3.client("secretsmanager").create_secret(Name="sakuin", SecretString=json.dumps(members))
        url = boto3.client("sqs").create_queue(QueueName="queue")["QueueUrl"]
        queues = dict.fromkeys(("MATERIAL_QUEUE_URL", "TOOL_QUEUE_URL", "EMBED_QUEUE_URL"), url)
        yield environ | queues | {"LEASE_SECONDS": str(LEASE_SECONDS), "TABLES_BUCKET": "tables"}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (index_material.handler, "index_material.test_event"),
        (index_tool.handler, "index_material.test_event"),
        (embed_chunks.handler, "embed_chunks.batch"),
    ],
)
def test_a_message_is_hidden_for_its_lease(
    aws: dict[str, str], function: Callable[[Clients], Any], message: str
) -> None:
    sqs, url = boto3.client("sqs"), aws["MATERIAL_QUEUE_URL"]
    record = event(message)["Records"][0]
    sqs.send_message(QueueUrl=url, MessageBody=record["body"])
    (received,) = sqs.receive_message(QueueUrl=url)["Messages"]
    record |= {"messageId": received["MessageId"], "receiptHandle": received["ReceiptHandle"]}
    assert function(Clients.of(aws, "Index"))({"Records": [record]}, Context()) == {"batchItemFailures": []}
    (left,) = sqs_backends[DEFAULT_ACCOUNT_ID][REGION].queues["queue"]._messages
    assert LEASE_SECONDS - 30 < (left.visible_at - unix_time_millis()) / 1000 <= LEASE_SECONDS
