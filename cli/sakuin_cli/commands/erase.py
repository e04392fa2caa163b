"""`sakuin erase`: removes a customer for good, a folder of the library, a project, or both."""

from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import ChangingCommand, aws_client
from sakuin_cli.options import TimeoutOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.erasure import Erasure

BACKUPS = (
    "Backups still have it: those of Supabase (plan Pro: 7 days; point-in-time recovery: as long as it is set to), "
    "dumps and copies of buckets that you took, and logs until their retention ends."
)


def erase(
    command: ChangingCommand,
    folder: Annotated[
        str | None,
        typer.Option("--folder", metavar="FOLDER", help="Its pages, files, keys, and all questions to the library."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="ID", help="It with Tables, Tools, endpoints, keys, members and counters."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    timeout: TimeoutOption = 300,
) -> None:
    """Erase a customer for good, with all versions in the buckets. Exit code 1 if anything is left: run it again."""
    from sakuin_cli.waiting import poll

    if not (folder or project):
        raise typer.BadParameter("Name a folder, a project, or both", param_hint="--folder")
    terminal, dry_run, left = command.terminal, command.dry_run, 0
    erasure = _erasure(command, folder, project)
    if not (dry_run or yes):
        typer.confirm(f"Erase {' and '.join(filter(None, (folder, project)))} for good?", abort=True, err=True)
    with terminal.waiting():
        if dry_run:
            erasure.count()
        else:
            left = erasure.erase(poll(timeout))
    document = {"dry_run": dry_run, "erased": erasure.counts, "left": left, "backups": BACKUPS}
    terminal.answer(document, lambda: _show(terminal, erasure.counts, left, dry_run=dry_run))
    raise typer.Exit(1 if left else 0)


def _erasure(command: ChangingCommand, folder: str | None, project: str | None) -> "Erasure":
    """Returns what erases. The command deletes versions itself: no function of the deployment may."""
    from unicodedata import normalize

    from sakuin.knowledge.names import folder_name

    from sakuin_cli.erasure import Erasure
    from sakuin_cli.settings import required

    folder = folder_name(folder) if folder else None
    settings = command.settings
    stack = required(settings.stack, "SAKUIN_STACK", "sakuin")
    described = aws_client(settings, "cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
    buckets = {each["OutputKey"]: each["OutputValue"] for each in described}
    places: dict[str, set[str]] = {}
    if folder:
        prefix = command.library().prefix
        places[buckets["MaterialsBucket"]] = {normalize(form, f"{prefix}{folder}/") for form in ("NFC", "NFD")}
    if project:
        places[buckets["TablesBucket"]] = {f"tables/{project}/"}
    return Erasure(command.client, aws_client(settings, "s3"), places, folder, project)


def _show(terminal: Terminal, counts: dict[str, int], left: int, *, dry_run: bool) -> None:
    for name, number in counts.items():
        terminal.print(f"{number:>9,}  {name}")
    if dry_run:
        terminal.print(("Nothing was changed.", "bold"))
        return
    if left:
        terminal.print((f"{left:,} are still being deleted: run it again in some minutes.", "bold yellow"))
    terminal.print(BACKUPS)
