"""The deployed functions in this process: the handlers of `wiring`, real stores, and AWS in memory."""

import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from sakuin.limits import Limits
from sakuin.platform.aws import Handler
from sakuin.platform.keys import new_key
from sakuin.platform.supabase.sign_in import issuer_of
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys

from tests.contracts.openai_server import OpenAIServer
from tests.doubles.playground import api_handler
from tests.emptied import emptied
from tests.events import Context
from tests.functions import Functions, functions_of
from tests.isolation.gateway import PUBLISHABLE, SEARCH, SECRET, Gateway, gateway
from tests.worlds import TableWorld, world_of

# Always the same, so that answers can be compared.
REQUEST_ID = "request-of-this-test"
# What the gateway says; the header `host` is what the client said.
DOMAIN = "sakuin.test"
PREVIOUS_JWT_SECRET = "what tokens were signed with before, at least thirty-two bytes"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it travels, and how often the database was asked for it.

    A worker takes a key's searches in blocks, and records the use of a key beside an answer: when it does says nothing
    of what was asked, and is not counted.
    """

    status: int
    headers: dict[str, str]
    body: str
    round_trips: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Stack:
    database: Database
    gateway: Gateway
    sql: psycopg.Connection
    api: Handler
    mcp: Handler
    workers: TableWorld
    functions: Functions
    log: io.StringIO
    knowledge_key: str
    admin_key: str
    answers: list[Answer] = field(default_factory=list)

    @property
    def openai(self) -> OpenAIServer:
        return self.functions.openai

    @property
    def secret(self) -> str:
        """The name of the functions' secret."""
        return self.functions.secret

    @property
    def issuer(self) -> str:
        return issuer_of(self.gateway.url)

    def token(self, user: str, **claims: Any) -> str:
        told = {"sub": user, "aud": "authenticated", "iss": self.issuer, "exp": int(time.time()) + 21_600, **claims}
        return Keys(self.database.jwt_secret).of_role(**{"role": "authenticated", **told})

    def answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Gives an event to the function that API Gateway would give it to."""
        path = event["rawPath"]
        is_search = path.startswith(("/mcp", "/public/")) or path.endswith("/search")
        is_feedback = (path, event["requestContext"]["http"]["method"]) == ("/v1/feedback", "POST")
        is_of_mcp = is_search or is_feedback or path in ("/v1/read", "/v1/find")
        return (self.mcp if is_of_mcp else self.api)(event, context)

    def ask(self, method: str, path: str, body: object = None, *, bearer: str | None = None, **headers: str) -> Answer:
        """One request to the function that API Gateway would give it to."""
        self.gateway.asked()
        told = self.answer(_event(method, path, body, bearer, headers), Context())
        beside = ("/consume_quota", "/record_key_use", "/add_daily_counts")
        asked = [each for each in self.gateway.passed if not each.path.endswith(beside)]
        answer = Answer(told["statusCode"], told.get("headers", {}), told.get("body", ""), len(asked))
        self.answers.append(answer)
        return answer

    def rpc(self, mcp_id: str | None, method: str, bearer: str | None, **params: Any) -> Answer:
        """One message to an MCP endpoint; None is the endpoint of knowledge."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accepts = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
        return self.ask("POST", f"/mcp/{mcp_id}" if mcp_id else "/mcp", message, bearer=bearer, **accepts)

    def indexed(self, project: str, table: str) -> None:
        """Has the workers do what a change of a Table asks for, to the end."""
        self.workers.queues.index(project, table)
        self.workers.settle()

    def rows(self) -> dict[str, str]:
        """A digest of the versions of each table's rows, except those that count requests."""
        tables = [
            name
            for (name,) in self.sql.execute("select tablename from pg_tables where schemaname = 'public' order by 1")
            if name not in ("key_use", "quota_use", "daily_count", "feedback")
        ]
        digest = "select '{0}', md5(coalesce(string_agg(ctid::text || xmin, ' ' order by ctid), '')) from public.{0}"
        return dict(self.sql.execute(" union all ".join(map(digest.format, tables)).encode()).fetchall())


@contextmanager
def stack_of(database: Database, store: str, **settings: str) -> Iterator[Stack]:
    """The stack over a database, emptied of all others, and the search engine's stand-in, with `settings` besides those
    that it needs."""
    knowledge, admin = new_key(), new_key()
    members = {
        "service_key": SECRET,
        "search_key": SEARCH,
        "admin_key": admin,
        "knowledge_key": knowledge,
        "supabase_publishable_key": PUBLISHABLE,
        "supabase_jwt_secret": database.jwt_secret,
        "previous_jwt_secrets": [PREVIOUS_JWT_SECRET],
    }
    with gateway(database) as supabase, psycopg.connect(database.dsn, autocommit=True) as sql:
        settings = {"SUPABASE_URL": supabase.url, "TURBOPUFFER_BASE_URL": store, **settings}
        with functions_of(members, **settings) as functions:
            emptied(sql)
            query = (
                "select proname from pg_proc where proowner = 'sakuin_member'::regrole or proname = 'create_project'"
            )
            supabase.for_users = frozenset(name for (name,) in sql.execute(query))
            # `maintain` writes them each minute.
            limits = asdict(Limits.read(functions.environ["LIMITS"]))
            sql.execute("select set_quotas(%s)", (Jsonb(limits),))
            with redirect_stdout(io.StringIO()) as log:
                agents = functions.mcp()
                rest = api_handler(functions.environ, agents)
                workers = world_of(database, store)
                yield Stack(database, supabase, sql, rest, agents, workers, functions, log, knowledge, admin)


def _event(method: str, path: str, body: object, bearer: str | None, headers: dict[str, str]) -> dict[str, Any]:
    sent = {"content-type": "application/json", "host": "another.test", **headers}
    if bearer is not None:
        sent["authorization"] = f"Bearer {bearer}"
    where, _, query = path.partition("?")
    http = {"method": method, "path": where, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "test"}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": where,
        "rawQueryString": query,
        "headers": sent,
        "requestContext": {"http": http, "requestId": REQUEST_ID, "stage": "$default", "domainName": DOMAIN},
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }
