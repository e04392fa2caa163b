"""The template on the emulator, deployed as `sam deploy` would."""

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from sakuin_local.archives import zipped
from sakuin_local.aws import client
from sakuin_local.emulator import Emulator
from sakuin_local.errors import LocalError
from sakuin_local.layers import layer_archive
from sakuin_local.rescue import put_back, set_aside
from sakuin_local.template import Template, packaged, read_template, with_rights_to_batches

if TYPE_CHECKING:
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_s3 import S3Client

ARTIFACTS = "sakuin-artifacts"
_SETTLED_S = 120


def put_secret(emulator: Emulator, name: str, value: str) -> None:
    """Store it under this name."""
    secrets = client(emulator, "secretsmanager")
    try:
        secrets.create_secret(Name=name, SecretString=value)
    except secrets.exceptions.ResourceExistsException:
        secrets.put_secret_value(SecretId=name, SecretString=value)


def uploaded_template(emulator: Emulator, file: Path, *, minor: str) -> Template:
    """The template with its code uploaded; the same code has the same name, so nothing is deployed again."""
    template = with_rights_to_batches(read_template(file))
    s3 = client(emulator, "s3")
    _bucket_for_artifacts(s3)
    root = file.parent

    def upload(name: str, folder: Path) -> str:
        is_layer = template["Resources"][name]["Type"] == "AWS::Serverless::LayerVersion"
        body = layer_archive(folder, minor=minor) if is_layer else zipped(folder)
        key = f"{name}-{hashlib.sha256(body).hexdigest()[:16]}.zip"
        s3.put_object(Bucket=ARTIFACTS, Key=key, Body=body)
        return f"s3://{ARTIFACTS}/{key}"

    return packaged(template, root, upload)


def deploy(
    emulator: Emulator, stack: str, template: Template, parameters: Mapping[str, str], *, rescue: Path
) -> dict[str, str]:
    """Create or update the stack and wait for it; its outputs.

    Buckets that a crash left without a stack are set aside in the folder `rescue`, and their objects come back.
    """
    formation = client(emulator, "cloudformation")
    if not _exists(formation, stack):
        set_aside(emulator, _bucket_names(template, stack), rescue)
    known = template["Parameters"]
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise LocalError(f"template.yaml has no parameter {', '.join(unknown)}")
    _submit(formation, stack, _template_url(emulator, template), parameters)
    status, reason = _settled(formation, stack)
    if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise LocalError(f"the deployment ended in {status} {reason}\n{_failures(formation, stack)}")
    _wait_for_versions(emulator, formation, stack)
    put_back(emulator, rescue)
    described = formation.describe_stacks(StackName=stack)["Stacks"][0]
    return {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", [])}


def _template_url(emulator: Emulator, template: Template) -> str:
    # CloudFormation takes 51,200 characters in a request, a megabyte from S3.
    body = json.dumps(template).encode()
    key = f"template-{hashlib.sha256(body).hexdigest()[:16]}.json"
    s3 = client(emulator, "s3")
    _bucket_for_artifacts(s3)
    s3.put_object(Bucket=ARTIFACTS, Key=key, Body=body)
    return f"https://s3.amazonaws.com/{ARTIFACTS}/{key}"


def _bucket_names(template: Template, stack: str) -> tuple[str, ...]:
    """What the names of the template's buckets begin with."""
    buckets = [each for each in template["Resources"].values() if each["Type"] == "AWS::S3::Bucket"]
    names = [each["Properties"]["BucketName"]["Fn::Sub"] for each in buckets]
    return tuple(name.replace("${AWS::StackName}", stack).split("${")[0] for name in names)


def _bucket_for_artifacts(s3: "S3Client") -> None:
    # After a crash the emulator knows its buckets by their files alone, and complains where it else would not.
    with contextlib.suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=ARTIFACTS)


def _submit(formation: "CloudFormationClient", stack: str, url: str, parameters: Mapping[str, str]) -> None:
    submit = formation.update_stack if _exists(formation, stack) else formation.create_stack
    try:
        submit(
            StackName=stack,
            TemplateURL=url,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        )
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise LocalError(f"the template was refused: {error}") from error


def _exists(formation: "CloudFormationClient", stack: str) -> bool:
    """Whether there is a stack to update; one whose creation failed is removed, as it cannot be updated."""
    status, _ = _status(formation, stack)
    if status in ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"):
        formation.delete_stack(StackName=stack)
        status, _ = _settled(formation, stack)
    return status != "DELETE_COMPLETE"


def _wait_for_versions(emulator: Emulator, formation: "CloudFormationClient", stack: str) -> None:
    """CloudFormation waits until what an alias points at can be called; the emulator's does not."""
    functions = client(emulator, "lambda")
    resources = formation.describe_stack_resources(StackName=stack)["StackResources"]
    deadline = time.monotonic() + _SETTLED_S
    for alias in (one["PhysicalResourceId"] for one in resources if one["ResourceType"] == "AWS::Lambda::Alias"):
        while (state := functions.get_function_configuration(FunctionName=alias)["State"]) == "Pending":
            if time.monotonic() > deadline:
                raise LocalError(f"{alias} is still {state} after {_SETTLED_S} s: see logs/emulator.log")
            time.sleep(0.05)


def _settled(formation: "CloudFormationClient", stack: str, *, timeout_s: float = _SETTLED_S) -> tuple[str, str]:
    deadline = time.monotonic() + timeout_s
    while True:
        status, reason = _status(formation, stack)
        if not status.endswith("IN_PROGRESS"):
            return status, reason
        if time.monotonic() > deadline:
            raise LocalError(f"the deployment is still {status} after {timeout_s:.0f} s")
        time.sleep(0.05)


def _status(formation: "CloudFormationClient", stack: str) -> tuple[str, str]:
    """Its status and why; a stack that is not there counts as deleted."""
    try:
        described = formation.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError:
        return "DELETE_COMPLETE", ""
    return described["StackStatus"], described.get("StackStatusReason", "")


def _failures(formation: "CloudFormationClient", stack: str) -> str:
    events = formation.describe_stack_events(StackName=stack)["StackEvents"]
    return "\n".join(
        f"  {event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason', '')}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("FAILED")
    )
