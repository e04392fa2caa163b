"""Each limit of a deployment, through HTTP, MCP and uploads."""

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import boto3
import pytest
from sakuin.wiring import index_material, index_tool
from sakuin.wiring.clients import Clients
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.events import Context, queue_event, s3_message
from tests.isolation.stack import Answer, Handler, Stack, stack_of

LIMITS = {
    "page_bytes": 4000,
    "page_explanations": 2,
    "table_bytes": 9000,
    "table_memory_bytes": 30000,
    "table_strings": 2,
    "table_chunks": 4,
    "string_chars": 3000,
    "projects": 2,
    "members": 2,
    "tables": 2,
    "tools": 2,
    "endpoints": 2,
    "endpoint_tools": 1,
    "project_bytes": 20000,
    "project_chunks": 6,
    "user_bytes": 30000,
    "user_chunks": 8,
    "all_bytes": 10**9,
    "all_chunks": 10**6,
    "reindexes_per_hour": 2,
    "requests_per_minute": 25,
    "mcp_request_bytes": 5000,
    "api_request_bytes": 20000,
    "queries_per_minute": 3,
}


@pytest.fixture(scope="module")
def stack(database: Database, stand_in: str) -> Iterator[Stack]:
    """A deployment with low limits."""
    with stack_of(database, stand_in, LIMITS=json.dumps(LIMITS)) as open_stack:
        yield open_stack


@pytest.fixture(scope="module")
def index_page(stack: Stack) -> Handler:
    """The worker of pages of that deployment."""
    return index_material.handler(Clients.of(os.environ, "Index"))


@pytest.fixture(scope="module")
def scan(stack: Stack) -> Handler:
    """The worker of Tables of that deployment."""
    return index_tool.handler(Clients.of(os.environ, "Index"))


class Person:
    """A user with one project."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.id = str(uuid4())
        self.token = stack.token(self.id)
        self.project = self.made("/v1/projects", {"name": "p"})["id"]

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        return self.stack.ask(method, path, body, bearer=self.token)

    def made(self, path: str, body: object) -> dict[str, Any]:
        answer = self.ask("POST", path, body)
        assert answer.status == 201, answer.body
        created: dict[str, Any] = answer.json
        return created

    def of_project(self, what: str, body: object) -> Answer:
        return self.ask("POST", f"/v1/projects/{self.project}/{what}", body)

    def table(self, document: object = None) -> str:
        return str(self.made(f"/v1/projects/{self.project}/tables", {"name": "t", "data": document})["id"])

    def tool(self, table: str) -> str:
        asked = {"table_id": table, "json_path": "", "name": f"t{uuid4().hex}"}
        return str(self.made(f"/v1/projects/{self.project}/tools", asked)["id"])


@pytest.fixture
def person(stack: Stack) -> Person:
    return Person(stack)


def tool(person: Person) -> Answer:
    tables = person.ask("GET", f"/v1/projects/{person.project}/tables").json["tables"]
    table = tables[0]["id"] if tables else person.table()
    return person.of_project("tools", {"table_id": table, "json_path": "", "name": f"t{uuid4().hex}"})


TWICE: dict[str, Callable[[Person], Answer]] = {
    "tables": lambda person: person.of_project("tables", {"name": "t", "data": 1}),
    "tools": tool,
    "endpoints": lambda person: person.of_project("mcps", {"name": "e"}),
}


@pytest.mark.parametrize("limit", TWICE)
def test_the_third_of_two_is_429_and_says_what_raises_the_limit(person: Person, limit: str) -> None:
    assert [TWICE[limit](person).status for _ in range(2)] == [201, 201]
    third = TWICE[limit](person)
    # Waiting does not help.
    assert (third.status, third.headers.get("retry-after")) == (429, None)
    assert third.json["detail"].endswith(f"; the limit is 2 ({limit}). Remove some, or raise the limit.")


def test_an_upload_counts_as_a_table_and_a_removed_table_does_not(person: Person) -> None:
    first, upload = person.table(), {"name": "t", "size": 10}
    assert [person.of_project("tables/uploads", upload).status for _ in range(2)] == [201, 429]
    assert person.ask("DELETE", f"/v1/tables/{first}").status == 204
    assert person.of_project("tables/uploads", upload).status == 201


def test_a_person_has_so_many_projects_and_those_of_others_are_not_counted(stack: Stack, person: Person) -> None:
    other = Person(stack)
    second = other.made("/v1/projects", {"name": "q"})["id"]
    for project in (other.project, second):
        assert other.ask("POST", f"/v1/projects/{project}/members", {"user_id": person.id}).status == 204
    refused = other.ask("POST", "/v1/projects", {"name": "r"})
    said = "That would be 3 projects that you created; the limit is 2 (projects)"
    assert (refused.status, said in refused.body) == (429, True)
    assert person.ask("POST", "/v1/projects", {"name": "mine"}).status == 201
    assert len(person.ask("GET", "/v1/projects").json["projects"]) == 4


def test_a_project_has_so_many_members_for_members_and_for_admins(stack: Stack, person: Person) -> None:
    second, third = str(uuid4()), str(uuid4())
    assert person.of_project("members", {"user_id": second, "role": "owner"}).status == 204
    for bearer in (person.token, stack.token(second), stack.admin_key):
        path = f"/v1/projects/{person.project}/members"
        refused = stack.ask("POST", path, {"user_id": third}, bearer=bearer)
        assert (refused.status, refused.json["detail"]) == (
            429,
            "That would be 3 members of one project; the limit is 2 (members). Remove some, or raise the limit.",
        )
        # Who is a member already may be made one again.
        assert stack.ask("POST", path, {"user_id": second}, bearer=bearer).status == 204
    assert stack.ask("GET", f"/v1/projects/{person.project}/tables", bearer=stack.token(third)).status == 404


def test_an_endpoint_has_so_many_tools(person: Person) -> None:
    table = person.table()
    one, other = person.tool(table), person.tool(table)
    refused = person.of_project("mcps", {"name": "e", "tool_ids": [one, other]})
    assert (refused.status, "the limit is 1 (endpoint_tools)" in refused.body) == (429, True)
    made = person.of_project("mcps", {"name": "e", "tool_ids": [one]}).json["mcp"]["id"]
    refused = person.ask("PUT", f"/v1/mcps/{made}/tools/{other}")
    assert (refused.status, "the limit is 1 (endpoint_tools)" in refused.body) == (429, True)
    # A bound tool can be switched, however many there are.
    assert person.ask("PUT", f"/v1/mcps/{made}/tools/{one}", {"status": "disabled"}).status == 200


def test_a_table_has_so_many_bytes_however_it_comes(person: Person) -> None:
    table, large = person.table(), "x" * 9_000
    answers = [
        person.of_project("tables", {"name": "t", "data": large}),
        person.of_project("tables/uploads", {"name": "t", "size": 9_002}),
        person.ask("POST", f"/v1/tables/{table}/uploads", {"size": 9_002}),
        person.ask("PUT", f"/v1/tables/{table}", {"data": large}),
    ]
    said = "A Table has at least 1 byte, and the limit is 9,000 (table_bytes); this one has 9,002."
    assert [(answer.status, answer.json["detail"]) for answer in answers] == [(422, said)] * 4
    # What is counted are the bytes of UTF-8.
    assert person.ask("PUT", f"/v1/tables/{table}", {"data": "数" * 2_900}).status == 200


def test_a_project_has_so_many_bytes_in_all_of_its_tables(person: Person) -> None:
    """The project may have two Tables, of 9,000 bytes each."""
    stack, low = person.stack, "select set_quotas('{\"project_bytes\": 12000}')"
    first = person.table("x" * 8_000)
    second = person.table("x" * 1_000)
    stack.sql.execute(low)
    refused = [
        person.ask("PUT", f"/v1/tables/{second}", {"data": "x" * 5_000}),
        person.ask("POST", f"/v1/tables/{second}/uploads", {"size": 5_002}),
    ]
    said = "That would be 13,004 bytes in the Tables of one project; the limit is 12,000 (project_bytes)."
    assert [(each.status, each.json["detail"].startswith(said)) for each in refused] == [(429, True)] * 2
    # A smaller document makes room, and an announced one takes it.
    assert person.ask("PUT", f"/v1/tables/{first}", {"data": "x"}).status == 200
    assert person.ask("POST", f"/v1/tables/{second}/uploads", {"size": 9_000}).status == 201
    assert person.ask("PUT", f"/v1/tables/{first}", {"data": "x" * 4_000}).status == 429
    stack.sql.execute("select set_quotas('{\"project_bytes\": 20000}')")


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ("user_bytes", "The projects of one user may have 9,000 bytes in their Tables (user_bytes)."),
        ("all_bytes", "This deployment has no room for more bytes in Tables (all_bytes)."),
    ],
)
def test_a_user_and_a_deployment_have_so_many_bytes_in_all_projects(person: Person, quota: str, said: str) -> None:
    first = person.table("x" * 8_000)
    person.project = person.made("/v1/projects", {"name": "another"})["id"]
    # All Tables of the tests before count for the deployment.
    before = "0" if quota == "user_bytes" else "(select sum(bytes) - 8002 from context_table)"
    person.stack.sql.execute(f"select set_quotas(jsonb_build_object('{quota}', {before} + 9000))".encode())
    try:
        refused = person.ask("POST", f"/v1/projects/{person.project}/tables", {"name": "t", "data": "x" * 2_000})
        assert (refused.status, refused.json["detail"].startswith(said)) == (429, True)
        # No total of others is told, and what does not grow passes.
        assert not re.search(r"1\d,\d{3} bytes", refused.json["detail"])
        assert person.ask("PUT", f"/v1/tables/{first}", {"data": "y" * 8_000}).status == 200
    finally:
        person.stack.sql.execute(f"select set_quotas('{{\"{quota}\": {LIMITS[quota]}}}')".encode())


def test_a_project_has_so_many_reindexes_in_an_hour(person: Person) -> None:
    tool = person.tool(person.table())
    answers = [person.ask("POST", f"/v1/tools/{tool}/reindex")]
    while answers[-1].status == 202:
        answers.append(person.ask("POST", f"/v1/tools/{tool}/reindex"))
    *granted, refused = answers
    # Another hour may begin meanwhile.
    assert 2 <= len(granted) <= 4
    assert (refused.status, 1 <= int(refused.headers["retry-after"]) <= 3600) == (429, True)
    assert "The limit of 2 reindexes of one project in an hour (reindexes_per_hour)" in refused.json["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/projects", None, 200),
        ("GET", f"/v1/tables/{uuid4()}", None, 404),
        ("POST", f"/v1/projects/{uuid4()}/tables", {"name": "t", "data": {}}, 404),
        ("GET", "/v1/projects?unknown=1", None, 422),
    ],
)
def test_a_user_has_so_many_requests_in_a_minute_also_of_those_that_fail(
    person: Person, method: str, path: str, body: object, status: int
) -> None:
    assert person.ask(method, path, body).status == status
    # Another minute may begin meanwhile.
    answers = (person.ask(method, path, body) for _ in range(200))
    refused = next(answer for answer in answers if answer.status == 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert "requests_per_minute" in refused.json["detail"]


def test_a_table_that_takes_too_much_memory_is_not_changed_by_pointer_and_may_be_replaced(person: Person) -> None:
    table = person.table([{} for _ in range(200)])
    for answer in (
        person.ask("PATCH", f"/v1/tables/{table}", [{"op": "set", "path": "/0", "value": 1}]),
        person.ask("GET", f"/v1/tables/{table}/data?pointer=/0"),
    ):
        assert answer.status == 422
        assert "of memory; the limit is 30,000 (table_memory_bytes). Upload it as a whole" in answer.json["detail"]
    assert person.ask("PUT", f"/v1/tables/{table}", {"data": [1]}).status == 200
    assert person.ask("GET", f"/v1/tables/{table}/data?pointer=/0").json == 1


def test_a_request_has_so_many_bytes(stack: Stack, person: Person) -> None:
    refused = person.of_project("tables", {"name": "t", "data": "x" * 20_000})
    assert refused.status == 413
    assert "the limit is 20,000 (api_request_bytes)" in refused.json["detail"]
    refused = stack.rpc(None, "tools/call", stack.knowledge_key, name="search_knowledge", padding="x" * 5_000)
    told = "The request is too large; the limit is 5,000 bytes (mcp_request_bytes)."
    assert (refused.status, refused.json["detail"]) == (413, told)


def test_a_key_has_so_many_calls_in_a_minute(stack: Stack, person: Person) -> None:
    tool = person.tool(person.table())
    made = person.of_project("mcps", {"name": "e", "tool_ids": [tool]}).json
    answers = [stack.rpc(made["mcp"]["id"], "tools/call", made["key"], name="none", arguments={}) for _ in range(12)]
    assert [answer.status for answer in answers[:3]] == [200] * 3
    last = answers[-1]
    assert last.status == 429
    assert 1 <= int(last.headers["retry-after"]) <= 60
    assert "queries_per_minute" in last.body
    # A search over REST has the same limit.
    path = f"/v1/mcps/{made['mcp']['id']}/tools/{tool}/search"
    over_rest = stack.ask("POST", path, {"query": "x"}, bearer=made["key"])
    assert (over_rest.status, over_rest.json["code"]) == (429, "too_many_requests")
    assert 1 <= int(over_rest.headers["retry-after"]) <= 60


# ---------------------------------------------------------------- by an upload


def page_status(stack: Stack, index_page: Handler, body: bytes) -> dict[str, Any]:
    """Uploads a page and processes its message; returns its status."""
    name = f"limits-{uuid4().hex}"
    boto3.client("s3", "us-east-1").put_object(Bucket="materials", Key=f"{name}.html", Body=body)
    uploaded = queue_event(s3_message(f"{name}.html", version=None))
    assert index_page(uploaded, Context()) == {"batchItemFailures": []}
    found = stack.ask("GET", f"/v1/materials?prefix={name}", bearer=stack.admin_key).json["materials"]
    return dict(found[0])


def test_a_page_has_so_many_bytes_and_explanations(stack: Stack, index_page: Handler) -> None:
    three = a_page({f"rule-{name}": f"規則{name}: 説明の文。" for name in "abc"})
    assert page_status(stack, index_page, three)["error"] == (
        "It has 3 semantic ids; the limit is 2 (page_explanations). Split the page."
    )
    large = page_status(stack, index_page, a_page({"rule-a": "規則: " + "x" * 5_000}))
    assert large["status"] == "failed"
    assert "the limit is 4,000 (page_bytes for a page, table_bytes for a Table)" in large["error"]
    assert page_status(stack, index_page, a_page({"rule-a": "規則: 説明の文。"}))["status"] == "ready"


def scan_table(scan: Handler, person: Person, table: str, *, upload: str | None = None) -> None:
    """Processes the message of a Table, or that of an uploaded body."""
    body: dict[str, Any] = {"detail-type": "TableUpdated", "detail": {"project_id": person.project, "table_id": table}}
    if upload is not None:
        body = s3_message(upload, version=None)
    assert scan(queue_event(body), Context()) == {"batchItemFailures": []}


def test_a_project_has_so_many_chunks_in_all_of_its_tables(stack: Stack, scan: Handler, person: Person) -> None:
    document = dict.fromkeys("ab", "word " * 250)
    tables = [person.table(document), person.table(document)]
    tools = [person.tool(table) for table in tables]
    stack.sql.execute("select set_quotas('{\"project_chunks\": 6}')")
    for table in tables:
        scan_table(scan, person, table)
    first, second = (person.ask("GET", f"/v1/tools/{tool}").json["metadata"]["search_index"] for tool in tools)
    assert (first["state"], second["state"]) == ("indexing", "error")
    assert "8 chunks in the Tables of one project; the limit is 6 (project_chunks)" in second["last_error"]


@pytest.mark.parametrize("quota", ["user_chunks", "all_chunks"])
def test_a_user_and_a_deployment_have_so_many_chunks(stack: Stack, scan: Handler, person: Person, quota: str) -> None:
    first = person.table(dict.fromkeys("ab", "word " * 250))
    scan_table(scan, person, (person.tool(first), first)[1])
    person.project = person.made("/v1/projects", {"name": "another"})["id"]
    second = person.table(dict.fromkeys("ab", "word " * 250))
    tool = person.tool(second)
    before = "0" if quota == "user_chunks" else "(select sum(chunks_count) - 4 from context_table)"
    stack.sql.execute(f"select set_quotas(jsonb_build_object('{quota}', {before} + 6))".encode())
    scan_table(scan, person, second)
    status = person.ask("GET", f"/v1/tools/{tool}").json["metadata"]["search_index"]
    assert (status["state"], f"({quota})" in status["last_error"]) == ("error", True)
    stack.sql.execute(f"select set_quotas('{{\"{quota}\": {LIMITS[quota]}}}')".encode())


def test_a_string_of_a_table_has_so_many_characters_and_is_skipped_alone(scan: Handler, person: Person) -> None:
    table = person.table({"a": "word " * 700, "b": "word " * 250})
    made = person.tool(table)
    scan_table(scan, person, table)
    (skipped,) = person.ask("GET", f"/v1/tools/{made}").json["metadata"]["search_index"]["skipped_nodes"]
    assert skipped["json_pointer"] == "/a"
    assert "3,500 characters; the limit is 3,000 (string_chars)" in skipped["reason"]


def test_an_uploaded_body_has_so_many_bytes_and_the_last_good_version_stays(scan: Handler, person: Person) -> None:
    table = person.table({"a": 1})
    assert person.ask("POST", f"/v1/tables/{table}/uploads", {"size": 9_000}).status == 201
    key = f"tables/{person.project}/{table}/1.json"
    boto3.client("s3", "us-east-1").put_object(Bucket="tables", Key=key, Body=b'"' + b"x" * 9_000 + b'"')
    scan_table(scan, person, table, upload=key)
    said = person.ask("GET", f"/v1/tables/{table}").json
    limit = "9,000 (page_bytes for a page, table_bytes for a Table)"
    assert said["import_error"] == f"The file has 9,002 bytes; the limit is {limit}. Split it."
    assert person.ask("GET", f"/v1/tables/{table}/data").json == {"a": 1}
