"""The OpenAPI document has the routes and the statuses that there are: each one is asked for."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

import boto3
import pytest
from sakuin.platform.keys import hash_of_key, new_key
from sakuin_local.supabase.database import Database

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.routes import BODIES, MEMBERS, OF_PUSHES, OPEN, PUSHES, SEARCHES, Ids
from tests.isolation.stack import Stack, stack_of

ROUTES = {route.name: route for route in MEMBERS}
LONGEST = 100_000
TOO_LARGE = {"x": "x" * LONGEST}
Observed = dict[str, set[int]]
# What the work of an operation answers, beside refusals: its own tests ask for these.
OF_THE_OPERATION = {200, 201, 202, 204, 404, 409}


@pytest.fixture(scope="module")
def stack(database: Database, stand_in: str) -> Iterator[Stack]:
    """A stack whose quotas may be used up, and whose index may change."""
    limits = json.dumps({"api_request_bytes": LONGEST, "mcp_request_bytes": LONGEST})
    with stack_of(database, stand_in, LIMITS=limits) as open_stack:
        yield open_stack


def documented(stack: Stack) -> dict[str, Any]:
    """The operations of the document by their routes."""
    paths = stack.ask("GET", "/openapi.json").json["paths"]
    return {
        f"{method.upper()} {path}": operation
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


class Caller:
    """Calls routes by their names in the document, and notes each status. An error has the one shape."""

    def __init__(self, stack: Stack, tenant: Tenant) -> None:
        self.stack, self.tenant = stack, tenant
        self.observed: Observed = defaultdict(set)

    def __call__(
        self, name: str, body: Any = ..., *, bearer: str | None, ids: Ids | None = None, query: str = "", **headers: str
    ) -> int:
        known = {**self.tenant.ids, "name": "next", "key_hash": "0" * 64, **(ids or {})}
        method, _, path = name.partition(" ")
        sent = self.body(name, known) if body is ... else body
        answer = self.stack.ask(method, path.format_map(known) + query, sent, bearer=bearer, **headers)
        self.observed[name].add(answer.status)
        if answer.status >= 400:
            assert answer.json.keys() == {"detail", "code", "request_id"}, (name, answer.body)
        return answer.status

    def body(self, name: str, ids: Ids) -> Any:
        return ROUTES[name].body(ids) if name in ROUTES else BODIES.get(name)

    def key(self, name: str) -> str | None:
        """The key that opens a route."""
        if name in SEARCHES:
            return self.tenant.key if "{" in name else self.stack.knowledge_key
        return None if name in OPEN else self.stack.admin_key


def refuse(call: Caller, name: str, *, takes_a_body: bool) -> None:
    """Sends what any route refuses: no key, a wrong request, one that is too large, ids that do not exist."""
    nowhere: Any = {id: str(uuid4()) for id in call.tenant.ids} | {"name": "0" * 64}
    key, is_search = call.key(name), name in SEARCHES
    call(name, bearer="nobody")
    if takes_a_body:
        call(name, TOO_LARGE, bearer=key)
    if is_search and takes_a_body:
        call(name, 1, bearer=key)
    elif name not in OPEN:
        call(name, bearer=key, query="?unknown=1")
    if is_search:
        nowhere = {"tool_id": nowhere["tool_id"]}
        call(name, bearer=key, origin="https://page.example")
    if "{" in name:
        call(name, bearer=key, ids=nowhere)


def call_without_queue(call: Caller) -> None:
    """Calls the routes of dead letters when SQS does not find a queue."""
    boto3.client("sqs", "us-east-1").delete_queue(QueueUrl=os.environ["MATERIAL_DEAD_LETTERS_URL"])
    for method in ("GET", "POST"):
        assert call(f"{method} /v1/dead-letters", bearer=call.stack.admin_key) == 503


def call_without_database(call: Caller, names: Iterable[str]) -> None:
    call.stack.gateway.broken = True
    for name in names:
        call(name, bearer=call.key(name))
    for name in OF_PUSHES:
        assert call(name, bearer=new_key("push")) == 503
    call.stack.gateway.broken = False


def use_up_requests(stack: Stack) -> None:
    """Leaves no request to those who made one, in a minute that does not end before the test."""
    stack.sql.execute("update quota set value = 1 where name = 'requests_per_minute'")
    stack.sql.execute("update quota_use set began = now() + interval '1 hour' where quota = 'requests_per_minute'")


def call_with_used_up_quotas(call: Caller) -> None:
    stack, tenant = call.stack, call.tenant
    limit = "update quota set value = %s where name = 'requests_per_minute'"
    call("GET /v1/projects", bearer=tenant.token)
    use_up_requests(stack)
    for name in ROUTES:
        assert call(name, bearer=tenant.token) == 429
    stack.sql.execute(limit, (1_000_000,))
    for principal in (tenant.ids["project_id"], hash_of_key(stack.knowledge_key)):
        # A minute that does not end before the test.
        used = "insert into quota_use values (%s, 'searches', now() + interval '1 hour', 1000000)"
        again = " on conflict (principal, quota) do update set began = excluded.began, used = 1000000"
        stack.sql.execute(used + again, (principal,))
    for name in SEARCHES:
        # A worker grants some searches without asking.
        while call(name, {}, bearer=call.key(name)) != 429:
            pass


def call_with_a_key_of_a_folder(call: Caller) -> None:
    """Calls the routes of pushes for files of another folder, and with more requests than a minute has."""
    stack, admin = call.stack, call.stack.admin_key
    key = stack.ask("POST", "/v1/keys", {"name": "one", "purpose": "push", "folder": "math"}, bearer=admin).json["key"]
    for method, path in PUSHES:
        assert call(f"{method} {path}", bearer=key, query="?key=other/learns.yml") == 403
    upload = {"key": "other/a.html", "size": 1, "md5": "0" * 32}
    assert call("POST /v1/files/uploads", {"files": [upload]}, bearer=key) == 403
    version = {"key": "other/a.html", "version_id": "1"}
    assert call("POST /v1/files/results", {"versions": [version]}, bearer=key) == 403
    assert call("POST /v1/anchors", ["other/a"], bearer=key) == 403
    use_up_requests(stack)
    for name in OF_PUSHES:
        assert call(name, bearer=key) == 429
    stack.sql.execute("update quota set value = 1000000 where name = 'requests_per_minute'")


def test_no_status_is_missing_in_the_document_and_every_refusal_in_it_is_given(stack: Stack) -> None:
    call, operations = Caller(stack, moved_in(stack, "整数の性質")), documented(stack)
    for name, operation in operations.items():
        refuse(call, name, takes_a_body="requestBody" in operation)
    call_without_database(call, operations)
    call_with_a_key_of_a_folder(call)
    guest = stack.token(call.tenant.ids["user_id"])
    agent = stack.token(call.tenant.user, client_id=str(uuid4()))
    for route in MEMBERS:
        assert call(route.name, bearer=agent) == 403
        if route.role != "viewer":
            # Without this id the guest would leave.
            assert call(route.name, bearer=guest, ids={"user_id": call.tenant.user}) == 403
    for name in [*(operations.keys() - ROUTES.keys()), *ROUTES]:
        call(name, bearer=call.key(name))
    call.tenant = moved_in(stack, "資料の活用")
    call_with_used_up_quotas(call)
    call_without_queue(call)
    told = {name: {int(status) for status in operation["responses"]} for name, operation in operations.items()}
    missing = {name: told[name] - call.observed[name] - OF_THE_OPERATION for name in told}
    surplus = {name: call.observed[name] - told[name] for name in told}
    assert {name: statuses for name, statuses in missing.items() if statuses} == {}
    assert {name: statuses for name, statuses in surplus.items() if statuses} == {}


def test_every_operation_has_a_name_that_can_be_read(stack: Stack) -> None:
    operations = documented(stack)
    names = [operation["operationId"] for operation in operations.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z]+(_[a-z]+)+", name) for name in names)
    assert all(operation["tags"] for operation in operations.values())


def test_ids_and_times_are_described_as_such(stack: Stack) -> None:
    schemas = stack.ask("GET", "/openapi.json").json["components"]["schemas"]
    # These have the form of the gateway, of S3 and of a page.
    others = {"request_id", "version_id", "indexed_version_id", "mcp_id"}
    # SQS, pages and the words of questions give these ids.
    given = {"DescribedLetter", "GapView", "Nearest", "FeedbackArguments"}
    for title, schema in schemas.items():
        for name, field in schema.get("properties", {}).items():
            if (name == "id" and title not in given) or (name.endswith("_id") and name not in others):
                values = [each for each in field.get("anyOf", [field]) if each["type"] != "null"]
                assert [each["format"] for each in values] == ["uuid"], (title, name)
            if name.endswith("_at"):
                assert "date-time" in str(field), (title, name)
