"""The command `sakuin up`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add `up` to the product's commands."""

    @app.command()
    def up(
        port: Annotated[int, typer.Option(help="Where http://127.0.0.1:PORT/mcp answers; 0 takes a free one.")] = 8787,
        data: Annotated[Path, typer.Option(help="The folder that keeps everything.")] = Path(".sakuin"),
        fresh: Annotated[bool, typer.Option("--fresh", help="Forget everything first.")] = False,
        no_samples: Annotated[bool, typer.Option("--no-samples", help="Do not load the sample pages.")] = False,
        parameter: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE: a parameter of the template with another value.")
        ] = None,
    ) -> None:
        """Start the whole stack on this machine; Ctrl-C stops it."""
        # Loading the stack takes a second, which no other command should pay for.
        from sakuin_local.up import Options
        from sakuin_local.up import up as run

        parameters = dict(_named(each) for each in parameter or ())
        options = Options(data=data, port=port, fresh=fresh, samples=not no_samples, parameters=parameters)
        raise typer.Exit(run(options, output=Console(), progress=Console(stderr=True)))


def _named(parameter: str) -> tuple[str, str]:
    name, equals, value = parameter.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{parameter} is not of the form NAME=VALUE", param_hint="--parameter")
    return name, value
