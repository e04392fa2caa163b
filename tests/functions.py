"""The functions of a deployment in this process: their secrets, and AWS in memory."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters
from moto import mock_aws
from sakuin.platform.aws import Handler
from sakuin.platform.keys import hash_of_key
from sakuin.platform.secrets import search_secret
from sakuin.wiring import mcp
from sakuin.wiring.clients import Clients

from tests.contracts.openai_server import OpenAIServer, openai_server
from tests.doubles.embedder import MODEL
from tests.environment import environment

QUEUES = tuple(f"{name}_{kind}_URL" for kind in ("QUEUE", "DEAD_LETTERS") for name in ("MATERIAL", "TOOL", "EMBED"))
BUCKETS = MATERIALS, TABLES = "materials", "tables"
VENDOR_KEYS = {"openai_api_key": "openai-key-of-this-test", "turbopuffer_api_key": "turbopuffer-key-of-this-test"}
Secrets = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Functions:
    """The environment of the functions, the name of their secret, and clients of AWS: making one takes long."""

    environ: dict[str, str]
    secret: str
    openai: OpenAIServer
    s3: Any

    def mcp(self) -> Handler:
        """Returns the handler of the function `mcp`, which reads a secret of its own."""
        name = search_secret(self.environ["SECRET_NAME"])
        return mcp.handler(Clients.of({**self.environ, "SECRET_NAME": name}, "Search"))


def secrets(
    name: str, *, service_key: str, search_key: str, admin_key: str, knowledge_key: str, **both: object
) -> Secrets:
    """Returns the secrets of the functions by name."""
    main = {"supabase_service_key": service_key, "admin_key_hashes": [hash_of_key(admin_key)]}
    search = {"supabase_search_key": search_key, "knowledge_key_hashes": [hash_of_key(knowledge_key)]}
    return {name: {**VENDOR_KEYS, **both, **main}, search_secret(name): {**VENDOR_KEYS, **both, **search}}


@contextmanager
def functions_of(members: Mapping[str, Any], **settings: str) -> Iterator[Functions]:
    """Yields functions whose `secrets` have these members, with `settings` besides those that they need."""
    with mock_aws(), openai_server() as openai, pytest.MonkeyPatch.context() as patched:
        # One deployment may run inside another.
        name = f"functions-{uuid4()}"
        s3, sqs = boto3.client("s3"), boto3.client("sqs")
        for bucket in BUCKETS:
            s3.create_bucket(Bucket=bucket)
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        boto3.client("events").create_event_bus(Name=name)
        for each, secret in secrets(name, **members).items():
            boto3.client("secretsmanager").create_secret(Name=each, SecretString=json.dumps(secret))
        given = {
            # Powertools keeps a logger, and where it writes to, by this name.
            "POWERTOOLS_SERVICE_NAME": name,
            "POWERTOOLS_TRACE_DISABLED": "true",
            "SECRET_NAME": name,
            "EVENT_BUS_NAME": name,
            "MATERIALS_BUCKET": MATERIALS,
            "TABLES_BUCKET": TABLES,
            "OPENAI_BASE_URL": openai.url,
            "EMBEDDING_MODEL": MODEL.name,
            "LEARNS_MODEL": "",
            **{queue: sqs.create_queue(QueueName=queue)["QueueUrl"] for queue in QUEUES},
        }
        environ = environment(**{**given, **settings})
        for variable, value in environ.items():
            patched.setenv(variable, value)
        yield Functions(environ, name, openai, s3)
        parameters.clear_caches()
