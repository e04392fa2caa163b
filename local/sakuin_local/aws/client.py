"""Clients of the emulator, independent of the caller's AWS settings."""

from typing import Any

import boto3
from botocore.config import Config

from sakuin_local.aws.emulator import ACCESS_KEY, REGION, SECRET_KEY, Emulator

_CONFIG = Config(connect_timeout=5, read_timeout=120, retries={"max_attempts": 2}, s3={"addressing_style": "path"})


def _session() -> Any:
    return boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION)


def client(emulator: Emulator, service: str) -> Any:
    """Returns boto3's client of a service."""
    return _session().client(service, endpoint_url=emulator.endpoint, config=_CONFIG)


def resource(emulator: Emulator, service: str) -> Any:
    """Returns boto3's resources of a service."""
    return _session().resource(service, endpoint_url=emulator.endpoint, config=_CONFIG)


def object_in(emulator: Emulator, bucket: str, key: str) -> bytes | None:
    """Returns an object of a bucket, None if there is none."""
    s3 = client(emulator, "s3")
    try:
        content: bytes = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return None
    return content
