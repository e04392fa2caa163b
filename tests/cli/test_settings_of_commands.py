"""Where a command's settings come from, and the functions' secret as operators write it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Conflict, Misconfigured, NotFound
from sakuin_cli.deployment_keys import StoredSecret
from sakuin_cli.rest import no_answer
from sakuin_cli.settings import CommandSettings, environment, required

LOCAL = """\
SAKUIN_URL=http://127.0.0.1:8787
SAKUIN_API_KEY=sk_sakuin_a=b
SAKUIN_BUCKET=local
AWS_ENDPOINT_URL=http://127.0.0.1:4566
AWS_ACCESS_KEY_ID=test
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".sakuin").mkdir()
    (tmp_path / ".sakuin" / "env").write_text(LOCAL)
    (tmp_path / "pages" / "junior").mkdir(parents=True)
    return tmp_path


AWS_OF_LOCAL = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ACCESS_KEY_ID": "test"}


@pytest.mark.parametrize(
    ("environ", "aws", "bucket"),
    [
        ({}, AWS_OF_LOCAL, "local"),
        # A person's own AWS account is not asked for a local bucket.
        ({"AWS_ACCESS_KEY_ID": "AKIA", "AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "t"}, AWS_OF_LOCAL, "local"),
        # A bucket or a secret in the cloud is not looked for on this machine.
        ({"SAKUIN_BUCKET": "cloud", "AWS_PROFILE": "work"}, {"AWS_PROFILE": "work"}, "cloud"),
        ({"SAKUIN_SECRET": "sakuin/prod", "AWS_PROFILE": "work"}, {"AWS_PROFILE": "work"}, None),
    ],
)
def test_the_nearest_file_above_completes_the_environment_with_one_source_for_aws(
    project: Path, environ: dict[str, str], aws: dict[str, str], bucket: str | None
) -> None:
    settings = environment({**environ, "HOME": "/root"}, None, here=project / "pages" / "junior")
    assert {name: value for name, value in settings.items() if name.startswith("AWS_")} == aws
    assert (settings["SAKUIN_API_KEY"], settings["HOME"], settings.get("SAKUIN_BUCKET")) == (
        *("sk_sakuin_a=b", "/root", bucket),
    )


def test_the_folder_that_is_named_is_read_and_the_environment_wins(project: Path) -> None:
    settings = environment({"SAKUIN_URL": "https://mine"}, project / ".sakuin", here=Path("/"))
    assert (settings["SAKUIN_URL"], settings["SAKUIN_BUCKET"]) == ("https://mine", "local")


@pytest.mark.parametrize("environ", [{"SAKUIN_URL": "https://mine", "SAKUIN_API_KEY": "k"}, {"SAKUIN_SECRET": "s"}])
def test_without_a_file_an_address_or_the_secret_s_name_is_enough(tmp_path: Path, environ: dict[str, str]) -> None:
    assert environment(environ, tmp_path / "gone", here=tmp_path) == environ


@pytest.mark.parametrize(("data", "hint"), [(None, "`sakuin up`"), (Path("my/data"), "`sakuin up --data my/data`")])
def test_without_both_it_says_what_to_do(data: Path | None, hint: str) -> None:
    with pytest.raises(Misconfigured, match=f"run {hint} first .* or set SAKUIN_URL"):
        environment({}, data, here=Path("/"))


def test_no_secret_is_in_a_representation() -> None:
    keys = {
        **{"SAKUIN_API_KEY": "agent-key", "SAKUIN_ADMIN_KEY": "admin-key", "SAKUIN_TOOLS_API_KEY": "tools-key"},
        **{"AWS_SECRET_ACCESS_KEY": "aws-key", "AWS_SESSION_TOKEN": "session-key"},
    }
    assert "-key" not in repr(CommandSettings.read(keys))


def test_a_setting_that_a_command_needs_names_itself() -> None:
    assert required("there", "SAKUIN_URL", "https://x") == "there"
    with pytest.raises(Misconfigured, match=r"^SAKUIN_URL is not set: run `sakuin up` first, or set SAKUIN_URL"):
        required("", "SAKUIN_URL", "https://x")


def test_the_project_of_the_option_comes_before_the_one_of_the_settings() -> None:
    settings = CommandSettings.read({"SAKUIN_PROJECT": "mine"})
    assert [settings.project_id(named) for named in ("other", None)] == ["other", "mine"]
    with pytest.raises(Misconfigured, match="--project"):
        CommandSettings.read({}).project_id(None)


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("http://127.0.0.1:8787/mcp", "SAKUIN_URL=http://127.0.0.1:8787"),
        ("http://127.0.0.1:8787/v1/", "SAKUIN_URL=http://127.0.0.1:8787"),
        ("127.0.0.1:8787", "SAKUIN_URL=http://127.0.0.1:8787"),
    ],
)
def test_a_wrong_address_is_named_with_the_right_one(url: str, right: str) -> None:
    with pytest.raises(Misconfigured, match=right):
        CommandSettings.read({"SAKUIN_URL": url})


def test_an_address_that_does_not_answer_names_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert "Unset HTTP_PROXY, or add sakuin.example to NO_PROXY" in no_answer("http://sakuin.example")
    monkeypatch.setenv("no_proxy", "sakuin.example")
    assert no_answer("http://sakuin.example").startswith("Sakuin does not answer at http://sakuin.example.")


NAME = "sakuin/prod"


@pytest.fixture
def manager() -> Iterator[Any]:
    """Secrets Manager, with a secret of one member."""
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name=NAME, SecretString='{"openai_api_key": "sk"}')
        yield client
        client.delete_secret(SecretId=NAME, ForceDeleteWithoutRecovery=True)


def functions_read(manager: Any) -> object:
    # AWS gives the current version to those who ask for none; moto does so only until the label moves.
    return json.loads(manager.get_secret_value(SecretId=NAME, VersionStage="AWSCURRENT")["SecretString"])


def test_of_two_operators_the_second_gets_a_conflict_and_changes_nothing(manager: Any) -> None:
    secret = StoredSecret(manager, NAME)
    _, version_id = secret.read()
    secret.replace({"first": "1"}, seen=version_id)
    with pytest.raises(Conflict):
        secret.replace({"second": "2"}, seen=version_id)
    assert functions_read(manager) == {"first": "1"}
    secret.replace({"third": "3"}, seen=secret.read()[1])
    assert functions_read(manager) == {"third": "3"}


def test_a_secret_that_is_not_there_is_not_found(manager: Any) -> None:
    with pytest.raises(NotFound):
        StoredSecret(manager, "gone").read()


@pytest.mark.parametrize("text", ["no json", "[]", '"x"'])
def test_a_secret_of_another_form_is_reported_and_not_shown(text: str, manager: Any) -> None:
    manager.put_secret_value(SecretId=NAME, SecretString=text)
    secret = StoredSecret(manager, NAME)
    with pytest.raises(Misconfigured) as caught:
        secret.read()
    assert text not in str(caught.value)
    assert text not in repr(secret)
