"""Where a command's settings come from."""

from pathlib import Path

import pytest
from sakuin.errors import Misconfigured
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


def test_the_nearest_data_folder_above_is_read(project: Path) -> None:
    settings = environment({}, None, here=project / "pages" / "junior")
    assert settings["SAKUIN_API_KEY"] == "sk_sakuin_a=b"


def test_the_folder_that_is_named_is_read(project: Path, tmp_path: Path) -> None:
    settings = environment({}, project / ".sakuin", here=Path("/"))
    assert settings["SAKUIN_URL"] == "http://127.0.0.1:8787"


def test_the_environment_wins(project: Path) -> None:
    settings = environment({"SAKUIN_URL": "https://mine"}, None, here=project)
    assert (settings["SAKUIN_URL"], settings["SAKUIN_BUCKET"]) == ("https://mine", "local")


def test_a_persons_own_aws_account_is_not_asked_for_a_local_bucket(project: Path) -> None:
    mine = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "t", "HOME": "/root"}
    settings = environment(mine, None, here=project)
    aws = {name: value for name, value in settings.items() if name.startswith("AWS_")}
    assert aws == {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ACCESS_KEY_ID": "test"}
    assert settings["HOME"] == "/root"


def test_a_bucket_in_the_cloud_is_not_looked_for_on_this_machine(project: Path) -> None:
    settings = environment({"SAKUIN_BUCKET": "cloud", "AWS_PROFILE": "work"}, None, here=project)
    aws = {name: value for name, value in settings.items() if name.startswith("AWS_")}
    assert aws == {"AWS_PROFILE": "work"}


def test_without_a_file_the_environment_is_enough(tmp_path: Path) -> None:
    environ = {"SAKUIN_URL": "https://mine", "SAKUIN_API_KEY": "k"}
    assert environment(environ, tmp_path / "gone", here=tmp_path) == environ


@pytest.mark.parametrize(("data", "hint"), [(None, "`sakuin up`"), (Path("my/data"), "`sakuin up --data my/data`")])
def test_without_both_it_says_what_to_do(data: Path | None, hint: str) -> None:
    with pytest.raises(Misconfigured, match=f"run {hint} first .* or set SAKUIN_URL"):
        environment({}, data, here=Path("/"))


def test_a_secret_in_the_cloud_is_not_looked_for_on_this_machine(project: Path) -> None:
    settings = environment({"SAKUIN_SECRET": "sakuin/prod", "AWS_PROFILE": "work"}, None, here=project)
    assert {name: value for name, value in settings.items() if name.startswith("AWS_")} == {"AWS_PROFILE": "work"}
    # Pages must not go to a bucket of this name in another account.
    assert "SAKUIN_BUCKET" not in settings


def test_before_the_first_deployment_the_secrets_name_is_enough(tmp_path: Path) -> None:
    assert environment({"SAKUIN_SECRET": "sakuin/prod"}, None, here=tmp_path) == {"SAKUIN_SECRET": "sakuin/prod"}


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
