"""Settings of a command: the environment, completed from the `env` file in the data folder of `sakuin up`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sakuin.errors import Misconfigured
from sakuin.knowledge.page import css_selectors

DATA_FOLDER = ".sakuin"
_FILE = "env"
# Names that are valid in one AWS account only.
_NAMES_IN_AWS = ("SAKUIN_BUCKET", "SAKUIN_SECRET", "SAKUIN_STACK")


def _variable(*variables_and_description: str, secret: bool = False) -> Any:
    """A field that is read from these variables; docs/reference/settings.md lists them."""
    *variables, description = variables_and_description
    return field(repr=not secret, metadata={"variables": tuple(variables), "description": description})


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """How a command reaches a deployment. An empty setting is an error only in a command that needs it (`required`).

    boto3 gets `aws_session` in place of the process's environment, so that the env file of a stack decides alone.
    """

    url: str = _variable("SAKUIN_URL", "the URL of the HTTP API, without `/mcp`")
    api_key: str = _variable("SAKUIN_API_KEY", "a key of `/mcp`, for agents", secret=True)
    admin_key: str = _variable("SAKUIN_ADMIN_KEY", "a key of `/v1`, for operators", secret=True)
    push_key: str = _variable(
        "SAKUIN_PUSH_KEY", "a key that pushes below one folder, in place of `SAKUIN_ADMIN_KEY`", secret=True
    )
    bucket: str = _variable("SAKUIN_BUCKET", "the materials bucket, for `doctor`")
    secret: str = _variable("SAKUIN_SECRET", "the name of the functions' secret, for `keys`")
    stack: str = _variable("SAKUIN_STACK", "the name of the deployed stack, for `doctor` and `erase`")
    project: str = _variable("SAKUIN_PROJECT", "the id of the project, if `--project` is not given")
    tools_mcp_url: str = _variable("SAKUIN_TOOLS_MCP_URL", "an endpoint with Search Tools, for `--tool`")
    tools_api_key: str = _variable("SAKUIN_TOOLS_API_KEY", "the key of that endpoint", secret=True)
    box_selectors: tuple[str, ...] = _variable(
        "SAKUIN_BOX_SELECTORS", "the deployment's `BoxSelectors`, if it has its own, for `annotate` and `validate PATH`"
    )
    aws_endpoint_url: str | None = _variable("AWS_ENDPOINT_URL", "the endpoint of AWS, if it is not in the cloud")
    aws_endpoint_url_s3: str | None = _variable(
        "AWS_ENDPOINT_URL_S3", "the endpoint of S3, if it differs from that of AWS"
    )
    aws_session: Mapping[str, str | None] = _variable(
        *("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"),
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        "the account and the region of bucket, secret and stack, as the AWS CLI reads them",
        secret=True,
    )

    @classmethod
    def load(cls, data: Path | None) -> "CommandSettings":
        """Reads the settings of the current command; `data` is its option `--data`."""
        return cls.read(environment(os.environ, data, here=Path.cwd()))

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "CommandSettings":
        """Reads the settings in `environ`. A missing one is no error here, see `required`."""
        texts = {
            each.name: environ.get(each.metadata["variables"][0], "").strip()
            for each in fields(cls)
            if each.type is str
        }
        return cls(
            **texts | {"url": _address(texts["url"])},
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


def _address(url: str) -> str:
    """Returns the address of a deployment; raises `Misconfigured` for the usual mistakes."""
    address = url.rstrip("/")
    if address.endswith(("/mcp", "/v1")):
        right = address.rpartition("/")[0]
        raise Misconfigured(f"SAKUIN_URL is the address of the deployment alone: set SAKUIN_URL={right}")
    if address and not address.startswith(("http://", "https://")):
        raise Misconfigured(f"SAKUIN_URL begins with http:// or https://: set SAKUIN_URL=http://{address} or https://…")
    return address


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
