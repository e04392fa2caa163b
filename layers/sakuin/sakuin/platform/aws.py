"""Clients of AWS: short timeouts, few retries."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from sakuin.errors import Misconfigured

CONFIG = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3})

# Presigned URLs of version 2 are refused by newer regions and bind no header.
_SIGNED = CONFIG.merge(Config(signature_version="s3v4"))


def client(service: str, *, endpoint_url: str | None = None, **session: Any) -> Any:
    """boto3's client of a service; what `session` leaves None is looked up where boto3 always does."""
    try:
        # Its type has an overload for each of four hundred services.
        opened: Any = boto3.Session(**session)
        return opened.client(service, endpoint_url=endpoint_url, config=_SIGNED if service == "s3" else CONFIG)
    except (BotoCoreError, ValueError) as error:
        raise Misconfigured(f"The AWS settings cannot be used: {error}. Correct the AWS_ variables") from error
