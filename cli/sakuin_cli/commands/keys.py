"""`sakuin keys`: the keys of `/mcp` and `/v1` of a deployment."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from sakuin.errors import SakuinError

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.deployment_keys import DeploymentKeys, StoredKey
    from sakuin_cli.settings import CommandSettings

# Enough digits to distinguish keys.
_SHOWN = 12

app = typer.Typer(name="keys", help="The keys of /mcp and /v1 of a deployment.", no_args_is_help=True)


@app.command()
def new(
    purpose: Annotated[
        Literal["knowledge", "admin"],
        typer.Option("--for", help="For agents (/mcp) or for operators (/v1)."),
    ],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create a key and show it, only once. Existing keys stay valid. The new one is valid within half a minute."""
    with reporting_errors(as_json) as terminal:
        created, key = _keys(settings_of(data)).create(purpose)
    terminal.fields({"key": key, **_shown(created)})


@app.command()
def database(as_json: JsonOption = False) -> None:
    """Make the key of the database for the function that agents reach, and show it, only once; nothing is stored.

    Import the JWK in Supabase under JWT Signing Keys and move it to the previously used keys, which only verify.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.deployment_keys import new_database_key

        jwk, key = new_database_key()
    terminal.fields({"jwk": json.dumps(jwk), "supabase_search_key": key})


@app.command(name="list")
def list_(as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the hashes of the valid keys, oldest first, and the day on which each was last used."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        settings = settings_of(data)
        keys = _keys(settings)
        stored = keys.all()
        days = _days(settings) if stored else {}
    if as_json:
        terminal.document({"keys": [{**_shown(each), "last_used_on": days.get(each.hash)} for each in stored]})
        return
    if stored:
        _show(terminal, stored, days)


@app.command()
def rm(
    hash: Annotated[str, typer.Argument(metavar="HASH", help="The key's hash, or its beginning of at least 8 digits.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Remove a key. It is invalid within five minutes."""
    with reporting_errors(as_json) as terminal:
        removed = _keys(settings_of(data)).remove(hash)
    terminal.fields({**_shown(removed), "removed": True})


def _keys(settings: "CommandSettings") -> "DeploymentKeys":
    from sakuin_cli.deployment_keys import DeploymentKeys

    return DeploymentKeys.of(settings)


def _days(settings: "CommandSettings") -> Mapping[str, str]:
    """Returns the day of the last use by hash; empty if the deployment cannot be asked."""
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
