"""Which paths a command takes."""

from collections.abc import Iterable
from pathlib import Path

import typer


def refuse_other_files(paths: Iterable[Path]) -> None:
    """A single file that is neither a page nor a `learns.yml` is wrong usage; in a folder it is just left out."""
    for path in paths:
        if path.is_file() and path.suffix != ".html" and path.name not in ("learns.yml", "synonyms.yml"):
            raise typer.BadParameter(
                f"{path} is neither an .html file, a folder, a learns.yml nor a synonyms.yml", param_hint="PATH"
            )
