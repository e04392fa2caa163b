"""The template, the settings and the functions agree."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sakuin.arguments import MAX_QUERY
from sakuin.limits import Limits
from sakuin.platform.retry import MAX_RECEIVES
from sakuin.settings import Settings
from sakuin.upkeep.canary import CANARY_KEY
from sakuin.wiring.handlers import http_function
from sakuin_cli.doctor import RESERVED_FOR_THE_REST
from sakuin_local import places
from sakuin_local.aws.template import read_template

from tests.doubles.sqs import VISIBILITY_SECONDS
from tests.environment import ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "layers" / "sakuin" / "sakuin" / "settings.py"
# AWS itself, or Powertools, reads these.
NOT_OURS = {"POWERTOOLS_SERVICE_NAME", "POWERTOOLS_LOG_LEVEL"}


TEMPLATE = read_template(places.TEMPLATE)
GLOBAL: dict[str, Any] = TEMPLATE["Globals"]["Function"]


def resources(kind: str) -> dict[str, dict[str, Any]]:
    """Returns the properties of all resources of a type, by their logical ids."""
    return {name: one.get("Properties", {}) for name, one in TEMPLATE["Resources"].items() if one["Type"] == kind}


FUNCTIONS = resources("AWS::Serverless::Function")
QUEUES = resources("AWS::SQS::Queue")
WORK_QUEUES = {name: queue for name, queue in QUEUES.items() if "RedrivePolicy" in queue}


def triggers() -> list[tuple[str, dict[str, Any]]]:
    """Returns each function that reads a queue, with its event's properties."""
    return [
        (name, event["Properties"])
        for name, function in FUNCTIONS.items()
        for event in function.get("Events", {}).values()
        if event["Type"] == "SQS"
    ]


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the metrics that an alarm reads."""
    parts = alarm.get("Metrics")
    return [alarm] if parts is None else [part["MetricStat"]["Metric"] for part in parts if "MetricStat" in part]


class ReadNames(dict[str, str]):
    """An environment that remembers which variables were read."""

    def __init__(self, environ: dict[str, str]) -> None:
        super().__init__(environ)
        self.names = set[str]()

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


def names_in_settings() -> set[str]:
    """Returns the environment variables that `Settings` reads."""
    environ = ReadNames(ENVIRONMENT)
    Settings.read(environ)
    return environ.names


def test_the_template_sets_what_the_settings_read_and_nothing_else() -> None:
    own = {name for each in FUNCTIONS.values() for name in each.get("Environment", {"Variables": {}})["Variables"]}
    assert (set(GLOBAL["Environment"]["Variables"]) | own) - NOT_OURS == names_in_settings()


def test_every_function_folder_is_deployed() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("functions/*/app.py")}
    assert folders == {function["CodeUri"] for function in FUNCTIONS.values()}


def test_every_log_group_has_a_retention() -> None:
    assert all("RetentionInDays" in group for group in resources("AWS::Logs::LogGroup").values())


@pytest.mark.parametrize("name", WORK_QUEUES)
def test_a_queue_is_read_watched_and_gives_up_into_dead_letters(name: str) -> None:
    assert name in {event["Queue"]["Fn::GetAtt"][0] for _, event in triggers()}
    redrive = WORK_QUEUES[name]["RedrivePolicy"]
    assert redrive["maxReceiveCount"] == MAX_RECEIVES
    dead_letters = redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]
    # Two weeks.
    assert QUEUES[dead_letters]["MessageRetentionPeriod"] == 1_209_600
    watched = {
        (metric["MetricName"], metric["Dimensions"][0]["Value"].get("Fn::GetAtt", [""])[0])
        for alarm in resources("AWS::CloudWatch::Alarm").values()
        for metric in metrics_of(alarm)
        if metric["Namespace"] == "AWS/SQS"
    }
    age, letters = "ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"
    assert {(age, name), (letters, dead_letters)} <= watched


def test_every_queue_is_encrypted_by_a_key_that_s3_can_use() -> None:
    assert all(queue["SqsManagedSseEnabled"] is True for queue in QUEUES.values())
    assert not any("KmsMasterKeyId" in queue for queue in QUEUES.values())


def test_lambda_does_not_repeat_maintenance_that_failed_or_is_late() -> None:
    """Its events have no queue: Lambda would call it twice more, beside the runs of the next minutes."""
    scheduled = [
        one for one in FUNCTIONS.values() if any(e["Type"] == "Schedule" for e in one.get("Events", {}).values())
    ]
    assert [one["EventInvokeConfig"] for one in scheduled] == [
        {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}
    ]


@pytest.mark.parametrize(("name", "event"), triggers())
def test_a_queue_s_reader_reports_single_failures_and_has_time(name: str, event: dict[str, Any]) -> None:
    function, queue = FUNCTIONS[name], QUEUES[event["Queue"]["Fn::GetAtt"][0]]
    assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    # What ends a worker costs its own message a try, and no other.
    assert event["BatchSize"] == 1
    # SQS accepts no less.
    assert TEMPLATE["Parameters"][event["ScalingConfig"]["MaximumConcurrency"]["Ref"]]["MinValue"] == 2
    # A worker that dies costs this time. AWS accepts no less than the function's.
    assert function["Timeout"] <= queue["VisibilityTimeout"] == VISIBILITY_SECONDS <= 60
    assert "ReservedConcurrentExecutions" not in function
    role = function["Role"]["Fn::GetAtt"][0]
    own = [one for each, one in statements() if each == role and "sqs:ReceiveMessage" in one["Action"]]
    assert [one["Resource"] for one in own] == [event["Queue"]]


def test_the_defaults_work_in_a_new_account_with_ten_concurrent_executions() -> None:
    """`maintain` runs its minute beside the canary; one search and one request of the API are left."""
    workers = [event["ScalingConfig"]["MaximumConcurrency"]["Ref"] for _, event in triggers()]
    assert sum(TEMPLATE["Parameters"][name]["Default"] for name in workers) + RESERVED_FOR_THE_REST <= 10


@pytest.mark.parametrize(
    ("name", "condition", "parameter"),
    [
        ("SakuinMaintain", "ReservesMaintain", "MaintainReserved"),
        ("SakuinMcp", "ReservesHttp", "HttpWorkers"),
        ("SakuinApi", "ReservesHttp", "HttpWorkers"),
    ],
)
def test_executions_are_reserved_only_on_request(name: str, condition: str, parameter: str) -> None:
    reserved = {"Fn::If": [condition, {"Ref": parameter}, {"Ref": "AWS::NoValue"}]}
    assert FUNCTIONS[name]["ReservedConcurrentExecutions"] == reserved
    # A new account can reserve none: AWS refuses the stack.
    assert TEMPLATE["Parameters"][parameter]["Default"] == 0
    assert TEMPLATE["Conditions"][condition] == {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, 0]}]}


@pytest.mark.parametrize("name", [name for name, one in FUNCTIONS.items() if not one.get("Events")])
def test_a_function_behind_the_gateway_answers_before_the_gateway_gives_up(name: str) -> None:
    assert FUNCTIONS[name]["Timeout"] < 30


BUCKETS = resources("AWS::S3::Bucket")
QUEUE_OF_BUCKET = {"SakuinMaterialsBucket": "SakuinMaterialQueue", "SakuinTablesBucket": "SakuinToolQueue"}


@pytest.mark.parametrize("name", BUCKETS)
def test_a_bucket_is_private_versioned_and_encrypted_and_waits_for_its_queue_s_policy(name: str) -> None:
    bucket = BUCKETS[name]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert TEMPLATE["Resources"][name]["DependsOn"] == f"{QUEUE_OF_BUCKET[name]}Policy"
    assert TEMPLATE["Resources"][name]["DeletionPolicy"] == "Retain"
    # No mark of a deletion stays without a version.
    assert any(rule.get("ExpiredObjectDeleteMarker") for rule in bucket["LifecycleConfiguration"]["Rules"])


def test_a_bucket_tells_its_queue_of_what_changes_an_index() -> None:
    events = {"SakuinMaterialsBucket": ["ObjectCreated", "ObjectRemoved"], "SakuinTablesBucket": ["ObjectCreated"]}
    for name, bucket in BUCKETS.items():
        told = bucket["NotificationConfiguration"]["QueueConfigurations"]
        expected = {f"s3:{event}:*": QUEUE_OF_BUCKET[name] for event in events[name]}
        assert {one["Event"]: one["Queue"]["Fn::GetAtt"][0] for one in told} == expected


def statements() -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, statement)
        for name, role in resources("AWS::IAM::Role").items()
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def test_whoever_reads_pages_may_list_the_bucket_so_that_a_missing_one_is_404() -> None:
    allowed: dict[str, set[str]] = {}
    for name, statement in statements():
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        allowed.setdefault(name, set()).update(actions)
    for name, actions in allowed.items():
        if "s3:GetObject" in actions:
            assert "s3:ListBucket" in actions, name


HTTP_FUNCTIONS = {name: one for name, one in FUNCTIONS.items() if not one.get("Events")}


@pytest.mark.parametrize("name", HTTP_FUNCTIONS)
def test_a_function_behind_the_gateway_is_reached_by_an_alias_that_each_change_moves(name: str) -> None:
    function = HTTP_FUNCTIONS[name]
    assert (function["AutoPublishAlias"], function["AutoPublishAliasAllProperties"]) == ("live", True)
    layers = [layer["Ref"] for layer in function["Layers"]]
    published = resources("AWS::Serverless::LayerVersion")
    assert all(published[layer]["PublishLambdaVersion"] is True for layer in layers)
    assert function["VersionDescription"] == {"Fn::Sub": "settings ${SakuinSettingsVersion}"}
    # A snapshot costs as long as its version is there.
    assert function["VersionDeletionPolicy"] == "Delete"


def test_the_gateway_calls_nothing_but_aliases_and_may() -> None:
    aliases = {f"{name}.Alias" for name in HTTP_FUNCTIONS}
    called = {one["IntegrationUri"]["Ref"] for one in resources("AWS::ApiGatewayV2::Integration").values()}
    allowed = {one["FunctionName"]["Ref"] for one in resources("AWS::Lambda::Permission").values()}
    assert called == allowed == aliases


def test_the_numbered_settings_are_what_changes_a_function_s_configuration_and_nothing_else() -> None:
    """What is missing would not reach the alias; what is too much asks for a version of an unchanged function."""
    content, more = TEMPLATE["Resources"]["SakuinSettingsVersion"]["Properties"]["Content"]["Fn::Sub"]
    numbered = dict(line.split("=", 1) for line in content.splitlines())
    assert all(value == f"${{{name}}}" for name, value in numbered.items())
    assert more == {"SnapStart": {"Fn::If": ["Snapshots", "PublishedVersions", "None"]}}
    used = {"PythonRuntime", "Architecture", "SnapStart"}
    used |= {one["MemorySize"]["Ref"] for one in HTTP_FUNCTIONS.values()}
    for value in GLOBAL["Environment"]["Variables"].values():
        if isinstance(value, dict) and value.get("Ref") in TEMPLATE["Parameters"]:
            used.add(value["Ref"])
    assert set(numbered) == used


def test_the_http_functions_alone_have_snapshots() -> None:
    conditions, parameter = TEMPLATE["Conditions"], TEMPLATE["Parameters"]["WarmStart"]
    assert conditions["Snapshots"] == {"Fn::Equals": [{"Ref": "WarmStart"}, "snapstart"]}
    assert parameter["AllowedValues"] == ["snapstart", "none"]
    for name, function in FUNCTIONS.items():
        if name in HTTP_FUNCTIONS:
            assert function["SnapStart"] == {"ApplyOn": {"Fn::If": ["Snapshots", "PublishedVersions", "None"]}}
        else:
            assert not {"SnapStart", "AutoPublishAlias"} & function.keys()


@pytest.mark.parametrize("name", HTTP_FUNCTIONS)
def test_a_function_with_snapshots_is_built_again_after_a_restore(name: str) -> None:
    app = (ROOT / FUNCTIONS[name]["CodeUri"] / "app.py").read_text(encoding="utf-8")
    assert "handler = http_function(" in app
    assert "return restorable(build)" in inspect.getsource(http_function)


ALARMS = resources("AWS::CloudWatch::Alarm")


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_and_its_end_are_notified(name: str) -> None:
    assert ALARMS[name]["AlarmActions"] == ALARMS[name]["OKActions"] == [{"Ref": "SakuinAlarms"}]


def test_every_alarm_is_on_the_dashboard_and_every_metric_of_ours_is_one_that_the_code_counts() -> None:
    body = TEMPLATE["Resources"]["SakuinDashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    widgets = json.loads(body)["widgets"]
    assert {f"${{{name}.Arn}}" for name in ALARMS} == set(widgets[0]["properties"]["alarms"])
    shown = {row[1] for widget in widgets[1:] for row in widget["properties"]["metrics"] if row[0] == "Sakuin"}
    shown |= {
        metric["MetricName"]
        for alarm in ALARMS.values()
        for metric in metrics_of(alarm)
        if metric["Namespace"] == "Sakuin"
    }
    code = "\n".join(path.read_text(encoding="utf-8") for path in SETTINGS.parent.rglob("*.py"))
    for metric in shown:
        leg = re.fullmatch(r"(Search|Index)(\w+)Milliseconds", metric)
        words = [f'"{leg[1]}"', f'"{leg[2]}"'] if leg else [f'"{re.sub("WithoutAnswer$|ByWordsAlone$", "", metric)}"']
        assert all(word in code for word in words), metric


def test_the_canary_may_touch_its_own_page_alone_and_its_old_versions_go_the_next_day() -> None:
    writing = [one for name, one in statements() if name == "SakuinMaintainRole" and "s3:PutObject" in one["Action"]]
    assert len(writing) == 1
    assert writing[0]["Resource"]["Fn::Sub"].endswith("/${MaterialPrefix}" + CANARY_KEY)
    rules = BUCKETS["SakuinMaterialsBucket"]["LifecycleConfiguration"]["Rules"]
    canary = next(rule for rule in rules if "Prefix" in rule)
    assert CANARY_KEY.startswith(canary["Prefix"]["Fn::Sub"].removeprefix("${MaterialPrefix}"))
    assert canary["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}


def test_only_the_api_and_the_mcp_function_are_reached_over_http() -> None:
    routes = {route["RouteKey"] for route in resources("AWS::ApiGatewayV2::Route").values()}
    searches = {
        "ANY /v1/search",
        "ANY /v1/read",
        "ANY /v1/find",
        "POST /v1/feedback",
        "ANY /v1/mcps/{mcp_id}/tools/{tool_id}/search",
    }
    assert routes == {"ANY /mcp", "ANY /mcp/{mcp_id}", "ANY /public/{proxy+}", "$default"} | searches


def test_the_public_library_is_a_route_with_a_throttle_of_its_own_and_off_by_default() -> None:
    parameters, stage = TEMPLATE["Parameters"], TEMPLATE["Resources"]["SakuinHttpStage"]
    assert parameters["PublicLibrary"]["Default"] == "false"
    throttle = {"Burst": "PublicRequestsAtOnce", "Rate": "PublicRequestsPerSecond"}
    of_route = {f"Throttling{name}Limit": {"Ref": parameter} for name, parameter in throttle.items()}
    route = TEMPLATE["Resources"]["SakuinPublicRoute"]["Properties"]["RouteKey"]
    # The gateway takes settings of an existing route only.
    assert (stage["Properties"]["RouteSettings"], stage["DependsOn"]) == ({route: of_route}, "SakuinPublicRoute")
    # All other routes have the throttle of before.
    assert stage["Properties"]["DefaultRouteSettings"]["ThrottlingRateLimit"] == {"Ref": "RequestsPerSecond"}


def test_the_gateway_writes_down_who_sends_requests() -> None:
    log = json.loads(TEMPLATE["Resources"]["SakuinHttpStage"]["Properties"]["AccessLogSettings"]["Format"])
    assert log["address"] == "$context.identity.sourceIp"
    assert "the gateway's log has the address" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_a_flood_of_the_public_library_leaves_workers_and_vendors_to_those_with_keys() -> None:
    """Decision 434: what the defaults leave of an account's executions and of OpenAI's tokens a minute."""
    per_second, at_once = (
        TEMPLATE["Parameters"][f"PublicRequests{name}"]["Default"] for name in ("PerSecond", "AtOnce")
    )
    # As if each request took the whole timeout. An account has 1,000 executions at once.
    assert at_once + per_second * FUNCTIONS["SakuinMcp"]["Timeout"] <= 200
    # A character has at most four bytes, and a token at least one.
    assert Limits().public_queries_per_minute * 4 * MAX_QUERY <= 500_000


def test_maintenance_may_write_to_every_queue_of_work_and_to_no_other() -> None:
    sending = [one for name, one in statements() if name == "SakuinMaintainRole" and "sqs:SendMessage" in one["Action"]]
    named = {arn["Fn::GetAtt"][0] for one in sending for arn in one["Resource"]}
    assert named == set(WORK_QUEUES)


def test_a_worker_alone_writes_to_dead_letters_and_to_those_of_its_queue() -> None:
    writers = {
        (name, one["Resource"]["Fn::GetAtt"][0])
        for name, one in statements()
        if one["Action"] == "sqs:SendMessage" and "DeadLetters" in str(one["Resource"])
    }
    dead_letters = {
        (
            FUNCTIONS[name]["Role"]["Fn::GetAtt"][0],
            QUEUES[event["Queue"]["Fn::GetAtt"][0]]["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0],
        )
        for name, event in triggers()
    }
    assert writers == dead_letters


def test_a_batch_is_sent_by_the_right_to_send_and_by_no_action_of_its_own() -> None:
    # AWS has no action sqs:SendMessageBatch; the emulator asks for it.
    assert [one for _, one in statements() if "sqs:SendMessageBatch" in one["Action"]] == []
