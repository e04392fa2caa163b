"""The options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

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
PrefixOption = Annotated[str, typer.Option("--prefix", metavar="P", help="Folder in the library that pages go to.")]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long to wait for the index.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Make a box without an id an error.")]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="ID", help="The project.", show_default="SAKUIN_PROJECT, the one that `up` made"),
]
IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index", metavar="FINGERPRINT", help='"next", or a fingerprint.', show_default="the one that answers"
    ),
]
