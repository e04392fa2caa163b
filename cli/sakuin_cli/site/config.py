"""The file `sakuin.toml` of a site: where its built pages are, and their folder in the library and its description."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from sakuin.errors import Invalid

CONFIG_FILE = "sakuin.toml"


@dataclass(frozen=True, slots=True)
class Site:
    """The files or folders to push and their folder in the library, with its description if the file says one."""

    paths: tuple[Path, ...]
    prefix: str
    description: str | None = None


def site_of(paths: Sequence[Path] | None, prefix: str) -> Site:
    """Returns the named paths; without any, those of the `sakuin.toml` here or in a parent folder."""
    if paths:
        return Site(tuple(paths), prefix)
    file = config_file(Path.cwd())
    if file is None:
        raise typer.BadParameter(f"Name a folder of built pages, or run `sakuin init` to write {CONFIG_FILE}")
    found = _read(file)
    pages, stored, description = found.get("pages"), found.get("prefix", ""), found.get("description")
    if not isinstance(pages, str) or not isinstance(stored, str) or not isinstance(description, str | None):
        raise Invalid(f'{file}: write `pages = "folder"`, the built pages, and `prefix` and `description` as text')
    built = file.parent / pages
    if not built.is_dir():
        raise Invalid(f"{built} does not exist: build the site first, or correct `pages` in {file}")
    return Site((built,), prefix or stored, description)


def index_of(folder: Path) -> str:
    """Returns what `index` in the `sakuin.toml` of a folder or its parents says: "headings", "ids", or nothing."""
    file = config_file(folder)
    index = _read(file).get("index", "") if file is not None else ""
    if index not in ("", "headings", "ids"):
        raise Invalid(f'{file}: `index` is "headings" or "ids"')
    return str(index)


def config_file(folder: Path) -> Path | None:
    """Returns the `sakuin.toml` of a folder or of the nearest parent that has one."""
    files = (parent / CONFIG_FILE for parent in (folder, *folder.parents))
    return next((file for file in files if file.is_file()), None)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}") from error
