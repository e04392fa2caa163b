"""A SAM template: read, and with its code replaced by uploaded archives, as `sam package` does it."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

Template = dict[str, Any]
# Uploads the code in a folder for a resource; returns the address of the archive.
Upload = Callable[[str, Path], str]

_SEND = "sqs:SendMessage"
CODE = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]  # the third kind of node
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)
# `2012-10-17` is the version of a policy, not a date.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_template(file: Path) -> Template:
    """Returns the template with CloudFormation's long forms, so that it can be sent as JSON."""
    # This is the safe loader with additional tags.
    loaded: Template = yaml.load(file.read_text(), Loader=_Loader)  # noqa: S506
    return loaded


def with_batch_permissions(template: Template) -> Template:
    """Returns a copy in which a permission to send a message also permits a batch of messages.

    On AWS `sqs:SendMessage` permits both. The emulator checks the name of the request.
    """
    done = deepcopy(template)
    _add_batch_permissions(done["Resources"])
    return done


def without_alarms(template: Template) -> Template:
    """Returns a copy without alarms and their dashboard: the emulator does not compute with metrics."""
    kinds = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard")
    resources = {name: one for name, one in template["Resources"].items() if one["Type"] not in kinds}
    outputs = {name: one for name, one in template["Outputs"].items() if one["Value"] != {"Ref": "SakuinDashboard"}}
    return template | {"Resources": resources, "Outputs": outputs}


def _add_batch_permissions(part: object) -> None:
    if isinstance(part, dict):
        actions = part.get("Action")
        named = [actions] if isinstance(actions, str) else actions
        if isinstance(named, list) and _SEND in named:
            part["Action"] = [*named, f"{_SEND}Batch"]
        for each in part.values():
            _add_batch_permissions(each)
    elif isinstance(part, list):
        for each in part:
            _add_batch_permissions(each)


def with_numbers(template: Template, parameters: Mapping[str, str]) -> Template:
    """Returns a copy in which the concurrency of queues' functions is a number.

    CloudFormation converts the value of a parameter to the type of the property. The emulator keeps it as text, and its
    pollers then compare text with a number.
    """
    done = deepcopy(template)
    for resource in done["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            for event in resource["Properties"].get("Events", {}).values():
                scaling = event["Properties"].get("ScalingConfig", {})
                for name, value in scaling.items():
                    default = template["Parameters"][value["Ref"]]["Default"]
                    scaling[name] = int(parameters.get(value["Ref"], default))
    return done


def packaged(template: Template, root: Path, upload: Upload) -> Template:
    """Returns a copy with the address of an uploaded archive in place of every local folder of code."""
    done = deepcopy(template)
    for name, resource in done["Resources"].items():
        key = CODE.get(resource["Type"])
        uri = resource.get("Properties", {}).get(key) if key else None
        if isinstance(uri, str) and not uri.startswith("s3://"):
            resource["Properties"][key] = upload(name, (root / uri).resolve())
    return done
