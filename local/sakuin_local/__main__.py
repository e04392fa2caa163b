"""`python -m sakuin_local up`, where the product's command is not installed."""

import typer

from sakuin_local.cli import register

if __name__ == "__main__":
    app = typer.Typer(no_args_is_help=True)

    @app.callback()
    def _group() -> None:
        """Keeps `up` a command of its own while it is the only one."""

    register(app)
    app()
