"""The connection to Supabase: the part of its SDK that speaks to the database, its failures translated."""

import re
from typing import Any, Protocol

import httpx
from postgrest import APIError, SyncPostgrestClient

from sakuin.errors import Conflict, Invalid, NotFound, Refused, SakuinError, Unavailable
from sakuin.platform.calls import interactive
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.retries import RepeatingTransport

# The part of Supabase's SDK that calls SQL functions.
Client = SyncPostgrestClient

# A statement ends after 8 seconds by itself.
_TIMEOUT = httpx.Timeout(10.0, connect=3.0)

VENDOR = "supabase"

# https://supabase.com/docs/guides/api/api-keys
_PLAIN_KEYS = "sb_"

# A key that PostgREST or the gateway before it does not take, or one of a role that may do nothing.
_NOT_LET_IN = ("PGRST301", "PGRST302", "PGRST303", "42501", "401", "403")

# The key is right, but its role has no right to what a function uses. (A wrong key has no right to the function.)
_NO_GRANT = re.compile(r"permission denied for (table|view|sequence) \w+")

# The database is overloaded, restarting, out of time, or chose this transaction as a victim.
_TRANSIENT = ("57", "53", "40", "08", "55P03", "PGRST000", "PGRST001", "PGRST002", "PGRST003")


class Request(Protocol):
    """A request that the client has built."""

    def execute(self) -> Any: ...


def connected(url: str, key: str) -> Client:
    """A client of the tables and functions that acts with `key`; it opens no connection before the first request."""
    address = f"{url}/rest/v1"
    transport = RepeatingTransport(httpx.HTTPTransport(), interactive())
    session = httpx.Client(base_url=address, timeout=_TIMEOUT, transport=transport)
    # Its own retries sleep for one, two and four seconds.
    return Client(address, headers=credentials(key), http_client=session, retry_enabled=False)


def credentials(key: str, token: str = "") -> dict[str, str]:
    """The headers that say who asks: a user by his `token`, otherwise the key itself.

    A key of the kind `sb_…` is no token: Supabase's gateway takes it as `apikey` alone, and puts a token of the key's
    role in its place.
    """
    bearer = token or ("" if key.startswith(_PLAIN_KEYS) else key)
    return {"apikey": key} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})


def answer(request: Request) -> Any:
    """The data of a request's answer, or one of our errors."""
    try:
        data = request.execute().data
    except APIError as error:
        raise _ours(error) from error
    except httpx.HTTPError as error:
        raise Unavailable("Supabase did not answer", vendor=VENDOR) from error
    # The client hands over as text what is no JSON: a proxy's page, or half an answer. No function says such a thing.
    if isinstance(data, str) and data.lstrip().startswith(("<", "{", "[")):
        raise Unavailable("Supabase's answer was not understood", vendor=VENDOR)
    return data


def _ours(error: APIError) -> SakuinError:
    code = error.code or ""
    if code == "42501" and (denied := _NO_GRANT.match(error.message or "")):
        said = f"A grant is missing in Supabase ({denied[0]}): apply the migrations with `supabase db push`"
        return Refused(said, vendor=VENDOR)
    # The gateway's own words have no code.
    if code in _NOT_LET_IN or (not code and "api key" in (error.message or "").lower()):
        said = f"Supabase refused the key ({code or 'no code'}): check supabase_service_key in the secret"
        return Refused(said, vendor=VENDOR)
    # A proxy's error has an HTTP status for a code, the database's own has five characters.
    if code.startswith(_TRANSIENT) or (len(code) == 3 and code >= "500"):
        return Unavailable(f"Supabase is not available ({code})", vendor=VENDOR)
    if code == "P0002":
        # Raised by our own functions, in words for people.
        return NotFound(error.message or "It is not there")
    if code == "23505":
        own = error.message and not error.message.startswith("duplicate key")
        return Conflict(str(error.message) if own else "Somebody else wrote the same record first")
    if code == "23503":
        return Conflict("What this belongs to is gone; look again")
    if code.startswith(("22", "23")):
        return Invalid(f"The database refused the data ({code})")
    # The database's own words may quote what it holds: they stay in the cause, which is logged and never sent.
    return Unavailable(f"Supabase refused the request ({code or 'no code'})", vendor=VENDOR)


def call(client: Client, function: str, arguments: dict[str, Any]) -> Any:
    """The answer of one SQL function."""
    return answer(client.rpc(function, arguments))


def vector_text(vector: Vector) -> str:
    """A vector as pgvector reads it; seven digits are all that a 4-byte float holds."""
    return "[" + ",".join(f"{number:.7g}" for number in vector) + "]"
