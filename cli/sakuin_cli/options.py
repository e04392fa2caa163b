"""Options and arguments that several commands share."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from sakuin.errors import Invalid
from sakuin.retrieval.filters import filter_in

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.terminal import reporting_errors

AUTHORED_FILES = ("learns.yml", "synonyms.yml")

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="SAKUIN_DATA",
        metavar="FOLDER",
        help="The data folder of `sakuin up`.",
        show_default=".sakuin here or in a parent folder",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]
PathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATH",
        exists=True,
        help="Folders, whose pages keep their paths below them, .html files, learns.yml or synonyms.yml.",
        show_default="`pages` of sakuin.toml",
    ),
]
FolderArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="The folder of pages, built or Markdown.",
        show_default="`pages` of sakuin.toml",
    ),
]
PrefixOption = Annotated[str, typer.Option("--prefix", metavar="P", help="The folder of the library for the pages.")]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How many seconds to wait for the index.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Report a box without an id as an error.")]
ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="ID",
        help="The project, or its name.",
        show_default="SAKUIN_PROJECT, the one that `up` creates",
    ),
]
TypeOption = Annotated[
    Literal["rule", "method", "definition", "example", "tip"] | None,
    typer.Option("--type", help="Only sections of this type."),
]
CategoryOption = Annotated[str | None, typer.Option("--category", help="Only pages of this category.")]
LevelOption = Annotated[str | None, typer.Option("--level", help="Only pages of this level.")]
LanguageOption = Annotated[str | None, typer.Option("--language", help="Only pages in this language.")]
OwnFilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="FIELD=VALUE", help="Only pages with this value of their own; may be repeated."),
]
MaterialOption = Annotated[str | None, typer.Option("--material", help="Only this page.")]
FolderOption = Annotated[
    str | None, typer.Option("--in", metavar="FOLDER", help="Only pages of this folder: senior/math-1.")
]
IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="FINGERPRINT",
        help="The index version: a fingerprint, its beginning, or next.",
        show_default="the live one",
    ),
]


def check_paths(paths: Iterable[Path]) -> None:
    """Rejects a file that is not a page, `learns.yml` or `synonyms.yml`; in a folder such files are skipped."""
    for path in paths:
        if path.is_file() and path.suffix != ".html" and path.name not in AUTHORED_FILES:
            raise typer.BadParameter(
                f"{path} is not an .html file, a folder, a learns.yml or a synonyms.yml", param_hint="PATH"
            )


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Returns a command for typer: a function of a `Command`, with the options that all commands have.

    Its first parameter says whether it changes something, and so has the option `--dry-run`.
    """
    (first, *parameters) = inspect.signature(function).parameters.values()
    changes = issubclass(first.annotation, ChangingCommand)
    options: dict[str, Any] = {**({"dry_run": DryRunOption} if changes else {}), "as_json": JsonOption}
    shared = [
        *(inspect.Parameter(name, first.kind, default=False, annotation=option) for name, option in options.items()),
        inspect.Parameter("data", first.kind, default=None, annotation=DataOption),
    ]

    @wraps(function)
    def command(*, as_json: bool, data: Path | None, dry_run: bool = not changes, **values: Any) -> None:
        with reporting_errors(as_json) as terminal:
            function(first.annotation(terminal, data, dry_run=dry_run), **values)

    signature = inspect.Signature([*parameters, *shared])
    # Typer reads it; mypy does not know this attribute of functions.
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return command


def fields_in(given: Iterable[str]) -> dict[str, str]:
    """Returns values by fields from FIELD=VALUE."""
    try:
        return filter_in(given)
    except Invalid as error:
        raise typer.BadParameter(str(error), param_hint="--filter") from error


def page_filters(own: Sequence[str] | None, folder: str | None, **filters: str | None) -> dict[str, Any]:
    """Returns the filters of a search of pages; `own` are FIELD=VALUE, several of a field any of them."""
    given = {name: value for name, value in (filters | {"in": folder}).items() if value is not None}
    values: dict[str, list[str]] = {}
    for each in own or ():
        for name, value in fields_in([each]).items():
            values.setdefault(name, []).append(value)
    return given | ({"filter": values} if values else {})
