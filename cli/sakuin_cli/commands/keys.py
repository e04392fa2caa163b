"""`sakuin keys`: the keys of `/mcp` and `/v1` of a deployment."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from sakuin.errors import SakuinError

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.deployment_keys import DeploymentKeys
    from sakuin_cli.rest import Record
    from sakuin_cli.settings import CommandSettings

# Enough digits to distinguish keys.
_SHOWN = 12
# What keys of the API have beside it.
_NAMED = ("name", "folder", "project", "expires_at")

app = typer.Typer(name="keys", help="The keys of /mcp and /v1 of a deployment.", no_args_is_help=True)


@app.command()
def new(
    purpose: Annotated[
        Literal["knowledge", "admin", "search", "push", "read"],
        typer.Option(
            "--for",
            help="search (/mcp), push (pages), read (a project): made through the API. knowledge (/mcp), admin (/v1): "
            "in the deployment's secret.",
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Whose key it is; not of the secret.")] = "",
    folder: Annotated[
        str, typer.Option("--in", metavar="FOLDER", help="To search or push: this folder alone.", show_default="all")
    ] = "",
    project: Annotated[str | None, typer.Option("--project", metavar="ID", help="To read: this project.")] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="The key ends after so many days.")
    ] = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create a key and show it, only once. Existing keys stay valid. The new one is valid within half a minute."""
    if purpose not in ("knowledge", "admin") and not name:
        raise typer.BadParameter("say whose key it is", param_hint="--name")
    if purpose in ("knowledge", "admin") and (name or folder or project or days):
        raise typer.BadParameter(f"{purpose} has no --name, --in, --project or --days", param_hint="--for")
    with reporting_errors(as_json) as terminal:
        settings = settings_of(data)
        if purpose == "knowledge" or purpose == "admin":
            created, key = _keys(settings).create(purpose)
            key_hash = created.hash
        else:
            until = (datetime.now(UTC) + timedelta(days=days)).isoformat() if days else None
            request = {"name": name, "purpose": purpose, "folder": folder, "project": project, "expires_at": until}
            answer = deployment_of(settings).call("POST", "keys", json=request)
            key, key_hash = answer["key"], answer["hash"]
    terminal.fields({"key": key, "hash": key_hash[:_SHOWN], "for": purpose})


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
    """List the hashes of the keys, oldest first, what they open, and the day on which each was last used."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        settings = settings_of(data)
        of_api = {key["hash"]: key for key in _of_api(settings)}
        secret = _keys(settings).all() if settings.secret or not of_api else ()
        made = [key for key in of_api.values() if key["name"] or not secret]
        stored = [{"hash": key.hash, "purpose": key.purpose, **dict.fromkeys(_NAMED)} for key in secret]
        rows = [
            {"hash": key["hash"][:_SHOWN], "for": key["purpose"]}
            | {"last_used_on": of_api.get(key["hash"], {}).get("last_used_on")}
            | {name: key[name] for name in _NAMED}
            for key in (*stored, *made)
        ]
    terminal.rows("keys", rows)


@app.command()
def rm(
    hash: Annotated[str, typer.Argument(metavar="HASH", help="The key's hash, or its beginning of at least 8 digits.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Remove a key. It is invalid within five minutes."""
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.deployment_keys import only_hash

        settings = settings_of(data)
        made = {key["hash"]: key["purpose"] for key in _of_api(settings) if key["name"]}
        if any(each.startswith(hash) for each in made):
            key_hash = only_hash(made, hash)
            deployment_of(settings).call("DELETE", "keys", key_hash)
            purpose = made[key_hash]
        else:
            removed = _keys(settings).remove(hash)
            key_hash, purpose = removed.hash, removed.purpose
    terminal.fields({"hash": key_hash[:_SHOWN], "for": purpose, "removed": True})


def _keys(settings: "CommandSettings") -> "DeploymentKeys":
    from sakuin_cli.deployment_keys import DeploymentKeys

    return DeploymentKeys.of(settings)


def _of_api(settings: "CommandSettings") -> "Sequence[Record]":
    """Returns the keys that the deployment tells; none if it cannot be asked. Only those of the secret have no name."""
    if not (settings.url and settings.admin_key):
        return []
    try:
        keys: Sequence[Record] = deployment_of(settings).call("GET", "keys")["keys"]
    except SakuinError:
        return []
    return keys
