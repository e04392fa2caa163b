"""The id of the work in requests to vendors, over real connections and with their own SDKs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.config import Config
from openai import DefaultHttpxClient, OpenAI
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import call, connected
from sakuin.platform.telemetry import REQUEST_HEADER, add_work_to_messages, instrument_client, sendable
from sakuin.platform.turbopuffer.client import connected as store_connected
from turbopuffer import DefaultHttpxClient as StoreSession

from tests.contracts.scripted_server import Said, ScriptedServer, scripted_server


@dataclass
class Times:
    """A `Meter` that records durations."""

    taken: list[tuple[str, float]] = field(default_factory=list)

    def count(self, name: str, value: float = 1) -> None:
        """Counts nothing."""

    def record_duration(self, name: str, milliseconds: float) -> None:
        self.taken.append((name, milliseconds))


@pytest.fixture
def vendor() -> Iterator[ScriptedServer]:
    with scripted_server(Said(400)) as server:
        yield server


def ask_openai(url: str, session: Any) -> None:
    client = OpenAI(api_key="k", base_url=url, max_retries=0, http_client=session)
    client.embeddings.create(model="m", input=["a"])


def ask_turbopuffer(url: str, session: Any) -> None:
    store_connected(url, "key", session).namespace("n").query(rank_by=("id", "asc"), top_k=1)


@pytest.mark.parametrize(
    ("ask", "session", "header", "system"),
    [
        # The header that OpenAI logs.
        (ask_openai, DefaultHttpxClient, "x-client-request-id", "Embedding"),
        (ask_turbopuffer, StoreSession, "x-request-id", "Store"),
    ],
)
def test_a_vendor_gets_the_work_s_id(vendor: ScriptedServer, ask: Any, session: Any, header: str, system: str) -> None:
    meter, made = Times(), session()
    instrument_client(made, meter, lambda: "work-1", header=header, system=system)
    with pytest.raises(Exception, match="400"):
        ask(vendor.url, made)
    assert vendor.headers[0][header] == "work-1"
    assert [name for name, _ in meter.taken] == [system]


def test_supabase_gets_the_work_s_current_id(vendor: ScriptedServer) -> None:
    meter, client, now = Times(), connected(vendor.url, "key"), ["work-1"]
    session = client.postgrest.session
    instrument_client(session, meter, lambda: now[0], header=REQUEST_HEADER, system="Database")
    for now[0] in ("work-1", "work-2", ""):
        with pytest.raises(Unavailable):
            call(client, "search_knowledge", {})
    assert [sent.get("x-request-id") for sent in vendor.headers] == ["work-1", "work-2", None]
    assert [name for name, milliseconds in meter.taken if milliseconds > 0] == ["Database"] * 3


def test_a_message_of_a_queue_carries_the_work_s_id(vendor: ScriptedServer) -> None:
    client = boto3.client(
        "sqs",
        endpoint_url=vendor.url,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 1}),
    )
    add_work_to_messages(client, lambda: "work-1")
    with pytest.raises(Exception, match="400"):
        client.send_message(QueueUrl=f"{vendor.url}/q", MessageBody="m")
    entries = [{"Id": number, "MessageBody": "m"} for number in "12"]
    with pytest.raises(Exception, match="400"):
        client.send_message_batch(QueueUrl=f"{vendor.url}/q", Entries=entries)
    attribute = b'"correlation_id": {"DataType": "String", "StringValue": "work-1"}'
    assert [body.count(attribute) for body in vendor.bodies] == [1, 2]


def test_an_id_loses_what_no_header_may_contain() -> None:
    assert sendable("a\r\nX-Admin: 題\x7f1") == "aX-Admin:1"
    assert len(sendable("x" * 1000)) == 128
