"""`sakuin init`: writes the configuration of a site, and a workflow that builds, checks and pushes it."""

from pathlib import Path
from typing import Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.options import PrefixOption


def init(
    command: ChangingCommand,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", exists=True, file_okay=False, help="The folder of the site.")
    ] = Path(),
    pages: Annotated[
        str | None,
        typer.Option("--pages", metavar="DIR", help="The folder of built pages.", show_default="the one that is there"),
    ] = None,
    build: Annotated[
        str, typer.Option("--build", metavar="COMMAND", help="The command that builds the site on the runner.")
    ] = "make",
    prefix: PrefixOption = "",
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that exist; without it nothing is written if one does.")
    ] = False,
) -> None:
    """Write sakuin.toml and a workflow for GitHub Actions that builds, checks and pushes the site."""
    from sakuin_cli.files import write_text
    from sakuin_cli.site.config import CONFIG_FILE
    from sakuin_cli.site.uploads import folder_path
    from sakuin_cli.site.workflow import WORKFLOW, built_folder, config_text, workflow_text

    built, library_folder = pages or built_folder(folder), folder_path(prefix).rstrip("/")
    texts = {
        folder / CONFIG_FILE: config_text(built, library_folder),
        folder / WORKFLOW: workflow_text(built, library_folder, build),
    }
    if there := [file.as_posix() for file in texts if file.exists() and not force]:
        raise Invalid(f"{' and '.join(there)} would be overwritten: say --force, or remove what is there")
    files = [file.as_posix() for file in texts]
    if command.dry_run:
        command.would(*(f"write {path}" for path in files))
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text)
    command.terminal.answer(
        {"pages": built, "prefix": library_folder, "files": files},
        lambda: command.terminal.lines(
            *(f"+ {path}" for path in files),
            "The workflow needs an address and a key: its first lines say which",
            f"Pages are built into {built}. Next: build the site, then `sakuin push --dry-run`",
        ),
    )
