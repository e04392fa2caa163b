"""A command's settings: the environment, and the `env` file in the data folder of `sakuin up`."""

from collections.abc import Mapping
from pathlib import Path

from sakuin.errors import Misconfigured

DATA_FOLDER = ".sakuin"
_FILE = "env"
# What is asked of AWS by name: each only means something in its own account.
_NAMES_IN_AWS = ("SAKUIN_BUCKET", "SAKUIN_SECRET", "SAKUIN_STACK")


def settings_of(environ: Mapping[str, str], data: Path | None, *, here: Path) -> dict[str, str]:
    """The environment, completed from `<data>/env`; without `data`, from `.sakuin/env` of `here` or a parent.

    The environment wins, except that bucket, secret, stack and the `AWS_` variables come from one place: a person's own
    account must not be asked for the bucket of a local stack, nor the local stack for a real bucket.
    """
    file = data / _FILE if data else _nearest(here)
    if file is None or not file.is_file():
        if environ.get("SAKUIN_URL") or environ.get("SAKUIN_SECRET"):
            return dict(environ)
        missing = f"{file} does not exist" if file else f"There is no {DATA_FOLDER}/{_FILE} here or in a parent folder"
        up = f"sakuin up --data {data}" if data else "sakuin up"
        raise Misconfigured(f"{missing}: run `{up}` first and leave it running, or set SAKUIN_URL and the keys")
    kept = _values(file)
    if any(environ.get(name) for name in _NAMES_IN_AWS):
        return {**_without_aws(kept), **environ}
    if any(name in kept for name in _NAMES_IN_AWS):
        return {**kept, **_without_aws(environ)}
    return {**kept, **environ}


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
