"""The rights of each function's role in AWS: its own work, on named resources of this stack."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase as fnmatch
from typing import Any

import pytest
from sakuin.platform.secrets import search_secret

from tests.test_template import FUNCTIONS, TEMPLATE, resources, triggers

# X-Ray's two actions know no resource (AWS's Service Authorization Reference).
WITHOUT_RESOURCE = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
# Whatever a role is for; more is a decision that belongs here.
SERVICES = {"lambda", "logs", "s3", "secretsmanager", "sqs", "events", "xray"}
# What a look at dead letters and sending them again need.
DEAD_LETTERS = {"GetQueueAttributes", "ReceiveMessage", "ChangeMessageVisibility", "DeleteMessage"}
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


def test_a_queue_is_read_by_its_own_worker_alone() -> None:
    readers = {(role_of(name), _written(event["Queue"])) for name, event in triggers()}
    for role in ROLES:
        for action, resource in rights(role):
            if action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"):
                assert (role, resource) in readers or "DeadLetters" in resource, (role, action, resource)


def test_the_mcp_function_may_read_its_secret_and_write_its_log_only() -> None:
    actions = {action for action, _ in rights(role_of("SakuinMcp"))}
    assert actions == {"secretsmanager:GetSecretValue", "logs:CreateLogStream", "logs:PutLogEvents"} | WITHOUT_RESOURCE


def test_mcp_reads_the_secret_of_searches_alone_and_only_the_api_all_three() -> None:
    read = {
        role: {resource for action, resource in rights(role) if action == "secretsmanager:GetSecretValue"}
        for role in ROLES
    }
    main, search, users = (
        "Sub arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:" + name + "-??????"
        for name in ("${SecretName}", search_secret("${SecretName}"), "${UsersSecretName}")
    )
    # A pattern of one must not match another: `*` would.
    assert not any(fnmatch(each.replace("??????", "AbCdEf"), main) for each in (search, users))
    special = {role_of("SakuinApi"): {main, search, users}, role_of("SakuinMcp"): {search}}
    assert read == {role: special.get(role, {main}) for role in ROLES}
    environment = FUNCTIONS["SakuinMcp"]["Environment"]["Variables"]
    assert environment == {"SECRET_NAME": {"Fn::Sub": search_secret("${SecretName}")}}


def test_the_api_receives_dead_letters_alone_and_writes_pages_and_documents_alone() -> None:
    for action, resource in rights(role_of("SakuinApi")):
        if action.startswith("sqs:") and action not in ("sqs:SendMessage", "sqs:GetQueueAttributes"):
            assert re.fullmatch(r"GetAtt Sakuin(Material|Tool|Embed)DeadLetters\.Arn", resource), (action, resource)
            assert action.removeprefix("sqs:") in DEAD_LETTERS, action
        if action in ("s3:PutObject", "s3:DeleteObject"):
            assert re.search("-(tables|materials)-", resource), (action, resource)


def test_only_what_sends_events_may_put_them_and_on_the_own_bus_alone() -> None:
    for name in FUNCTIONS:
        buses = [resource for action, resource in rights(role_of(name)) if action == "events:PutEvents"]
        sends = name in ("SakuinApi", "SakuinMaintain", "SakuinIndexMaterial")
        assert buses == ["GetAtt SakuinEventBus.Arn"] * sends, name


def test_only_the_schedule_and_the_console_call_another_function_and_only_the_one_that_agents_reach() -> None:
    calls = [(role, resource) for role in ROLES for action, resource in rights(role) if action.startswith("lambda:")]
    assert calls == [("SakuinApiRole", "Ref SakuinMcp.Alias"), ("SakuinMaintainRole", "Ref SakuinMcp.Alias")]


def test_no_role_changes_a_secret() -> None:
    for role in ROLES:
        assert {action for action, _ in rights(role) if action.startswith("secretsmanager:")} <= {
            "secretsmanager:GetSecretValue"
        }
