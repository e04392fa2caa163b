"""Tables at the end of a text of TOML."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from sakuin.console.agents import toml_table

from sakuin_cli.connecting.text import CannotEdit, Insertion, line_end


def read(text: str) -> Any:
    """Returns the value of the text. Raises `CannotEdit`."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CannotEdit(f"it is not valid TOML: {error}") from error


def insert(text: str, addition: Mapping[str, Any]) -> tuple[str, list[Insertion]]:
    """Adds the tables of `addition` ({"mcp_servers": {name: table}}; its values are strings) that are missing."""
    present, end = read(text), line_end(text)
    written = ""
    for outer, tables in addition.items():
        for name, table in tables.items():
            if name not in present.get(outer, {}):
                written += toml_table(f"{outer}.{name}", table, end)
    # The table begins on a line of its own, after an empty one; in an empty file on the first.
    written = end + written if text and not text.endswith("\n") else written if text else written.removeprefix(end)
    return text + written, [Insertion(len(text), len(written))]


def remove(text: str, path: Sequence[str], *, if_empty: bool = False) -> str:
    """Removes the rows of the table at `path` and of those below it; comments stay.

    `if_empty` asks for nothing: a table is gone with the last one below it.
    """
    header = f"[{'.'.join(path)}"
    kept: list[str] = []
    inside = False
    for line in [] if if_empty else text.split("\n"):
        if line.startswith("["):
            inside = line.startswith((f"{header}]", f"{header}."))
            if inside and kept and not kept[-1].strip():
                kept.pop()
        if not inside or not line.strip() or line.startswith("#"):
            kept.append(line)
    return text if if_empty else "\n".join(kept)
