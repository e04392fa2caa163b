"""Objects of buckets that a crash of the emulator left without a stack."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from sakuin_local.aws.client import client
from sakuin_local.aws.emulator import Emulator

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_INDEX = "objects.json"


def set_aside(emulator: Emulator, prefixes: tuple[str, ...], folder: Path) -> None:
    """Copies the objects of these buckets into `folder` and removes the buckets: creating the stack needs their names.

    A bucket is removed only when its copy is complete, so a run that was killed can be repeated.
    """
    s3 = client(emulator, "s3")
    for bucket in (each["Name"] for each in s3.list_buckets()["Buckets"] if each["Name"].startswith(prefixes)):
        copy = folder / bucket
        if not (copy / _INDEX).exists():
            _copy(s3, bucket, copy)
        _remove(s3, bucket)


def put_back(emulator: Emulator, folder: Path) -> int:
    """Uploads the copied objects as new versions, whose events index them again; returns their number."""
    s3, count = client(emulator, "s3"), 0
    for index in sorted(folder.glob(f"*/{_INDEX}")):
        for name, (key, content_type) in json.loads(index.read_text()).items():
            body = (index.parent / name).read_bytes()
            s3.put_object(Bucket=index.parent.name, Key=key, Body=body, ContentType=content_type)
            count += 1
        shutil.rmtree(index.parent)
    return count


def _copy(s3: "S3Client", bucket: str, copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    index: dict[str, tuple[str, str]] = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", []):
            found = s3.get_object(Bucket=bucket, Key=entry["Key"])
            # A key may not be a valid file name.
            name = str(len(index))
            (copy / name).write_bytes(found["Body"].read())
            index[name] = (entry["Key"], found["ContentType"])
    unfinished = copy / f"{_INDEX}.new"
    unfinished.write_text(json.dumps(index))
    unfinished.rename(copy / _INDEX)


def _remove(s3: "S3Client", bucket: str) -> None:
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for each in (*page.get("Versions", []), *page.get("DeleteMarkers", [])):
            s3.delete_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])
    s3.delete_bucket(Bucket=bucket)
