"""The client of Supabase's database API (PostgREST), for the service and for users, its repetitions and its errors."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from urllib3 import Timeout
from urllib3.exceptions import HTTPError

from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, OverLimit, Refused, SakuinError, Unavailable
from sakuin.platform.calls import interactive
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.connections import connections, repeating
from sakuin.platform.supabase.requests import Request, Response, Send
from sakuin.texts.catalogue import coded

VENDOR = "supabase"
_VECTORS_A_REQUEST = 100
# An answer may take longer than the statement timeout of 8 seconds. To connect includes to send the request.
_TIMEOUT = Timeout(connect=3.0, read=10.0)
_SCHEMA = {"Accept-Profile": "public", "Content-Profile": "public"}
_HEADERS = {"Accept-Encoding": "gzip, deflate", "Content-Type": "application/json", **_SCHEMA}
_CHANGED = "return=representation"
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

Row = Mapping[str, Any]

# For the user with this UUID (`acting_user` in SQL), whom row level security then binds.
ACTING_USER = "X-Acting-User"


@dataclass(slots=True)
class Client:
    """PostgREST below `path`, with the rights of the key in `headers`."""

    send: Send = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    path: str = "/rest/v1"

    def rpc(self, function: str, arguments: Row) -> Request:
        """Returns the call of a SQL function."""
        return self.request("POST", f"rpc/{function}", arguments)

    def table(self, name: str) -> "Rows":
        return Rows(self, name)

    def request(self, method: str, name: str, content: object = None, prefer: str = "") -> Request:
        """Returns a request with this content as JSON, or without any."""
        headers = {**_HEADERS, **self.headers} | ({"Prefer": prefer} if prefer else {})
        body = None if content is None else _compact(content)
        return Request(self.send, method, f"{self.path}/{name}", headers, body)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table. Requests that change rows return these."""

    client: Client
    name: str

    def select(self, columns: str) -> Request:
        """`columns` have commas between them, as PostgREST takes them."""
        return self.client.request("GET", self.name)._add("select", columns)

    def insert(self, row: Row) -> Request:
        return self.client.request("POST", self.name, row, _CHANGED)

    def upsert(self, rows: Row | Sequence[Row], *, ignore_duplicates: bool = False) -> Request:
        """Inserts rows. One with the key of another replaces it, or with `ignore_duplicates` is not inserted."""
        resolution = "ignore" if ignore_duplicates else "merge"
        return self.client.request("POST", self.name, rows, f"{_CHANGED},resolution={resolution}-duplicates")

    def update(self, values: Row) -> Request:
        return self.client.request("PATCH", self.name, values, _CHANGED)

    def delete(self) -> Request:
        return self.client.request("DELETE", self.name, prefer=_CHANGED)


def _compact(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class DatabaseError(Exception):
    """An error that PostgREST or a gateway before it answered. Its text may quote data, and is never sent."""

    def __init__(self, code: str, message: str, details: object) -> None:
        super().__init__(code, message, details)
        self.code = code
        self.message = message
        self.details = details


def connected(url: str, key: str, *, seconds: float | None = None, apikey: str = "") -> Client:
    """Returns a client that acts with `key`. It connects at its first request.

    With `seconds`, a request takes no longer and is not repeated. Supabase's gateway may want `apikey` beside `key`.
    """
    send = connections(url, _TIMEOUT if seconds is None else Timeout(seconds))
    if seconds is None:
        send = repeating(send, interactive())
    return Client(send, database_credentials(apikey, key), f"{urlsplit(url).path.rstrip('/')}/rest/v1")


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
        response = request.send(request)
    except HTTPError as error:
        raise Unavailable(coded("vendor.supabase_silent"), vendor=VENDOR) from error
    except ValueError:
        # A header that HTTP does not allow, such as a key of two lines, is in the text of the error.
        raise Unavailable(coded("vendor.supabase_silent"), vendor=VENDOR) from None
    if not 200 <= response.status < 300:
        failure = _error_of(response)
        raise _translated(failure) from failure
    try:
        return json.loads(response.data) if response.data else []
    except ValueError as error:
        # A proxy's page, or an incomplete answer.
        raise Unavailable(coded("vendor.supabase_unread"), vendor=VENDOR) from error


def _error_of(response: Response) -> DatabaseError:
    try:
        said = json.loads(response.data)
    except ValueError:
        said = None
    if isinstance(said, dict) and all(isinstance(said.get(name) or "", str) for name in ("code", "message")):
        return DatabaseError(said.get("code") or "", said.get("message") or "", said.get("details"))
    # A proxy's own.
    return DatabaseError(str(response.status), response.reason or "", None)


def call(client: Client, function: str, arguments: dict[str, Any], *, user_id: str | None = None) -> Any:
    """Returns the answer of a SQL function; with `user_id` it acts for that user, whose token was verified."""
    request = client.rpc(function, arguments)
    if user_id is not None:
        request.headers[ACTING_USER] = user_id
    return answer(request)


def _translated(error: DatabaseError) -> SakuinError:
    code = error.code
    if code == "42501" and (denied := _NO_GRANT.match(error.message)):
        said = f"A grant is missing in Supabase ({denied[0]}): apply the migrations with `supabase db push`"
        return Refused(said, vendor=VENDOR)
    if code == "42501" and (denied := _NO_FUNCTION.match(error.message)):
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
    if code in _NOT_ALLOWED or (not code and "api key" in error.message.lower()):
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
        return OverLimit(error.message or "A quota is used up", retry_after=float(str(error.details or 0)))
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
