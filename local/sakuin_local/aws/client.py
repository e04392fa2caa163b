"""Clients of the emulator, independent of the caller's AWS settings."""

from typing import Any

import boto3
from botocore.config import Config

from sakuin_local.aws.emulator import ACCESS_KEY, REGION, SECRET_KEY, Emulator


def client(emulator: Emulator, service: str) -> Any:
    """Returns boto3's client of a service."""
    session: Any = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION)
    config = Config(connect_timeout=5, read_timeout=120, retries={"max_attempts": 2}, s3={"addressing_style": "path"})
    return session.client(service, endpoint_url=emulator.endpoint, config=config)


def object_in(emulator: Emulator, bucket: str, key: str) -> bytes | None:
    """Returns an object of a bucket, None if there is none."""
    s3 = client(emulator, "s3")
    try:
        content: bytes = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return None
    return content
