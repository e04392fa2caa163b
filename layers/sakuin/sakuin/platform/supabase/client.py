"""The clients of Supabase's database API, for the service and for users, their repetitions and their errors."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from ssl import SSLContext
from typing import Any, Protocol

import httpx
from postgrest import APIError, SyncPostgrestClient
from supabase import Client, ClientOptions, create_client

from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, OverLimit, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Retries, interactive, retry_after
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.reading_functions import READING_FUNCTIONS
from sakuin.texts.catalogue import Reason, coded, restored

__all__ = ["Client"]

VENDOR = "supabase"
_VECTORS_A_REQUEST = 100
# An answer may take longer than the statement timeout of 8 seconds.
_TIMEOUT = httpx.Timeout(10.0, connect=3.0)
# As many threads of a worker ask at once.
_LIMITS = httpx.Limits(max_keepalive_connections=20, keepalive_expiry=60.0)
_GATEWAY_ERRORS = (502, 503, 504)
# No function returns another text than a name. What else arrives as one is a proxy's page, or incomplete JSON.
_NAME = re.compile(r"[\w-]*")
# https://supabase.com/docs/guides/api/api-keys
_PLAIN_KEYS = "sb_"
SECRET_KEYS = "sb_secret_"  # noqa: S105 - the prefix of keys, and no key
# PostgREST or the gateway rejects the key, or its role has no rights. The first three are about a token's form or time.
_NOT_ALLOWED = ("PGRST301", "PGRST302", "PGRST303", "42501", "401", "403")
# The key is right, but its role lacks a grant.
_NO_GRANT = re.compile(r"permission denied for (table|view|sequence|schema) \w+")
# The key may be one of another role: functions are granted to service_role alone.
_NO_FUNCTION = re.compile(r"permission denied for function \w+")
# The database is overloaded, restarting or out of time, or aborted this transaction because of a deadlock.
_TRANSIENT = ("57", "53", "40", "08", "55P03", "PGRST000", "PGRST001", "PGRST002", "PGRST003")

Wrap = Callable[[httpx.BaseTransport], httpx.BaseTransport]

# For the user with this UUID (`acting_user` in SQL), whom row level security then binds.
ACTING_USER = "X-Acting-User"


class Request(Protocol):
    """A request that a client has built: the call of a SQL function, or one for the rows of a table."""

    def execute(self) -> Any:
        """Makes the request; its answer has `data`."""


def connected(
    url: str,
    key: str,
    *,
    seconds: float | None = None,
    apikey: str = "",
    current: Callable[[], str] | None = None,
    wrap: Wrap = lambda transport: transport,
) -> Client:
    """Returns a client that acts with `key`, or with what `current` returns. It connects at its first request.

    With `seconds`, no part of a request takes longer, and no request is repeated. Supabase's gateway may want `apikey`
    beside `key`. `wrap` puts a transport around that of the client.
    """

    def authorize(request: httpx.Request) -> None:
        request.headers.pop("Authorization", None)
        request.headers.update(database_credentials(apikey, current() if current else key))

    transport: httpx.BaseTransport = httpx.HTTPTransport(verify=_certificates(), limits=_LIMITS)
    if seconds is None:
        transport = _Repeating(transport, interactive())
    session = httpx.Client(
        transport=wrap(transport),
        timeout=_TIMEOUT if seconds is None else httpx.Timeout(seconds),
        event_hooks={"request": [authorize]},
    )
    # The client's own repetitions sleep for up to four seconds. Nobody signs in with it: that changes whom it acts for.
    options = ClientOptions(
        httpx_client=session, postgrest_client_retry=False, auto_refresh_token=False, persist_session=False
    )
    return create_client(url, key, options)


def session(seconds: float) -> httpx.Client:
    """Returns a session with Supabase Auth, in which no part of a request takes longer than `seconds`."""
    return httpx.Client(transport=httpx.HTTPTransport(verify=_certificates()), timeout=seconds)


@cache
def _certificates() -> SSLContext:
    """Returns one context for all clients: to read the certificates takes longer than to connect."""
    return httpx.create_ssl_context()


class _Repeating(httpx.BaseTransport):
    """Repeats requests where that is safe.

    A request is repeated if no connection was made. A request that only reads is repeated also if the connection broke
    or the gateway answered with an error, but not after a timeout.
    """

    def __init__(self, transport: httpx.BaseTransport, retries: Retries) -> None:
        self._transport, self._retries = transport, retries

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        retries, attempt = self._retries, 0
        retries.budget.add()
        started = retries.clock()
        while True:
            attempt += 1
            try:
                response = self._transport.handle_request(request)
                # The connection may break in the middle of an answer.
                response.read()
            except httpx.TransportError as error:
                pause = retries.pause(attempt, started, wanted=None) if _is_repeatable(error, request) else None
                if pause is None:
                    raise
            else:
                if response.status_code not in _GATEWAY_ERRORS or not _reads(request):
                    return response
                pause = retries.pause(attempt, started, wanted=retry_after(response.headers))
                if pause is None:
                    return response
            retries.sleep(pause)

    def close(self) -> None:
        self._transport.close()


def _is_repeatable(error: httpx.TransportError, request: httpx.Request) -> bool:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return True
    return _reads(request) and isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)


def _reads(request: httpx.Request) -> bool:
    """Returns whether a request only reads, so that a repetition is safe."""
    path, _, name = request.url.path.rpartition("/")
    return request.method == "GET" or (path.endswith("/rpc") and name in READING_FUNCTIONS)


def credentials(key: str, token: str = "") -> dict[str, str]:
    """Returns the headers of a user with `token`, or of the key itself.

    A key `sb_…` is not a token: Supabase's gateway accepts it as `apikey` only, and adds a token of the key's role.
    """
    bearer = token or ("" if key.startswith(_PLAIN_KEYS) else key)
    return {"apikey": key} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})


def database_credentials(apikey: str, key: str) -> dict[str, str]:
    """Returns the headers of a key of the database. Supabase's gateway knows no token of our own, but lets it pass."""
    return credentials(apikey, key) if apikey and not key.startswith(_PLAIN_KEYS) else credentials(key)


def call(client: Client, function: str, arguments: dict[str, Any], *, user_id: str | None = None) -> Any:
    """Returns the answer of a SQL function; with `user_id` it acts for that user, whose token was verified."""
    postgrest = client.postgrest
    if user_id is not None:
        # A client of its own: a header of the shared one would be that of other requests, too.
        headers = {**client.options.headers, ACTING_USER: user_id}
        postgrest = SyncPostgrestClient(
            str(client.rest_url), headers=headers, http_client=postgrest.session, retry_enabled=False
        )
    return answer(postgrest.rpc(function, arguments))


def answer(request: Request) -> Any:
    """Returns the data of a request's answer, or raises one of our errors."""
    try:
        data = request.execute().data
    except APIError as error:
        raise _translated(error) from error
    except httpx.LocalProtocolError:
        # A header that HTTP does not allow, such as a key of two lines, is in the text of the error.
        raise Unavailable(coded("vendor.supabase_silent"), vendor=VENDOR) from None
    except httpx.HTTPError as error:
        raise Unavailable(coded("vendor.supabase_silent"), vendor=VENDOR) from error
    if isinstance(data, str) and not _NAME.fullmatch(data):
        raise Unavailable(coded("vendor.supabase_unread"), vendor=VENDOR)
    return data


def _translated(error: APIError) -> SakuinError:
    code, message = error.code or "", error.message or ""
    if code == "42501" and (denied := _NO_GRANT.match(message)):
        said = f"A grant is missing in Supabase ({denied[0]}): apply the migrations with `supabase db push`"
        return Refused(said, vendor=VENDOR)
    if code == "42501" and (denied := _NO_FUNCTION.match(message)):
        said = f"Supabase refused ({denied[0]}): check supabase_service_key in the secret, then apply the migrations"
        return Refused(said, vendor=VENDOR)
    if code == "PGRST106":
        said = "Supabase's Data API does not expose the schema public: turn it on in the Data API settings"
        return Refused(said, vendor=VENDOR)
    # PostgREST answers `{}` for a table that it does not know, and has a code for it since its version 13.
    if code in ("PGRST202", "PGRST205") or not (code or message):
        said = "The database lacks a function or table of this version: apply the migrations with `supabase db push`"
        return Unavailable(said, vendor=VENDOR)
    # The gateway's own errors have no code.
    if code in _NOT_ALLOWED or (not code and "api key" in message.lower()):
        return Refused(coded("vendor.supabase_key", code=code or "no code"), vendor=VENDOR)
    if code == "57014":
        # No vendor: the work is not deferred without limit, since the same statement may fail each time.
        return Unavailable(coded("vendor.supabase_slow"))
    # The code of a proxy's error is an HTTP status; a code of the database has five characters.
    if code.startswith(_TRANSIENT) or (len(code) == 3 and code >= "500"):
        return Unavailable(coded("vendor.supabase_away", code=code), vendor=VENDOR)
    # These are raised by our own functions: the SQL function `require`.
    reason, values = _own_reason(error)
    if code == "P0002":
        return NotFound(reason or "It does not exist")
    if code == "PT403":
        return Forbidden(reason or "Your role does not allow this")
    if code == "PT422":
        return Invalid(reason or "The arguments are wrong")
    if code == "PT429":
        # The seconds until the period of the quota ends; a count of records has none.
        return OverLimit(reason or "A quota is used up", retry_after=float(values.get("retry_after", 0)))
    if code == "23505":
        return Conflict(reason or coded("record.same"))
    if code == "23503":
        return Conflict(coded("record.removed"))
    if code.startswith(("22", "23")):
        return Invalid(f"The database refused the data ({code})")
    # The database's own message may quote data: it stays in the cause, which is logged and never sent.
    return Unavailable(coded("vendor.supabase_refused", code=code or "no code"), vendor=VENDOR)


def vector_text(vector: Vector) -> str:
    """Returns a vector as pgvector reads it. A 4-byte float has seven digits."""
    return "[" + ",".join(["%.7g"] * len(vector)) % tuple(vector) + "]"


def add_vectors(client: Client, table: str, vectors: Mapping[str, Vector], **columns: str) -> None:
    """Adds rows with vectors by text hash and these `columns`. A row that is there stays as it is."""
    # In one order, so that two workers cannot deadlock.
    rows = [columns | {"text_hash": name, "embedding": vector_text(vector)} for name, vector in sorted(vectors.items())]
    for start in range(0, len(rows), _VECTORS_A_REQUEST):
        answer(client.table(table).upsert(rows[start : start + _VECTORS_A_REQUEST], ignore_duplicates=True))


def _own_reason(error: APIError) -> tuple[Reason | None, Mapping[str, Any]]:
    """Returns the reason and the values of an error of the SQL function `require`; None for any other error."""
    try:
        values = restored(json.loads(str(error.details)))
        return coded(str(error.message), **values), values
    except (ValueError, KeyError, TypeError):
        return None, {}
