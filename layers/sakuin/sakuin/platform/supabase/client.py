"""The client of Supabase's database API (PostgREST), for the service and for users, its repetitions and its errors."""

import re
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import unquote

import httpx
from postgrest import APIError, SyncPostgrestClient

from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, OverLimit, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Retries, interactive, retry_after
from sakuin.platform.embedding import Vector
from sakuin.texts.catalogue import coded

# SQL functions that only read. PostgREST calls every function with POST.
READING_FUNCTIONS = frozenset(
    {
        "changed_nodes",
        "chunks_to_store",
        "current_chunks",
        "endpoint",
        "filter_values",
        "finding_counts",
        "find_text",
        "indexed_anchors",
        "known_vectors",
        "list_concepts",
        "list_materials",
        "lexicon_entries",
        "material_counts",
        "objects_in_scope",
        "assign_namespace_suffix",
        "read_chunks",
        "read_page",
        "read_text",
        "upload_results",
        "search_candidates",
        "stored_candidates",
        "chunks_to_show",
        "table_lexicon_entries",
        "table_term_frequencies",
        "unindexed_tables",
        "vectors_by_name",
    }
)

_READING_METHODS = ("GET", "HEAD")
_GATEWAY_ERRORS = (502, 503, 504)


class RepeatingTransport(httpx.BaseTransport):
    """The transport `inner`, with repeated requests where a repetition is safe.

    A request is repeated if no connection was made. A request that only reads is repeated also if the connection broke
    or the gateway answered with an error, but not after a timeout.
    """

    def __init__(self, inner: httpx.BaseTransport, retries: Retries) -> None:
        self._inner = inner
        self._retries = retries

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._retries.budget.add()
        started = self._retries.clock()
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._inner.handle_request(request)
            except httpx.TransportError as error:
                if not _is_repeatable(error, request):
                    raise
                pause = self._retries.pause(attempt, started, wanted=None)
                if pause is None:
                    raise
            else:
                if response.status_code not in _GATEWAY_ERRORS or not _reads(request):
                    return response
                pause = self._retries.pause(attempt, started, wanted=retry_after(response.headers))
                if pause is None:
                    return response
                response.close()
            self._retries.sleep(pause)

    def close(self) -> None:
        self._inner.close()


def _is_repeatable(error: httpx.TransportError, request: httpx.Request) -> bool:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return True
    return _reads(request) and not isinstance(error, httpx.TimeoutException)


def _reads(request: httpx.Request) -> bool:
    folder, _, name = unquote(request.url.path).rpartition("/")
    return request.method in _READING_METHODS or (folder.endswith("/rpc") and name in READING_FUNCTIONS)


# The part of Supabase's SDK that calls SQL functions.
Client = SyncPostgrestClient

VENDOR = "supabase"
_VECTORS_A_REQUEST = 100
# Longer than the statement timeout of 8 seconds.
_TIMEOUT = httpx.Timeout(10.0, connect=3.0)
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

# For the user with this UUID (`acting_user` in SQL), whom row level security then binds.
ACTING_USER = "X-Acting-User"


class Request(Protocol):
    """A request that the client has built."""

    def execute(self) -> Any: ...


def connected(url: str, key: str, *, seconds: float | None = None, apikey: str = "") -> Client:
    """Returns a client that acts with `key`. It connects at its first request.

    With `seconds`, a request takes no longer and is not repeated. Supabase's gateway may want `apikey` beside `key`.
    """
    address = f"{url}/rest/v1"
    transport = RepeatingTransport(httpx.HTTPTransport(), interactive()) if seconds is None else None
    session = httpx.Client(base_url=address, timeout=seconds or _TIMEOUT, transport=transport)
    # The client's own retries sleep for one, two and four seconds.
    return Client(address, headers=database_credentials(apikey, key), http_client=session, retry_enabled=False)


def credentials(key: str, token: str = "") -> dict[str, str]:
    """Returns the headers of a user with `token`, or of the key itself.

    A key `sb_…` is not a token: Supabase's gateway accepts it as `apikey` only, and adds a token of the key's role.
    """
    bearer = token or ("" if key.startswith(_PLAIN_KEYS) else key)
    return {"apikey": key} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})


def database_credentials(apikey: str, key: str) -> dict[str, str]:
    """Returns the headers of a key of the database. Supabase's gateway knows no token of our own, but lets it pass."""
    return credentials(apikey, key) if apikey and not key.startswith(_PLAIN_KEYS) else credentials(key)


def answer(request: Request) -> Any:
    """Returns the data of a request's answer, or raises one of our errors."""
    try:
        data = request.execute().data
    except APIError as error:
        raise _translated(error) from error
    except httpx.HTTPError as error:
        raise Unavailable(coded("vendor.supabase_silent"), vendor=VENDOR) from error
    # The client returns invalid JSON as text: a proxy's page, or an incomplete answer. No SQL function does that.
    if isinstance(data, str) and data.lstrip().startswith(("<", "{", "[")):
        raise Unavailable(coded("vendor.supabase_unread"), vendor=VENDOR)
    return data


def call(client: Client, function: str, arguments: dict[str, Any], *, user_id: str | None = None) -> Any:
    """Returns the answer of a SQL function; with `user_id` it acts for that user, whose token was verified."""
    request = client.rpc(function, arguments)
    if user_id is not None:
        request.request.headers[ACTING_USER] = user_id
    return answer(request)


def _translated(error: APIError) -> SakuinError:
    code = error.code or ""
    if code == "42501" and (denied := _NO_GRANT.match(error.message or "")):
        said = f"A grant is missing in Supabase ({denied[0]}): apply the migrations with `supabase db push`"
        return Refused(said, vendor=VENDOR)
    if code == "42501" and (denied := _NO_FUNCTION.match(error.message or "")):
        said = f"Supabase refused ({denied[0]}): check supabase_service_key in the secret, then apply the migrations"
        return Refused(said, vendor=VENDOR)
    if code == "PGRST106":
        said = "Supabase's Data API does not expose the schema public: turn it on in the Data API settings"
        return Refused(said, vendor=VENDOR)
    # PostgREST answers `{}` for a table that it does not know, and has a code for it since its version 13.
    if code in ("PGRST202", "PGRST205") or not (code or error.message):
        said = "The database lacks a function or table of this version: apply the migrations with `supabase db push`"
        return Unavailable(said, vendor=VENDOR)
    # The gateway's own errors have no code.
    if code in _NOT_ALLOWED or (not code and "api key" in (error.message or "").lower()):
        return Refused(coded("vendor.supabase_key", code=code or "no code"), vendor=VENDOR)
    if code == "57014":
        # No vendor: the work is not deferred without limit, since the same statement may fail each time.
        return Unavailable(coded("vendor.supabase_slow"))
    # The code of a proxy's error is an HTTP status; a code of the database has five characters.
    if code.startswith(_TRANSIENT) or (len(code) == 3 and code >= "500"):
        return Unavailable(coded("vendor.supabase_away", code=code), vendor=VENDOR)
    # These four are raised by our own functions, with a message for users.
    if code == "P0002":
        return NotFound(error.message or "It does not exist")
    if code == "PT403":
        return Forbidden(error.message or "Your role does not allow this")
    if code == "PT422":
        return Invalid(error.message or "The arguments are wrong")
    if code == "PT429":
        # The seconds until the period of the quota ends; a count of records has none.
        return OverLimit(error.message or "A quota is used up", retry_after=float(error.details or 0))
    if code == "23505":
        own = error.message and not error.message.startswith("duplicate key")
        return Conflict(str(error.message) if own else coded("record.same"))
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
