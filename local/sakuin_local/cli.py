"""The command `sakuin up`."""

import os
from pathlib import Path
from typing import Annotated

import typer
from sakuin.errors import Misconfigured
from sakuin_cli.terminal import Terminal, reporting_errors


def register(app: typer.Typer) -> None:
    """Adds `up` to the product's commands."""

    @app.command(
        rich_help_panel="Start",
        epilog="Examples:\n\nsakuin up\n\nsakuin up docs/\n\nsakuin up --port 8800 --data /tmp/other --no-samples",
    )
    def up(
        pages: Annotated[
            Path | None,
            typer.Argument(
                metavar="[DIR]",
                exists=True,
                file_okay=False,
                resolve_path=True,
                help="A folder of built pages and Markdown: it is the whole library instead of the samples, also when "
                "files change.",
            ),
        ] = None,
        port: Annotated[int, typer.Option(help="The port of http://127.0.0.1:PORT/mcp; 0 takes a free one.")] = 8787,
        data: Annotated[Path, typer.Option(help="The folder for all data.")] = Path(".sakuin"),
        fresh: Annotated[bool, typer.Option("--fresh", help="Delete all data first.")] = False,
        no_samples: Annotated[bool, typer.Option("--no-samples", help="Do not load the samples.")] = False,
        parameter: Annotated[
            list[str] | None,
            typer.Option(help="NAME=VALUE: a parameter of the template with another value; may be repeated."),
        ] = None,
        vectors_of: Annotated[
            str | None,
            typer.Option(
                "--vectors-of",
                metavar="URL",
                help="Embed with the model of the deployment at URL, by the key in SAKUIN_PUSH_KEY.",
            ),
        ] = None,
        model: Annotated[
            Path | None,
            typer.Option(
                exists=True,
                resolve_path=True,
                metavar="PATH",
                help="Embed with this model of ONNX: its file, or the folder of it.",
            ),
        ] = None,
    ) -> None:
        """Start the whole stack on this machine, with the samples or a folder of pages; Ctrl-C stops it."""
        # These imports take a second; no other command needs them.
        try:
            from rich.console import Console

            from sakuin_local.up import Options
            from sakuin_local.up import up as run
            from sakuin_local.vendors import VectorSource

            if model:
                import sakuin_local.embeddings.onnx  # noqa: F401 - its packages are not those of the usual model
        except ModuleNotFoundError as error:
            extra = "local,onnx" if model else "local"
            with reporting_errors(as_json=False):
                raise Misconfigured(f'`sakuin up` needs the package {error.name}: install "sakuin[{extra}]"') from error

        parameters = dict(_name_and_value(each) for each in parameter or ())
        samples = not no_samples and pages is None
        source: VectorSource | Path | None = model
        if vectors_of:
            if not (key := os.environ.get("SAKUIN_PUSH_KEY")):
                raise typer.BadParameter("It needs SAKUIN_PUSH_KEY", param_hint="--vectors-of")
            source = VectorSource(vectors_of, key)
        options = Options(data, port, fresh, samples, pages, parameters, source)
        progress = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(run(options, output=Terminal(as_json=False), progress=progress))

    # First in the help, too.
    app.registered_commands.insert(0, app.registered_commands.pop())


def _name_and_value(parameter: str) -> tuple[str, str]:
    name, equals, value = parameter.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{parameter} is not of the form NAME=VALUE", param_hint="--parameter")
    return name, value
