"""Clients of AWS with short timeouts and few retries, and calls of another Lambda function."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import Misconfigured, Unavailable

_CONFIG = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3})
# Newer regions reject presigned URLs of version 2, and those include no header in the signature.
_S3_CONFIG = _CONFIG.merge(Config(signature_version="s3v4"))


@cache
def session(**options: Any) -> Any:
    """Returns boto3's session. A new one would load its data and credentials again, for 40 ms a client."""
    return boto3.Session(**options)


def client(service: str, *, endpoint_url: str | None = None, **options: Any) -> Any:
    """Returns boto3's client of a service. `options` override what boto3 finds in its own configuration."""
    try:
        return session(**options).client(
            service, endpoint_url=endpoint_url, config=_S3_CONFIG if service == "s3" else _CONFIG
        )
    except (BotoCoreError, ValueError) as error:
        raise Misconfigured(f"The AWS settings are wrong: {error}. Correct the AWS_ variables") from error


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """One function by its ARN; `client` is boto3's."""

    client: Any
    arn: str

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """Returns the function's answer; `Unavailable` if it does not answer or fails."""
        try:
            response = self.client.invoke(FunctionName=self.arn, Payload=json.dumps(event))
            answer = json.loads(response["Payload"].read())
        except (BotoCoreError, ClientError, ValueError) as error:
            raise Unavailable(f"The function {self.arn} did not answer", vendor="lambda") from error
        if "FunctionError" in response or not isinstance(answer, dict):
            raise Unavailable(f"The function {self.arn} failed", vendor="lambda")
        return answer
