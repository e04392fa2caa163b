"""The template deployed on the emulator, as `sam deploy` does it."""

import contextlib
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from sakuin_local.aws.client import client
from sakuin_local.aws.emulator import Emulator
from sakuin_local.aws.layers import layer_archive
from sakuin_local.aws.template import (
    Template,
    packaged,
    read_template,
    with_batch_permissions,
    with_numbers,
    without_alarms,
)
from sakuin_local.errors import LocalError

ARTIFACTS = "sakuin-artifacts"
# Of waiters: seconds between two looks, and how many there are.
_OFTEN = {"Delay": 0.05, "MaxAttempts": 2400}
# Before the name of a bucket.
_ASIDE = "aside-"


def put_secrets(emulator: Emulator, values: Mapping[str, str]) -> None:
    """Stores secrets by name."""
    secrets = client(emulator, "secretsmanager")
    for name, value in values.items():
        try:
            secrets.create_secret(Name=name, SecretString=value)
        except secrets.exceptions.ResourceExistsException:
            secrets.put_secret_value(SecretId=name, SecretString=value)


def uploaded_template(emulator: Emulator, file: Path, *, minor: str) -> Template:
    """Returns the template with its code uploaded; unchanged code keeps its name, so it is not deployed again."""
    template = without_alarms(with_batch_permissions(read_template(file)))
    s3 = client(emulator, "s3")
    _create_bucket(s3, ARTIFACTS)
    root = file.parent

    def upload(name: str, folder: Path) -> str:
        is_layer = template["Resources"][name]["Type"] == "AWS::Serverless::LayerVersion"
        body = layer_archive(folder, minor=minor) if is_layer else zipped(folder)
        key = f"{name}-{hashlib.sha256(body).hexdigest()[:16]}.zip"
        s3.put_object(Bucket=ARTIFACTS, Key=key, Body=body)
        return f"s3://{ARTIFACTS}/{key}"

    return packaged(template, root, upload)


def deploy(emulator: Emulator, stack: str, template: Template, parameters: Mapping[str, str]) -> dict[str, str]:
    """Creates or updates the stack, waits until it is ready, and returns its outputs.

    A crash of the emulator leaves buckets without a stack: their objects are set aside and put back.
    """
    formation = client(emulator, "cloudformation")
    unknown = sorted(set(parameters) - set(template["Parameters"]))
    if unknown:
        raise LocalError(f"template.yaml has no parameter {', '.join(unknown)}")
    url = _template_url(emulator, with_numbers(template, parameters))
    try:
        exists = _exists(formation, stack)
        if not exists:
            set_aside(emulator, _bucket_names(template, stack))
        _submit(formation, stack, url, parameters, exists=exists)
        _wait_for_versions(emulator, formation, stack)
    except WaiterError as error:
        raise LocalError(f"the deployment failed: {error}\n{_failures(formation, stack)}") from error
    put_back(emulator)
    described = formation.describe_stacks(StackName=stack)["Stacks"][0]
    return {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", [])}


def zipped(folder: Path) -> bytes:
    """Returns a zip of the folder without bytecode and times: the same code is the same zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.writestr(zipfile.ZipInfo(str(file.relative_to(folder))), file.read_bytes())
    return buffer.getvalue()


def _template_url(emulator: Emulator, template: Template) -> str:
    # CloudFormation accepts 51,200 characters in a request, 1 MB from S3.
    body = json.dumps(template).encode()
    key = f"template-{hashlib.sha256(body).hexdigest()[:16]}.json"
    s3 = client(emulator, "s3")
    _create_bucket(s3, ARTIFACTS)
    s3.put_object(Bucket=ARTIFACTS, Key=key, Body=body)
    return f"https://s3.amazonaws.com/{ARTIFACTS}/{key}"


def _bucket_names(template: Template, stack: str) -> tuple[str, ...]:
    """Returns the prefixes of the names of the template's buckets."""
    buckets = [each for each in template["Resources"].values() if each["Type"] == "AWS::S3::Bucket"]
    names = [each["Properties"]["BucketName"]["Fn::Sub"] for each in buckets]
    return tuple(name.replace("${AWS::StackName}", stack).split("${")[0] for name in names)


def _submit(formation: Any, stack: str, url: str, parameters: Mapping[str, str], *, exists: bool) -> None:
    """Creates or updates the stack and waits until it is complete; raises `WaiterError` if it does not become so."""
    try:
        (formation.update_stack if exists else formation.create_stack)(
            StackName=stack,
            TemplateURL=url,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        )
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return
        raise LocalError(f"CloudFormation rejected the template: {error}") from error
    waiter = formation.get_waiter(f"stack_{'update' if exists else 'create'}_complete")
    waiter.wait(StackName=stack, WaiterConfig=_OFTEN)


def _exists(formation: Any, stack: str) -> bool:
    """Returns whether there is a stack to update. Deletes one whose creation failed: it cannot be updated."""
    try:
        status = formation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
    except ClientError:
        return False
    if status not in ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"):
        return bool(status != "DELETE_COMPLETE")
    formation.delete_stack(StackName=stack)
    formation.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig=_OFTEN)
    return False


def _wait_for_versions(emulator: Emulator, formation: Any, stack: str) -> None:
    """Waits until every alias can be called: AWS does so by itself, the emulator does not."""
    waiter = client(emulator, "lambda").get_waiter("published_version_active")
    for resource in formation.describe_stack_resources(StackName=stack)["StackResources"]:
        if resource["ResourceType"] == "AWS::Lambda::Alias":
            waiter.wait(FunctionName=resource["PhysicalResourceId"], WaiterConfig=_OFTEN)


def _failures(formation: Any, stack: str) -> str:
    events = formation.describe_stack_events(StackName=stack)["StackEvents"]
    return "\n".join(
        f"  {event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason', '')}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("FAILED")
    )


# ---------------------------------------------------------------- buckets that a crash left without a stack


def set_aside(emulator: Emulator, prefixes: tuple[str, ...]) -> None:
    """Moves the objects of these buckets into others and removes the buckets: creating the stack needs their names."""
    s3 = client(emulator, "s3")
    for bucket in (each["Name"] for each in s3.list_buckets()["Buckets"] if each["Name"].startswith(prefixes)):
        _move(s3, bucket, f"{_ASIDE}{bucket}")


def put_back(emulator: Emulator) -> None:
    """Moves objects back as new versions, whose events index them again."""
    s3 = client(emulator, "s3")
    for bucket in (each["Name"] for each in s3.list_buckets()["Buckets"] if each["Name"].startswith(_ASIDE)):
        _move(s3, bucket, bucket.removeprefix(_ASIDE))


def _move(s3: Any, source: str, target: str) -> None:
    """Copies the objects of a bucket to another and removes the bucket with all versions.

    Nothing is lost if this is killed and repeated, or if somebody uploads meanwhile.
    """
    _create_bucket(s3, target)
    is_gone = False
    while not is_gone:
        pages = list(s3.get_paginator("list_object_versions").paginate(Bucket=source))
        for version in (each for page in pages for each in page.get("Versions", ()) if each["IsLatest"]):
            s3.copy_object(Bucket=target, Key=version["Key"], CopySource={"Bucket": source, "Key": version["Key"]})
        for each in (each for page in pages for each in (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))):
            s3.delete_object(Bucket=source, Key=each["Key"], VersionId=each["VersionId"])
        try:
            s3.delete_bucket(Bucket=source)
            is_gone = True
        except ClientError as error:
            # Something was uploaded after the versions were listed.
            if error.response["Error"]["Code"] != "BucketNotEmpty":
                raise


def _create_bucket(s3: Any, name: str) -> None:
    # After a crash the emulator reports buckets as existing that it otherwise accepts.
    with contextlib.suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=name)
