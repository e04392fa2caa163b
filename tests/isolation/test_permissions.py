"""The rights of each function's role in AWS: its own work, on named resources of this stack."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

import pytest
from sakuin.platform.secrets import search_secret

from tests.test_template import FUNCTIONS, TEMPLATE, resources

# X-Ray's two actions know no resource (AWS's Service Authorization Reference).
WITHOUT_RESOURCE = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
# Whatever a role is for; more is a decision that belongs here.
SERVICES = {"lambda", "logs", "s3", "secretsmanager", "sqs", "events", "xray"}
OURS = re.compile(r"AWS::StackName|SecretName")


def rights(role: str) -> Iterator[tuple[str, str]]:
    """Each action of a role with one resource, as the template writes it."""
    for policy in resources("AWS::IAM::Role")[role]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            assert statement["Effect"] == "Allow"
            for action in _listed(statement["Action"]):
                for resource in _listed(statement["Resource"]):
                    yield action, _written(resource)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _written(resource: Any) -> str:
    if isinstance(resource, str):
        return resource
    ((kind, value),) = resource.items()
    parts = [value] if isinstance(value, str) else [part for part in value if isinstance(part, str)]
    return f"{kind.removeprefix('Fn::')} {'.'.join(parts)}"


def role_of(function: str) -> str:
    return str(FUNCTIONS[function]["Role"]["Fn::GetAtt"][0])


ROLES = sorted(resources("AWS::IAM::Role"))


@pytest.mark.parametrize("role", ROLES)
def test_a_right_names_one_thing_of_this_stack(role: str) -> None:
    for action, resource in rights(role):
        assert action.partition(":")[0] in SERVICES, action
        assert "*" not in action
        if resource == "*":
            assert action in WITHOUT_RESOURCE, action
        elif resource.startswith(("GetAtt ", "Ref ")):
            assert resource.partition(" ")[2].partition(".")[0] in TEMPLATE["Resources"], resource
        else:
            assert OURS.search(resource), (action, resource)


def test_a_role_is_one_function_s_own() -> None:
    assert sorted(role_of(function) for function in FUNCTIONS) == ROLES


def test_a_role_has_the_rights_that_are_listed_and_no_other() -> None:
    """A new right is a decision: it belongs into `roles.json`."""
    listed = json.loads(Path(__file__).with_name("roles.json").read_text("utf-8"))
    found: dict[str, dict[str, list[str]]] = {role: defaultdict(list) for role in ROLES}
    for role in ROLES:
        for action, resource in sorted(rights(role)):
            found[role][resource].append(action)
    assert found == listed


def test_no_pattern_of_a_secret_matches_another_one() -> None:
    suffix = "-??????"
    others = (search_secret("${SecretName}"), "${UsersSecretName}")
    # `*` would.
    assert not any(fnmatch(f"{name}-AbCdEf", "${SecretName}" + suffix) for name in others)
    environment = FUNCTIONS["SakuinMcp"]["Environment"]["Variables"]
    assert environment == {"SECRET_NAME": {"Fn::Sub": search_secret("${SecretName}")}}
