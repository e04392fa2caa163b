"""The command `sakuin up`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def register(app: typer.Typer) -> None:
    """Adds `up` to the product's commands."""

    @app.command(epilog="Examples:\n\nsakuin up\n\nsakuin up --port 8800 --data /tmp/other --no-samples")
    def up(
        port: Annotated[int, typer.Option(help="The port of http://127.0.0.1:PORT/mcp; 0 takes a free one.")] = 8787,
        data: Annotated[Path, typer.Option(help="The folder for all data.")] = Path(".sakuin"),
        fresh: Annotated[bool, typer.Option("--fresh", help="Delete all data first.")] = False,
        no_samples: Annotated[bool, typer.Option("--no-samples", help="Do not load the samples.")] = False,
        parameter: Annotated[
            list[str] | None,
            typer.Option(help="NAME=VALUE: a parameter of the template with another value; may be repeated."),
        ] = None,
    ) -> None:
        """Start the whole stack on this machine; Ctrl-C stops it."""
        # These imports take a second; no other command needs them.
        from sakuin_local.up import Options
        from sakuin_local.up import up as run

        parameters = dict(_name_and_value(each) for each in parameter or ())
        options = Options(data=data, port=port, fresh=fresh, samples=not no_samples, parameters=parameters)
        raise typer.Exit(run(options, output=Console(), progress=Console(stderr=True)))


def _name_and_value(parameter: str) -> tuple[str, str]:
    name, equals, value = parameter.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{parameter} is not of the form NAME=VALUE", param_hint="--parameter")
    return name, value
