"""`sakuin keys`: the keys that open a deployment's `/mcp` and `/v1`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.deployment_keys import KeptKey

# Enough to tell keys apart; the whole hash is of no use to anybody.
_SHOWN = 12


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the commands."""
    keys = typer.Typer(name="keys", help="The keys that open /mcp and /v1 of a deployment.", no_args_is_help=True)
    app.add_typer(keys)

    @keys.command()
    def new(
        purpose: Annotated[
            Literal["knowledge", "admin"],
            typer.Option("--for", help="What it opens: knowledge is for agents (/mcp), admin for keepers (/v1)."),
        ],
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Make a key and show it, this once; those that there are stay. Opens within half a minute."""
        terminal = Terminal(as_json)
        with terminal.reported():
            made, key = desk_of(data).keys().new(purpose)
        terminal.fields({"key": key, **_shown(made)})

    @keys.command(name="list")
    def list_(as_json: JsonOption = False, data: DataOption = None) -> None:
        """Show the hashes of the keys that open something, oldest first, and when each was last used."""
        terminal = Terminal(as_json)
        with terminal.reported():
            keys = desk_of(data).keys()
            kept = keys.all()
            days = keys.days() if kept else {}
        if as_json:
            terminal.document({"keys": [{**_shown(each), "last_used_on": days.get(each.hash)} for each in kept]})
        elif kept:
            _show(terminal, kept, days)

    @keys.command()
    def rm(
        hash: Annotated[str, typer.Argument(metavar="HASH", help="The key's hash, or how it begins.")],
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Take a key away. Closed within five minutes."""
        terminal = Terminal(as_json)
        with terminal.reported():
            gone = desk_of(data).keys().remove(hash)
        terminal.fields({**_shown(gone), "removed": True})

    @keys.command()
    def pepper(
        forget: Annotated[
            bool, typer.Option("--forget", help="Take the old pepper away, once no key needs it any more.")
        ] = False,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Replace what keys are hashed with. Every key goes on opening, until the old pepper is forgotten."""
        terminal = Terminal(as_json)
        with terminal.reported():
            keys = desk_of(data).keys()
            outdated = [] if forget else [_shown(each) for each in keys.new_pepper()]
            if forget:
                keys.forget_peppers()
        if as_json:
            terminal.document({"forgotten": forget, "outdated": outdated})
        elif forget:
            terminal.out.print("The old pepper is gone.")
        else:
            terminal.out.print(f"The pepper is replaced. Replace {len(outdated)} keys too, then: keys pepper --forget")


def _show(terminal: Terminal, kept: Sequence["KeptKey"], days: Mapping[str, str]) -> None:
    rows = [("hash", "for", "last used")]
    rows += [(each.hash[:_SHOWN], each.purpose, days.get(each.hash, "—")) for each in kept]
    for hash, purpose, day in rows:
        terminal.out.print(f"{hash:<{_SHOWN}}  {purpose:<9}  {day}", highlight=False)


def _shown(kept: "KeptKey") -> dict[str, str]:
    return {"hash": kept.hash[:_SHOWN], "for": kept.purpose}
