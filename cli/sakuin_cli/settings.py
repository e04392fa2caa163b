"""What a command reads: the environment, completed from the `env` file in the data folder of `sakuin up`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sakuin.errors import Misconfigured

DATA_FOLDER = ".sakuin"
_FILE = "env"
# What AWS is asked for by name: each name only means something in its own account.
_NAMES_IN_AWS = ("SAKUIN_BUCKET", "SAKUIN_SECRET", "SAKUIN_STACK")


_OF_AWS = "`push`, `rm`, `keys`, `redrive`"


def _variable(*variables_and_description: str, needed_by: str, secret: bool = False) -> Any:
    """A field that is read from these variables; docs/reference/settings.md shows them."""
    *variables, description = variables_and_description
    metadata = {"variables": tuple(variables), "description": description, "needed_by": needed_by}
    return field(repr=not secret, metadata=metadata)


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """How a command reaches a deployment. Only a command that needs an empty setting misses it (`required`).

    Boto3 would read the rest of the process's environment; it gets `aws_session` instead, so that a stack's own env
    file decides alone.
    """

    url: str = _variable(
        "SAKUIN_URL", "where the HTTP API is, without `/mcp`", needed_by="all; `keys` and `redrive` say less without it"
    )
    api_key: str = _variable(
        "SAKUIN_API_KEY", "a key of `/mcp`, for agents", needed_by="`search`, `chunk`", secret=True
    )
    admin_key: str = _variable(
        "SAKUIN_ADMIN_KEY",
        "a key of `/v1`, for operators",
        needed_by="all but `search`, `chunk`; `keys` and `redrive` say less without it",
        secret=True,
    )
    bucket: str = _variable("SAKUIN_BUCKET", "the materials bucket", needed_by="`push`, `rm`")
    material_prefix: str = _variable(
        "SAKUIN_MATERIAL_PREFIX",
        "the deployment's `MaterialPrefix`, if it has one",
        needed_by="`push`, `rm`, `validate PATH`",
    )
    secret: str = _variable("SAKUIN_SECRET", "the name of the functions' secret", needed_by="`keys`")
    stack: str = _variable(
        "SAKUIN_STACK", "the name of the deployed stack, whose outputs name the queues", needed_by="`redrive`"
    )
    project: str = _variable(
        "SAKUIN_PROJECT",
        "the id of the project that is meant without `--project`",
        needed_by="`table put`, `tool create`, `mcp create`, `member`",
    )
    tools_mcp_url: str = _variable(
        "SAKUIN_TOOLS_MCP_URL",
        "an endpoint with Search Tools",
        needed_by="`search --tool`, `eval --tool`, `explain --tool`",
    )
    tools_api_key: str = _variable(
        "SAKUIN_TOOLS_API_KEY", "the key of that endpoint", needed_by="`search --tool`", secret=True
    )
    box_selectors: tuple[str, ...] = _variable(
        "SAKUIN_BOX_SELECTORS", "the deployment's `BoxSelectors`, if it has its own", needed_by="`validate PATH`"
    )
    aws_endpoint_url: str | None = _variable(
        "AWS_ENDPOINT_URL", "where AWS is, if it is not in the cloud", needed_by=_OF_AWS
    )
    aws_endpoint_url_s3: str | None = _variable(
        "AWS_ENDPOINT_URL_S3", "where S3 is, if it is elsewhere than the rest of AWS", needed_by="`push`, `rm`"
    )
    aws_session: Mapping[str, str | None] = _variable(
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "the account and the region of bucket, secret and stack, as the AWS CLI reads them",
        needed_by=_OF_AWS,
        secret=True,
    )

    @classmethod
    def load(cls, data: Path | None) -> "CommandSettings":
        """The settings of the command that runs now; `data` is its option `--data`."""
        return cls.read(environment(os.environ, data, here=Path.cwd()))

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "CommandSettings":
        """The settings in `environ`. Raises nothing: `required` does, once a command needs what is missing."""
        # `sakuin --help` has no need of them.
        from sakuin.settings import css_selectors, folder_prefix

        return cls(
            url=environ.get("SAKUIN_URL", "").strip().rstrip("/"),
            api_key=environ.get("SAKUIN_API_KEY", "").strip(),
            admin_key=environ.get("SAKUIN_ADMIN_KEY", "").strip(),
            bucket=environ.get("SAKUIN_BUCKET", "").strip(),
            material_prefix=folder_prefix(environ.get("SAKUIN_MATERIAL_PREFIX", "")),
            secret=environ.get("SAKUIN_SECRET", "").strip(),
            stack=environ.get("SAKUIN_STACK", "").strip(),
            project=environ.get("SAKUIN_PROJECT", "").strip(),
            tools_mcp_url=environ.get("SAKUIN_TOOLS_MCP_URL", "").strip(),
            tools_api_key=environ.get("SAKUIN_TOOLS_API_KEY", "").strip(),
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
        """The project that `--project` names, else the one of the settings."""
        if project := named or self.project:
            return project
        raise Misconfigured("No project is named: give --project, or set SAKUIN_PROJECT to a project's id")


def required(value: str, name: str, example: str) -> str:
    """A setting that a command cannot do without; a missing one raises `Misconfigured`."""
    if value:
        return value
    raise Misconfigured(f"{name} is not set: run `sakuin up` first, or set {name}, for example {name}={example}")


def environment(environ: Mapping[str, str], data: Path | None, *, here: Path) -> dict[str, str]:
    """The environment, completed from `<data>/env`; without `data`, from `.sakuin/env` of `here` or a parent.

    The environment wins, except that bucket, secret, stack and the `AWS_` variables come from one place: a local
    stack's bucket does not exist in a person's own account, nor a real bucket in the local stack.
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
