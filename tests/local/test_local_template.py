"""The template is read as CloudFormation reads it, and only its code's addresses change."""

import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from sakuin_local.aws import layers
from sakuin_local.aws.deployment import zipped
from sakuin_local.aws.layers import build_layers, built, layer_archive
from sakuin_local.aws.template import packaged, read_template, with_batch_permissions, with_numbers, without_alarms
from sakuin_local.places import REPOSITORY, TEMPLATE
from sakuin_local.processes import Programs
from sakuin_local.stack import parameters

SHORT = """
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/f
      Role: !GetAtt Role.Arn
      Name: !Sub "${AWS::StackName}-f"
      Other: !If [Big, !Ref A, !Join ["-", [a, !GetAtt B.C.D]]]
      Version: 2012-10-17
"""


def test_short_forms_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(SHORT)

    properties = read_template(tmp_path / "t.yaml")["Resources"]["F"]["Properties"]

    assert properties == {
        "CodeUri": "functions/f",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
        "Name": {"Fn::Sub": "${AWS::StackName}-f"},
        "Other": {"Fn::If": ["Big", {"Ref": "A"}, {"Fn::Join": ["-", ["a", {"Fn::GetAtt": ["B", "C.D"]}]]}]},
        "Version": "2012-10-17",
    }


def test_packaging_changes_addresses_of_code_and_nothing_else() -> None:
    template = read_template(TEMPLATE)
    uploaded: dict[str, Path] = {}

    def upload(name: str, folder: Path) -> str:
        uploaded[name] = folder
        return f"s3://bucket/{name}"

    done = packaged(template, TEMPLATE.parent, upload)

    assert uploaded
    assert all(folder.is_dir() for folder in uploaded.values())
    for name, resource in template["Resources"].items():
        key = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}.get(
            resource["Type"]
        )
        if key and name in uploaded:
            resource["Properties"][key] = f"s3://bucket/{name}"
    assert done == template


def test_alarms_and_their_dashboard_alone_are_left_out_here() -> None:
    template = read_template(TEMPLATE)
    done = without_alarms(template)
    kinds = {template["Resources"][name]["Type"] for name in template["Resources"].keys() - done["Resources"].keys()}
    assert kinds == {"AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"}
    assert template["Outputs"].keys() - done["Outputs"].keys() == {"Dashboard"}
    assert not [name for name in template["Resources"] if name.endswith("Alarm") and name in str(done)]


def test_every_parameter_given_here_is_one_of_the_templates() -> None:
    template = read_template(TEMPLATE)
    given = parameters(template, {"rest": 1, "embeddings": 2, "turbopuffer": 3}, "http://127.0.0.1:4", minor="3.12")

    assert set(given) <= set(template["Parameters"])
    assert {name for name, value in template["Parameters"].items() if "Default" not in value} <= set(given)


def test_our_own_layer_points_at_its_source_so_that_edits_are_live() -> None:
    source = TEMPLATE.parent / "layers" / "sakuin"

    with zipfile.ZipFile(BytesIO(layer_archive(source, minor="3.12"))) as archive:
        (name,) = archive.namelist()
        pointer = archive.read(name).decode()

    assert name == "python/lib/python3.12/site-packages/sakuin.pth"
    assert repr(str(source)) in pointer


def test_the_same_code_is_the_same_archive(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1")
    first = zipped(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "app.pyc").write_bytes(b"")
    (tmp_path / "app.py").touch()

    assert zipped(tmp_path) == first


RIGHTS = """
Resources:
  Role:
    Properties:
      Policies:
        - Statement:
            - {Effect: Allow, Action: sqs:SendMessage, Resource: a}
            - {Effect: Allow, Action: [sqs:ReceiveMessage, sqs:SendMessage], Resource: b}
            - {Effect: Allow, Action: sqs:GetQueueAttributes, Resource: c}
"""


def test_whoever_may_send_a_message_may_send_a_batch_here(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(RIGHTS)
    template = read_template(tmp_path / "t.yaml")

    (policy,) = with_batch_permissions(template)["Resources"]["Role"]["Properties"]["Policies"]

    assert [each["Action"] for each in policy["Statement"]] == [
        ["sqs:SendMessage", "sqs:SendMessageBatch"],
        ["sqs:ReceiveMessage", "sqs:SendMessage", "sqs:SendMessageBatch"],
        "sqs:GetQueueAttributes",
    ]
    assert template == read_template(tmp_path / "t.yaml")


def test_the_workers_are_numbers_for_the_emulator() -> None:
    template = with_numbers(read_template(TEMPLATE), {"PageWorkers": "7"})
    events = template["Resources"]["SakuinIndexMaterial"]["Properties"]["Events"]
    assert events["Materials"]["Properties"]["ScalingConfig"] == {"MaximumConcurrency": 7}


LAYERS = ("base", "japanese", "html", "turbopuffer", "web")


class CountedPrograms(Programs):
    """Runs nothing: makes the folder that the program would, and counts."""

    def __init__(self, logs: Path) -> None:
        super().__init__(logs)
        self.runs: list[str] = []

    def run(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> str:
        self.runs.append(name)
        unfinished = next(part for part in map(str, command) if part.startswith("ARTIFACTS_DIR="))
        Path(unfinished.partition("=")[2]).mkdir(parents=True)
        return ""


def test_two_stacks_that_start_together_build_a_layer_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "TOOLS", tmp_path)
    programs = CountedPrograms(tmp_path)
    with ThreadPoolExecutor() as stacks:
        for stack in [stacks.submit(build_layers, TEMPLATE, programs, minor="3.13") for _ in range(4)]:
            stack.result()
    assert sorted(programs.runs) == sorted(f"layer-{name}" for name in LAYERS)
    assert all(built(REPOSITORY / "layers" / name, "3.13").exists() for name in LAYERS)
