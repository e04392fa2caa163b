"""`sakuin keys`: the keys that open a deployment's `/mcp` and `/v1`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from sakuin.errors import SakuinError

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.deployment_keys import DeploymentKeys, StoredKey
    from sakuin_cli.settings import CommandSettings

# Enough to tell keys apart; the whole hash is of no use to anybody.
_SHOWN = 12

app = typer.Typer(name="keys", help="The keys that open /mcp and /v1 of a deployment.", no_args_is_help=True)


@app.command()
def new(
    purpose: Annotated[
        Literal["knowledge", "admin"],
        typer.Option("--for", help="What it opens: knowledge is for agents (/mcp), admin for operators (/v1)."),
    ],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Make a key and show it, this once; those that there are stay. Opens within half a minute."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        created, key = _keys(settings_of(data)).create(purpose)
    terminal.fields({"key": key, **_shown(created)})


@app.command(name="list")
def list_(as_json: JsonOption = False, data: DataOption = None) -> None:
    """Show the hashes of the keys that open something, oldest first, and when each was last used."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        settings = settings_of(data)
        stored = _keys(settings).all()
        days = _days(settings) if stored else {}
    if as_json:
        terminal.document({"keys": [{**_shown(each), "last_used_on": days.get(each.hash)} for each in stored]})
    elif stored:
        _show(terminal, stored, days)


@app.command()
def rm(
    hash: Annotated[str, typer.Argument(metavar="HASH", help="The key's hash, or how it begins.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Take a key away. Closed within five minutes."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        removed = _keys(settings_of(data)).remove(hash)
    terminal.fields({**_shown(removed), "removed": True})


@app.command()
def pepper(
    forget: Annotated[
        bool, typer.Option("--forget", help="Take the old pepper away, once no key needs it any more.")
    ] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Replace what keys are hashed with. Every key goes on opening, until the old pepper is forgotten."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        keys = _keys(settings_of(data))
        outdated = [] if forget else [_shown(each) for each in keys.replace_pepper()]
        if forget:
            keys.forget_peppers()
    if as_json:
        terminal.document({"forgotten": forget, "outdated": outdated})
    elif forget:
        terminal.out.print("The old pepper is gone.")
    else:
        terminal.out.print(f"The pepper is replaced. Replace {len(outdated)} keys too, then: keys pepper --forget")


def _keys(settings: "CommandSettings") -> "DeploymentKeys":
    from sakuin_cli.deployment_keys import DeploymentKeys, StoredSecret

    return DeploymentKeys(StoredSecret.of(settings))


def _days(settings: "CommandSettings") -> Mapping[str, str]:
    """Hash to day of the last use; a deployment that is not there or does not answer is not an error."""
    if not (settings.url and settings.admin_key):
        return {}
    try:
        return deployment_of(settings).key_use()
    except SakuinError:
        return {}


def _show(terminal: Terminal, stored: "Sequence[StoredKey]", days: Mapping[str, str]) -> None:
    rows = [("hash", "for", "last used")]
    rows += [(each.hash[:_SHOWN], each.purpose, days.get(each.hash, "—")) for each in stored]
    for hash, purpose, day in rows:
        terminal.out.print(f"{hash:<{_SHOWN}}  {purpose:<9}  {day}", highlight=False)


def _shown(key: "StoredKey") -> dict[str, str]:
    return {"hash": key.hash[:_SHOWN], "for": key.purpose}
