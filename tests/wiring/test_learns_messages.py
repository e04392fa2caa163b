"""The functions `index_material` and `maintain` together: a page, then the learns of a language model."""

import json
import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from sakuin.wiring import index_material, maintain
from sakuin.wiring.clients import Clients
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.contracts.openai_server import OpenAIServer
from tests.events import Context, queue_event, s3_message
from tests.isolation.stack import Stack, stack_of

ITEMS = ["公式に代入する方法", "符号を確かめる手順", "根号の計算"]


@pytest.fixture
def stack(database: Database, stand_in: str, openai: OpenAIServer) -> Iterator[Stack]:
    openai.said = json.dumps({"items": [{"anchor": "rule-a", "learns": ITEMS}]})
    with stack_of(database, stand_in, LEARNS_MODEL="gpt-6-luna", OPENAI_BASE_URL=openai.url) as made:
        yield made


def index(body: object) -> None:
    handler = index_material.handler(Clients.of(os.environ, "Index"))
    assert handler(queue_event(body), Context()) == {"batchItemFailures": []}


def test_maintenance_sends_the_message_and_its_worker_asks_the_model(stack: Stack, openai: OpenAIServer) -> None:
    s3 = boto3.client("s3", "us-east-1")
    s3.put_bucket_versioning(Bucket="materials", VersioningConfiguration={"Status": "Enabled"})
    version = s3.put_object(Bucket="materials", Key="a.html", Body=a_page({"rule-a": "公式: 係数を代入する。"}))
    index(s3_message("a.html", version=version["VersionId"]))
    assert learns(stack)[0] == "provisional"
    maintain.handler(Clients.of(os.environ, "Maintain"))({}, Context())
    queue = {"QueueUrl": os.environ["MATERIAL_QUEUE_URL"]}
    bodies = [json.loads(one["Body"]) for one in boto3.client("sqs", "us-east-1").receive_message(**queue)["Messages"]]
    assert bodies == [{"learns": {"material": "a"}}]
    assert not any("messages" in request for request in openai.requests)
    index(bodies[0])
    assert learns(stack) == ("model", ITEMS)
    assert [request["model"] for request in openai.requests if "messages" in request] == ["gpt-6-luna"]


def learns(stack: Stack) -> tuple[str, Any]:
    row = stack.sql.execute("select learns_source, learns from knowledge_chunks").fetchone()
    assert row is not None
    return row[0], row[1]
