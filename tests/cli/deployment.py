"""A small deployment in this process: the functions' own handlers, the test database, AWS in memory, OpenAI's API."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from hashlib import md5
from typing import Any
from urllib.parse import quote_plus, unquote

import psycopg
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import FakeDeleteMarker, s3_backends
from moto.sqs.models import Message, sqs_backends
from sakuin.platform.supabase.client import Client, connected
from sakuin.wiring import api, index_material
from sakuin.wiring.clients import Clients
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys

from tests.conformance.gateway import behind_gateway
from tests.doubles.playground import ApiClients
from tests.emptied import emptied
from tests.events import Context, event, s3_message
from tests.functions import MATERIALS, QUEUES, Functions, functions_of

API_KEY, ADMIN_KEY = "sk_sakuin_agent", "sk_sakuin_admin"
# Where S3 would take uploads, and where this deployment does.
_BUCKET_URL, _BUCKET_PATH = f"https://{MATERIALS}.s3.amazonaws.com/", "/bucket/"


@dataclass
class Deployment:
    """What a command reaches at `url` and in AWS. While it is `stuck` nobody follows the bucket: `busy_with` happens.

    `failures` are statuses that the next requests get instead of their answers.
    """

    database: Database
    functions: Functions
    sql: psycopg.Connection
    url: str = ""
    stuck: bool = False
    busy_with: Callable[[], None] = lambda: None
    failures: list[int] = field(default_factory=list)
    index_materials: Callable[[dict[str, Any], Any], Any] = field(init=False)
    _followed: set[tuple[str, str]] = field(default_factory=set)
    _sequence: int = 0

    @property
    def client(self) -> Client:
        """The functions' connection to the database."""
        return connected(self.database.rest_url, self.database.service_key)

    def empty(self) -> None:
        """Leaves nothing of the test before."""
        emptied(self.sql)
        for key in list(self._stored):
            self._stored.setlist(key, [])
            self._stored.pop(key)
        # What a command asked for and its test did not wait for.
        for _ in self._delivered():
            pass
        for url in QUEUES:
            sqs_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].queues[url]._messages.clear()
        self.stuck, self.functions.openai.statuses, self.functions.openai.headers = False, [], {"retry-after-ms": "1"}
        self.failures.clear()
        self._followed.clear()

    def put(self, key: str, body: bytes) -> str:
        """Uploads a file and lets the index follow; returns the version."""
        version = self.write(key, body)
        self.settle()
        return version

    def write(self, key: str, body: bytes) -> str:
        """Uploads a file and returns the version."""
        return str(self.functions.s3.put_object(Bucket=MATERIALS, Key=key, Body=body)["VersionId"])

    def keys(self) -> list[str]:
        """The keys that the bucket holds now."""
        found = self.functions.s3.list_objects_v2(Bucket=MATERIALS).get("Contents", ())
        return [item["Key"] for item in found]

    def settle(self) -> None:
        """Delivers what happened in the bucket, and what lies in the queue, until there is nothing more."""
        for body in self._notifications():
            sqs_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].send_message(QUEUES[0], body)
        for message in self._delivered():
            answer = self.index_materials({"Records": [_record(message)]}, Context())
            assert not answer["batchItemFailures"], answer

    def _delivered(self) -> Iterator[Message]:
        """The messages of the queue; each is deleted after the next step."""
        queue = sqs_backends[DEFAULT_ACCOUNT_ID]["us-east-1"]
        while messages := queue.receive_message(QUEUES[0], 1, 0, 30):
            yield messages[0]
            queue.delete_message(QUEUES[0], str(messages[0].receipt_handle))

    def lose_events(self) -> None:
        """Forgets what happened in the bucket: the index is told nothing of it."""
        self._notifications()

    def _notifications(self) -> list[str]:
        """S3's messages about the versions that nobody has heard of, by key, the oldest first."""
        return [
            self._notification(key, version, removed=removed)
            for key, version, removed in self._versions()
            if (key, version) not in self._followed
        ]

    def _versions(self) -> list[tuple[str, str, bool]]:
        """Key, version and whether it is a delete marker, of all versions in the bucket."""
        kept = [(key, each) for key, versions in sorted(self._stored.lists()) for each in versions]
        return [(key, each.version_id, isinstance(each, FakeDeleteMarker)) for key, each in kept]

    @property
    def _stored(self) -> Any:
        """Moto's versions of each key. Its API takes longer than what most tests do; the commands ask it."""
        return s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[MATERIALS].keys

    def _notification(self, key: str, version: str, *, removed: bool) -> str:
        self._followed.add((key, version))
        self._sequence += 1
        name = "ObjectRemoved:DeleteMarkerCreated" if removed else "ObjectCreated:Put"
        sequencer, key = f"{self._sequence:012X}", quote_plus(key, safe="/")
        message = s3_message(key, version=version, sequencer=sequencer, bucket=MATERIALS, event_name=name)
        return json.dumps(message)


def _record(message: Message) -> dict[str, Any]:
    """A message of SQS as Lambda hands it over."""
    attributes = {
        name: {"stringValue": value["StringValue"], "dataType": "String"}
        for name, value in message.message_attributes.items()
    }
    times = {"SentTimestamp": message.sent_timestamp, "ApproximateReceiveCount": message.approximate_receive_count}
    return event("index_material.put")["Records"][0] | {
        "messageId": message.id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": {name: str(value) for name, value in times.items()},
        "messageAttributes": attributes,
    }


@contextmanager
def deployed(database: Database, **settings: str) -> Iterator[Deployment]:
    """The deployment for as long as the block runs, with `settings` of the functions besides those that they need."""
    needed = {
        "SUPABASE_URL": database.rest_url,
        "TURBOPUFFER_BASE_URL": "http://127.0.0.1:9",
        # Metrics are printed where the command prints.
        "POWERTOOLS_METRICS_DISABLED": "true",
    }
    with (
        functions_of(keys_of(database), **{**needed, **settings}) as functions,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        deployment = Deployment(database, functions, sql)
        with behind_gateway(lambda _url: _handler(deployment)) as url:
            deployment.url = url
            yield deployment


def keys_of(database: Database) -> dict[str, str]:
    """Returns the members of the secrets that are this deployment's own."""
    of_database = {"service_key": database.service_key, "search_key": Keys(database.jwt_secret).search}
    return {**of_database, "admin_key": ADMIN_KEY, "knowledge_key": API_KEY}


class _NotWaiting(ApiClients):
    """Those of `api`, whose SQS does not wait for messages: nobody sends while a test waits."""

    def aws(self, service: str) -> Any:
        client = super().aws(service)
        if service == "sqs":
            client.meta.events.register("provide-client-params.sqs.ReceiveMessage", _without_waiting)
        return client


def _without_waiting(params: dict[str, Any], **_event: object) -> None:
    params.pop("WaitTimeSeconds", None)


def _handler(deployment: Deployment) -> Any:
    """The handler that API Gateway would choose; before it says what became of uploads the index follows the bucket."""
    environ = deployment.functions.environ
    with redirect_stdout(io.StringIO()):
        agents = deployment.functions.mcp()
        rest = api.handler(replace(_NotWaiting.of(environ, "Api"), mcp=agents))
        deployment.index_materials = index_material.handler(Clients.of(environ, "Index"))

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        path = event["rawPath"]
        if deployment.failures:
            return {"statusCode": deployment.failures.pop(0), "headers": {}, "body": ""}
        if path == "/v1/files/results":
            deployment.busy_with() if deployment.stuck else deployment.settle()
        if path.startswith(_BUCKET_PATH):
            return _uploaded(deployment, event)
        answer: dict[str, Any] = (agents if path.startswith("/mcp") else rest)(event, context)
        if path == "/v1/files/uploads":
            answer["body"] = answer["body"].replace(_BUCKET_URL, deployment.url + _BUCKET_PATH)
            answer["headers"] |= {"content-length": str(len(answer["body"].encode()))}
        return answer

    return handle


def _uploaded(deployment: Deployment, event: dict[str, Any]) -> dict[str, Any]:
    """What S3 does with a PUT to a presigned URL: it compares the headers, and names the version."""
    body = event.get("body") or ""
    sent = base64.b64decode(body) if event["isBase64Encoded"] else body.encode()
    digest = base64.b64encode(md5(sent, usedforsecurity=False).digest()).decode()
    signed = "content-length%3Bcontent-md5%3Bcontent-type%3Bhost"
    if digest != event["headers"]["content-md5"] or signed not in event["rawQueryString"]:
        return {"statusCode": 400, "headers": {}, "body": ""}
    version = deployment.write(unquote(event["rawPath"].removeprefix(_BUCKET_PATH)), sent)
    return {"statusCode": 200, "headers": {"x-amz-version-id": version}, "body": ""}
