"""The connection to Supabase: the part of its SDK that speaks to the database, its failures translated."""

from typing import Any, Protocol

import httpx
from postgrest import APIError
from postgrest import SyncPostgrestClient as Client

from sakuin.errors import Conflict, Invalid, NotFound, SakuinError, Unavailable

_TIMEOUT_SECONDS = 10
# The database is overloaded, restarting, out of time, or chose this transaction as a victim.
_TRANSIENT = ("57", "53", "40", "08", "55P03", "PGRST000", "PGRST001", "PGRST002", "PGRST003")


class Request(Protocol):
    """A request that the client has built."""

    def execute(self) -> Any: ...


def connected(url: str, key: str) -> Client:
    """A client of the tables and functions that acts with `key`; it opens no connection before the first request."""
    address = f"{url}/rest/v1"
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    session = httpx.Client(base_url=address, timeout=_TIMEOUT_SECONDS)
    return Client(address, headers=headers, http_client=session)


def answer(request: Request) -> Any:
    """The data of a request's answer, or one of our errors."""
    try:
        return request.execute().data
    except APIError as error:
        raise _ours(error) from error
    except httpx.HTTPError as error:
        raise Unavailable("Supabase did not answer") from error


def _ours(error: APIError) -> SakuinError:
    code = error.code or ""
    # A proxy's error has an HTTP status for a code, the database's own has five characters.
    if code.startswith(_TRANSIENT) or (len(code) == 3 and code >= "500"):
        return Unavailable(f"Supabase is not available ({code})")
    if code == "P0002":
        # Raised by our own functions, in words for people.
        return NotFound(error.message or "It is not there")
    if code == "23505":
        own = error.message and not error.message.startswith("duplicate key")
        return Conflict(str(error.message) if own else "Somebody else wrote the same record first")
    if code.startswith(("22", "23")):
        return Invalid(f"The database refused the data ({code})")
    # The database's own words may quote what it holds: they stay in the cause, which is logged and never sent.
    return Unavailable(f"Supabase refused the request ({code or 'no code'})")


def call(client: Client, function: str, arguments: dict[str, Any]) -> Any:
    """The answer of one SQL function."""
    return answer(client.rpc(function, arguments))
