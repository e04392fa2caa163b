"""The page of the arguments and options of all commands."""

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import typer
from sakuin_cli.main import commands
from sakuin_local.cli import register

_PAGE = """\
# Options of the commands

[Commands](commands.md) says what each does. `sakuin COMMAND --help` shows the same.
"""
_HEAD = "| Argument or option | Does |\n|---|---|\n"


def options_page() -> str:
    """Returns a section with a table for each command, as its parser is now."""
    app = commands()
    register(app)
    return _PAGE + "".join(_sections(typer.main.get_command(app), "sakuin"))


def _sections(group: Any, words: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _sections(command, f"{words} {name}")
        else:
            rows = "".join(f"| `{parameter}` | {text} |\n" for parameter, text in map(_row, command.params))
            yield f"\n## `{words} {name}`\n\n{_HEAD}{rows}"


def _row(parameter: Any) -> tuple[str, str]:
    """The name of a parameter and what it does, with its range and its default."""
    name = next((name for name in parameter.opts if name.startswith("--")), parameter.metavar)
    text, annotation = parameter.help.rstrip("."), parameter.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        text += f": {', '.join(get_args(annotation))}"
    if parameter.max is not None:
        text += f", {parameter.min} to {parameter.max}"
    shown = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    if shown and shown is not True and parameter.show_default is not False:
        text += f" ({shown:g})" if isinstance(shown, float) else f" ({shown})"
    return name, re.sub(r"(--[a-z-]+)", r"`\1`", text)
