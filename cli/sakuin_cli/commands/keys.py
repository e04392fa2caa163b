"""`sakuin keys`: the keys of a deployment."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from sakuin.errors import SakuinError

from sakuin_cli.connections import ChangingCommand, Command, deployment_of
from sakuin_cli.options import as_command, fields_in

if TYPE_CHECKING:
    from sakuin_cli.deployment_keys import DeploymentKeys, Purpose
    from sakuin_cli.rest import Record
    from sakuin_cli.settings import CommandSettings

# Enough digits to distinguish keys.
_SHOWN = 12
# What keys of the API have beside it.
_NAMED = ("name", "folder", "filter", "project", "expires_at")

app = typer.Typer(name="keys", help="The keys of a deployment.", no_args_is_help=True)


@app.command()
@as_command
def new(
    command: ChangingCommand,
    purpose: Annotated[
        Literal["knowledge", "admin", "search", "push", "read", "database"],
        typer.Option(
            "--for",
            help="search (/mcp), push (pages), read (a project): made through the API. knowledge (/mcp), admin (/v1): "
            "in the deployment's secret. database: for the function that agents reach; nothing is stored.",
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Whose key it is; not of the secret.")] = "",
    folder: Annotated[
        str, typer.Option("--in", metavar="FOLDER", help="To search or push: this folder alone.", show_default="all")
    ] = "",
    filter: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FIELD=VALUE",
            help="To search: pages with this value alone, which agents cannot see; may be repeated.",
        ),
    ] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="ID", help="To read: this project.")] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="The key ends after so many days.")
    ] = None,
) -> None:
    """Create a key and show it, only once. Existing keys stay valid. The new one is valid within half a minute.

    Import the JWK of a database key in Supabase under JWT Signing Keys, and move it to the previously used keys, which
    only verify.
    """
    is_of_api = purpose in ("search", "push", "read")
    if is_of_api and not name:
        raise typer.BadParameter("say whose key it is", param_hint="--name")
    if not is_of_api and (name or folder or filter or project or days):
        raise typer.BadParameter(f"{purpose} has no --name, --in, --filter, --project or --days", param_hint="--for")
    if is_of_api:
        until = (datetime.now(UTC) + timedelta(days=days)).isoformat() if days else None
        members = {"name": name, "purpose": purpose, "folder": folder, "project": project, "expires_at": until}
        answer = command.send("POST", "keys", **members, filter=fields_in(filter or ()))
        shown = {"key": answer["key"], "hash": answer["hash"][:_SHOWN], "for": purpose}
    elif purpose == "database":
        from sakuin_cli.deployment_keys import new_database_key

        if command.dry_run:
            command.would("show a new key pair, which is not stored")
        jwk, key = new_database_key()
        shown = {"jwk": json.dumps(jwk), "supabase_search_key": key}
    else:
        keys, secret_purpose = _keys(command.settings), cast("Purpose", purpose)
        if command.dry_run:
            command.would(f"add the hash of a new key to {keys.secrets[secret_purpose].name}")
        created, key = keys.create(secret_purpose)
        shown = {"key": key, "hash": created.hash[:_SHOWN], "for": purpose}
    command.terminal.fields(shown)


@app.command("list")
@as_command
def list_(command: Command) -> None:
    """List the hashes of the keys, oldest first, what they open, and the day on which each was last used."""
    settings = command.settings
    with command.terminal.waiting():
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
    if not command.terminal.as_json:
        rows = [
            row | {"filter": " ".join(f"{name}={value}" for name, value in (row["filter"] or {}).items())}
            for row in rows
        ]
    command.terminal.rows("keys", rows)


@app.command()
@as_command
def rm(
    command: ChangingCommand,
    hash: Annotated[str, typer.Argument(metavar="HASH", help="The key's hash, or its beginning of at least 8 digits.")],
) -> None:
    """Remove a key. It is invalid within five minutes."""
    from sakuin_cli.deployment_keys import only_hash

    settings = command.settings
    made = {key["hash"]: key["purpose"] for key in _of_api(settings) if key["name"]}
    if any(each.startswith(hash) for each in made):
        key_hash = only_hash(made, hash)
        command.send("DELETE", "keys", key_hash)
        purpose = made[key_hash]
    else:
        keys = _keys(settings)
        key = keys.named(hash)
        if command.dry_run:
            command.would(f"remove the hash {key.hash} from {keys.secrets[key.purpose].name}")
        keys.remove(key)
        key_hash, purpose = key.hash, key.purpose
    command.terminal.fields({"hash": key_hash[:_SHOWN], "for": purpose, "removed": True})


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
