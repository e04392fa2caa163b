"""The lease of a message, for as long as the settings have it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.utils import unix_time_millis
from moto.sqs.models import sqs_backends
from sakuin.wiring import embed_chunks, index_material, index_tool
from sakuin.wiring.clients import Clients

from tests.events import Context, event

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
def test_a_message_that_a_worker_has_is_hidden_for_its_lease(
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
