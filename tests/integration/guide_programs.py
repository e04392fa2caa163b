"""The programs of the guides that a machine without an account lacks, as far as the guides use them.

`aws` is boto3 behind the names of the AWS CLI: a command, an option or a query that is not there fails. `sam deploy`
makes a stack with the outputs of the local one, and accepts the keys that the guide created. The others do nothing.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import boto3
import jmespath
from botocore import xform_name
from botocore.validate import validate_parameters

# Services that the emulator does not have: their parameters are checked against the model of boto3.
NOT_EMULATED = ("budgets",)
BUCKETS = ("materials", "tables")


def aws(service: str, command: str = "", *options: str) -> None:
    """One command of the AWS CLI."""
    if service == "configure":
        return
    client = boto3.client(service)
    if (service, command) == ("s3", "sync"):
        _sync(client, *options)
        return
    operation = {xform_name(name, "-"): name for name in client.meta.service_model.operation_names}[command]
    shape = client.meta.service_model.operation_model(operation).input_shape
    members = {xform_name(name, "-"): name for name in shape.members}
    given = dict(zip((option.removeprefix("--") for option in options[::2]), options[1::2], strict=True))
    query, output = given.pop("query", None), given.pop("output", "json")
    asked = {members[name]: _value(shape.members[members[name]], value) for name, value in given.items()}
    if service in NOT_EMULATED:
        validate_parameters(asked, shape)
        return
    answer = getattr(client, xform_name(operation))(**asked)
    answer.pop("ResponseMetadata", None)
    shown = jmespath.search(query, answer) if query else answer
    if output == "text":
        print(*shown if isinstance(shown, list) else [shown], sep="\t")
    else:
        print(json.dumps(shown, default=str))


def _sync(s3: Any, source: str, target: str) -> None:
    """`aws s3 sync`: the current objects of a bucket into a folder, or the files of a folder into a bucket."""
    if source.startswith("s3://"):
        bucket = source.removeprefix("s3://")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for one in page.get("Contents", ()):
                path = Path(target) / one["Key"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read())
        return
    for path in sorted(Path(source).rglob("*")):
        if path.is_file():
            key = path.relative_to(source).as_posix()
            s3.put_object(Bucket=target.removeprefix("s3://"), Key=key, Body=path.read_bytes())


def _value(shape: Any, text: str) -> Any:
    text = Path(text.removeprefix("file://")).read_text() if text.startswith("file://") else text
    return json.loads(text) if shape.type_name in ("structure", "list", "map") else text


def sam(*arguments: str) -> None:
    """`sam deploy` and `sam delete`; building is what `make build` tests."""
    if arguments[0] == "--version":
        print("SAM CLI, version 1.170.0")
    elif arguments[0] == "deploy":
        _deploy()
    elif arguments[0] == "delete":
        _cloudformation().delete_stack(StackName=arguments[arguments.index("--stack-name") + 1])


def _deploy() -> None:
    local, secret = os.environ["GUIDE_STACK"], boto3.client("secretsmanager")
    found = _cloudformation().describe_stacks(StackName=local)["Stacks"][0]["Outputs"]
    outputs = {one["OutputKey"]: {"Value": one["OutputValue"]} for one in found}
    outputs["ApiUrl"], outputs["McpUrl"] = ({"Value": os.environ["GUIDE_URL"] + path} for path in ("", "/mcp"))
    template = {"Resources": {"Nothing": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs}
    account, region = boto3.client("sts").get_caller_identity()["Account"], boto3.Session().region_name
    for bucket in BUCKETS:
        boto3.client("s3").create_bucket(Bucket=f"sakuin-prod-{bucket}-{account}-{region}")
    names = [one["StackName"] for one in _cloudformation().describe_stacks()["Stacks"]]
    if "sakuin-prod" not in names:
        _cloudformation().create_stack(StackName="sakuin-prod", TemplateBody=json.dumps(template))
    for suffix, member in (("", "admin_key_hashes"), ("-search", "knowledge_key_hashes")):
        name, own = os.environ["GUIDE_SECRET"] + suffix, "sakuin/prod" + suffix
        now, made = (json.loads(secret.get_secret_value(SecretId=each)["SecretString"]) for each in (name, own))
        now[member] = [*now[member], *made[member]]
        secret.put_secret_value(SecretId=name, SecretString=json.dumps(now))


def _cloudformation() -> Any:
    return boto3.client("cloudformation")


def npx(*arguments: str) -> None:
    """`npx supabase@… db push --remote URL --yes`."""
    # The other programs start faster without it.
    from sakuin_local.supabase.migrations import apply_migrations

    package, *command, remote, url, yes = arguments
    assert (package[:9], command, remote, yes) == ("supabase@", ["db", "push"], "--remote", "--yes"), arguments
    apply_migrations(url, Path("supabase/migrations"))


def main(program: str, *arguments: str) -> None:
    {"aws": aws, "sam": sam, "npx": npx}.get(program, lambda *_arguments: None)(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
