"""Objects of buckets that a crash of the emulator left without a stack."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from sakuin_local.aws.client import client
from sakuin_local.aws.emulator import Emulator

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_INDEX = "objects.json"


def set_aside(emulator: Emulator, prefixes: tuple[str, ...], folder: Path) -> None:
    """Moves the objects of these buckets into `folder` and removes the buckets: creating the stack needs their names.

    Nothing is lost if this is killed and repeated, or if somebody uploads meanwhile.
    """
    s3 = client(emulator, "s3")
    for bucket in (each["Name"] for each in s3.list_buckets()["Buckets"] if each["Name"].startswith(prefixes)):
        while not _moved(s3, bucket, folder / bucket):
            # Something was uploaded after the versions were listed.
            pass


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


def _moved(s3: "S3Client", bucket: str, copy: Path) -> bool:
    """Copies the bucket's objects, then deletes the versions that it had; returns whether the bucket is gone."""
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    versions = [each for page in pages for each in (*page.get("Versions", []), *page.get("DeleteMarkers", []))]
    _copy(s3, bucket, copy)
    for each in versions:
        s3.delete_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])
    try:
        s3.delete_bucket(Bucket=bucket)
    except ClientError as error:
        if error.response["Error"]["Code"] != "BucketNotEmpty":
            raise
        return False
    return True


def _copy(s3: "S3Client", bucket: str, copy: Path) -> None:
    """Adds the bucket's objects to the copy, behind those that an earlier run has copied."""
    copy.mkdir(parents=True, exist_ok=True)
    complete = copy / _INDEX
    index: dict[str, tuple[str, str]] = json.loads(complete.read_text()) if complete.exists() else {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", []):
            found = s3.get_object(Bucket=bucket, Key=entry["Key"])
            # A key may not be a valid file name.
            name = str(len(index))
            (copy / name).write_bytes(found["Body"].read())
            index[name] = (entry["Key"], found["ContentType"])
    unfinished = copy / f"{_INDEX}.new"
    unfinished.write_text(json.dumps(index))
    unfinished.rename(complete)
