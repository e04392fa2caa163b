"""The objects of a bucket that the emulator left without a stack."""

import boto3
import pytest
from moto import mock_aws
from sakuin_local.aws import deployment
from sakuin_local.aws.emulator import Emulator


def test_what_is_uploaded_while_a_bucket_is_set_aside_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        s3 = boto3.client("s3", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        monkeypatch.setattr(deployment, "client", lambda *_: s3)
        s3.create_bucket(Bucket="materials-1")
        s3.put_bucket_versioning(Bucket="materials-1", VersioningConfiguration={"Status": "Enabled"})
        s3.put_object(Bucket="materials-1", Key="a.html", Body=b"1", ContentType="text/html")
        late = [("b.html", b"2"), ("a.html", b"3")]

        def upload(**_: object) -> None:
            if late:
                key, body = late.pop(0)
                s3.put_object(Bucket="materials-1", Key=key, Body=body, ContentType="text/html")

        s3.meta.events.register("before-call.s3.DeleteObject", upload)
        nobody = Emulator.__new__(Emulator)
        deployment.set_aside(nobody, ("materials-",))
        assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == ["aside-materials-1"]
        s3.create_bucket(Bucket="materials-1")
        deployment.put_back(nobody)
        held = {each["Key"]: s3.get_object(Bucket="materials-1", Key=each["Key"])["Body"].read()
                for each in s3.list_objects_v2(Bucket="materials-1")["Contents"]}  # fmt: skip
    assert held == {"a.html": b"3", "b.html": b"2"}
