"""The tables of arguments and options in docs/reference/commands.md; the text around them is written by hand."""

import re
from typing import Any, Literal, get_args, get_origin

import typer
from sakuin_cli.main import commands
from sakuin_local.cli import register

_HEAD = "| Argument or option | Does |\n|---|---|\n"
# The heading of a command, the text up to its table, and the table.
_SECTION = re.compile(
    r"^(## `sakuin ([\w ]+)`\n(?:(?!^## |^\| Argument or option \|).*\n)*)((?:^\|.*\n)*)", re.MULTILINE
)


def commands_page(page: str) -> str:
    """Returns the page with the table of each command as its parser is now."""
    app = commands()
    register(app)
    root: Any = typer.main.get_command(app)

    def section(found: re.Match[str]) -> str:
        command = root
        for word in found[2].split():
            command = command.commands[word]
        rows = "".join(f"| `{name}` | {text} |\n" for name, text in map(_row, command.params))
        return f"{found[1]}{_HEAD}{rows}"

    return _SECTION.sub(section, page)


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
