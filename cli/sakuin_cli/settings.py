"""Settings of a command: the environment, completed from the `env` file in the data folder of `sakuin up`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sakuin.errors import Misconfigured

DATA_FOLDER = ".sakuin"
_FILE = "env"
# Names that are valid in one AWS account only.
_NAMES_IN_AWS = ("SAKUIN_BUCKET", "SAKUIN_SECRET", "SAKUIN_STACK")
_AWS_COMMANDS = "`keys`, `doctor`"


def _variable(*variables_and_description: str, needed_by: str, secret: bool = False) -> Any:
    """A field that is read from these variables; docs/reference/settings.md lists them."""
    *variables, description = variables_and_description
    metadata = {"variables": tuple(variables), "description": description, "needed_by": needed_by}
    return field(repr=not secret, metadata=metadata)


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """How a command reaches a deployment. An empty setting is an error only in a command that needs it (`required`).

    boto3 gets `aws_session` in place of the process's environment, so that the env file of a stack decides alone.
    """

    url: str = _variable(
        "SAKUIN_URL", "the URL of the HTTP API, without `/mcp`", needed_by="all; `keys` shows less without it"
    )
    api_key: str = _variable(
        "SAKUIN_API_KEY",
        "a key of `/mcp`, for agents",
        needed_by="`search`, `chunk`, `read`, `find`, `changes`, `connect`",
        secret=True,
    )
    admin_key: str = _variable(
        "SAKUIN_ADMIN_KEY",
        "a key of `/v1`, for operators",
        needed_by="all but `search`, `chunk`, `read`, `find`, `changes`, `connect`; `keys` shows less without it",
        secret=True,
    )
    push_key: str = _variable(
        "SAKUIN_PUSH_KEY",
        "a key that pushes below one folder, in place of `SAKUIN_ADMIN_KEY`",
        needed_by="`push`, `watch`, `check`",
        secret=True,
    )
    bucket: str = _variable("SAKUIN_BUCKET", "the materials bucket", needed_by="`doctor`")
    secret: str = _variable("SAKUIN_SECRET", "the name of the functions' secret", needed_by="`keys`")
    stack: str = _variable(
        "SAKUIN_STACK", "the name of the deployed stack, whose workers are counted", needed_by="`doctor`"
    )
    project: str = _variable(
        "SAKUIN_PROJECT",
        "the id of the project, if `--project` is not given",
        needed_by="`table put`, `table list`, `tool create`, `tool list`, `mcp create`, `mcp list`",
    )
    tools_mcp_url: str = _variable(
        "SAKUIN_TOOLS_MCP_URL",
        "an endpoint with Search Tools",
        needed_by="`search --tool`, `connect --tools`, `eval --tool`, `explain --tool`, `changes --tools`",
    )
    tools_api_key: str = _variable(
        "SAKUIN_TOOLS_API_KEY",
        "the key of that endpoint",
        needed_by="`search --tool`, `connect --tools`, `changes --tools`",
        secret=True,
    )
    box_selectors: tuple[str, ...] = _variable(
        "SAKUIN_BOX_SELECTORS",
        "the deployment's `BoxSelectors`, if it has its own",
        needed_by="`annotate`, `validate PATH`",
    )
    aws_endpoint_url: str | None = _variable(
        "AWS_ENDPOINT_URL", "the endpoint of AWS, if it is not in the cloud", needed_by=_AWS_COMMANDS
    )
    aws_endpoint_url_s3: str | None = _variable(
        "AWS_ENDPOINT_URL_S3", "the endpoint of S3, if it differs from that of AWS", needed_by="`doctor`"
    )
    aws_session: Mapping[str, str | None] = _variable(
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "the account and the region of bucket, secret and stack, as the AWS CLI reads them",
        needed_by=_AWS_COMMANDS,
        secret=True,
    )

    @classmethod
    def load(cls, data: Path | None) -> "CommandSettings":
        """Reads the settings of the current command; `data` is its option `--data`."""
        return cls.read(environment(os.environ, data, here=Path.cwd()))

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "CommandSettings":
        """Reads the settings in `environ`. A missing one is no error here, see `required`."""
        # `sakuin --help` does not need them.
        from sakuin.settings import css_selectors

        texts = {
            each.name: environ.get(each.metadata["variables"][0], "").strip()
            for each in fields(cls)
            if each.type is str
        }
        return cls(
            **texts | {"url": texts["url"].rstrip("/")},
            box_selectors=css_selectors(environ.get("SAKUIN_BOX_SELECTORS", "")),
            aws_endpoint_url=environ.get("AWS_ENDPOINT_URL") or None,
            aws_endpoint_url_s3=environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or None,
            aws_session={
                "aws_access_key_id": environ.get("AWS_ACCESS_KEY_ID") or None,
                "aws_secret_access_key": environ.get("AWS_SECRET_ACCESS_KEY") or None,
                "aws_session_token": environ.get("AWS_SESSION_TOKEN") or None,
                "region_name": environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or None,
                "profile_name": environ.get("AWS_PROFILE") or None,
            },
        )

    def project_id(self, named: str | None) -> str:
        """Returns the project of `--project`, otherwise the one of the settings."""
        if project := named or self.project:
            return project
        raise Misconfigured("No project: give --project, or set SAKUIN_PROJECT to the id of a project")


def required(value: str, name: str, example: str) -> str:
    """Returns a setting that the command needs; raises `Misconfigured` if it is empty."""
    if value:
        return value
    raise Misconfigured(f"{name} is not set: run `sakuin up` first, or set {name}, for example {name}={example}")


def environment(environ: Mapping[str, str], data: Path | None, *, here: Path) -> dict[str, str]:
    """Returns the environment, completed from `<data>/env`; without `data`, from `.sakuin/env` of `here` or a parent.

    The environment wins, except that bucket, secret, stack and the `AWS_` variables come from one source: the bucket of
    a local stack does not exist in a real account, and the other way round.
    """
    file = data / _FILE if data else _nearest(here)
    if file is None or not file.is_file():
        if environ.get("SAKUIN_URL") or environ.get("SAKUIN_SECRET"):
            return dict(environ)
        missing = f"{file} does not exist" if file else f"There is no {DATA_FOLDER}/{_FILE} here or in a parent folder"
        up = f"sakuin up --data {data}" if data else "sakuin up"
        raise Misconfigured(f"{missing}: run `{up}` first and leave it running, or set SAKUIN_URL and the keys")
    stored = _values(file)
    if any(environ.get(name) for name in _NAMES_IN_AWS):
        return {**_without_aws(stored), **environ}
    if any(name in stored for name in _NAMES_IN_AWS):
        return {**stored, **_without_aws(environ)}
    return {**stored, **environ}


def _nearest(here: Path) -> Path | None:
    files = (folder / DATA_FOLDER / _FILE for folder in (here, *here.parents))
    return next((file for file in files if file.is_file()), None)


def _values(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{file} cannot be read: {error}") from error
    entries = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): value for name, value in entries}


def _without_aws(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if not name.startswith("AWS_") and name not in _NAMES_IN_AWS}
