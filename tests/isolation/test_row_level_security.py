"""The policies alone, as members' functions meet them: even one that believes whatever it is told stays inside."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.database_server import connection_to
from tests.isolation.catalog import RIGHTS, Function, functions, tables
from tests.isolation.conftest import Tenant
from tests.isolation.stack import Stack

ROLE = "sakuin_member"


@contextmanager
def as_member(
    stack: Stack, user: str | None, connection: psycopg.Connection | None = None
) -> Iterator[psycopg.Connection]:
    """The database for a member's functions, with nothing kept; by default over the connection that all tests use."""
    connection = connection or connection_to(stack.database.dsn)
    with connection.transaction(force_rollback=True):
        headers = Jsonb({"x-acting-user": user} if user else {})
        connection.execute(sql.SQL("set local role {}").format(sql.Identifier(ROLE)))
        connection.execute("select set_config('request.headers', %s::text, true)", (headers,))
        yield connection


def test_a_member_sees_the_rows_of_his_own_projects_alone(stack: Stack, owner: Tenant, other: Tenant) -> None:
    readable = tables(stack, readable_by=ROLE)
    assert {"project", "project_member", "context_table", "tool", "mcp", "mcp_binding"} <= set(readable)
    foreign = [owner.user, *owner.ids.values()]
    for table in readable:
        rows = sql.SQL("select t::text from public.{} t").format(sql.Identifier(table))
        everything = str(stack.sql.execute(rows).fetchall())
        with as_member(stack, other.user) as connection:
            seen = str(connection.execute(rows).fetchall())
        assert not [value for value in foreign if value in seen], table
        # The use of keys is by their hashes, and quotas belong to nobody.
        assert any(value in everything for value in foreign) or table in ("key_use", "quota"), table


def test_a_member_sees_when_his_own_keys_were_used_and_no_others(stack: Stack, owner: Tenant, other: Tenant) -> None:
    for tenant in (owner, other):
        assert stack.rpc(tenant.ids["mcp_id"], "tools/list", tenant.key).status == 200
    with as_member(stack, other.user) as connection:
        assert connection.execute("select count(*) from key_use").fetchone() == (1,)
    assert stack.sql.execute("select count(*) >= 2 from key_use").fetchone() == (True,)


@pytest.mark.parametrize("statement", ["delete from public.{0} where {1}", "update public.{0} set {2} = {2} where {1}"])
def test_a_member_changes_and_deletes_no_other_row(stack: Stack, owner: Tenant, other: Tenant, statement: str) -> None:
    for table in tables(stack, readable_by=ROLE):
        first = stack.sql.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum = 1", (f"public.{table}",)
        ).fetchall()[0][0]
        column = sql.Identifier(first)
        theirs = sql.SQL("{}::text = any (%s)").format(column)
        written = sql.SQL(statement).format(sql.Identifier(table), theirs, column)
        with as_member(stack, other.user) as connection:
            try:
                assert connection.execute(written, (list(owner.ids.values()),)).rowcount == 0, table
            except psycopg.errors.InsufficientPrivilege:
                continue


@pytest.mark.parametrize("statement", RIGHTS["foreign_rows"])
def test_a_member_brings_no_row_into_other_projects(stack: Stack, owner: Tenant, other: Tenant, statement: str) -> None:
    values = {**owner.ids, **{f"own_{name}": value for name, value in other.ids.items()}, "user": other.user}
    with as_member(stack, other.user) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode(), values)


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_a_role_changes_the_rows_that_it_may(stack: Stack, other: Tenant, role: str) -> None:
    member, project = str(uuid4()), other.ids["project_id"]
    stack.sql.execute("insert into project_member values (%s, %s, %s::member_role)", (project, member, role))
    edited = {"context_table", "tool", "mcp", "mcp_binding"}
    for table in sorted(edited | {"project", "project_member", "outbox"}):
        column = {"project_member": "role", "mcp_binding": "status", "outbox": "event"}.get(table, "id")
        for statement in ("delete from public.{0}", "update public.{0} set {1} = {1}"):
            written = sql.SQL(statement).format(sql.Identifier(table), sql.Identifier(column))
            with as_member(stack, member) as connection:
                try:
                    changed = connection.execute(written).rowcount
                except psycopg.errors.InsufficientPrivilege:
                    changed = 0
            # Everybody may leave.
            leaves = table == "project_member" and statement.startswith("delete")
            assert changed == 1 if leaves else bool(changed) is (role == "editor" and table in edited), (table, changed)
    values = {**other.ids, "user": str(uuid4())}
    for statement, editors in (
        ("insert into project_member (project_id, user_id, role) values (%(project_id)s, %(user)s, 'viewer')", False),
        ("insert into context_table (project_id, name, version) values (%(project_id)s, 'x', 0)", True),
        ("insert into mcp (project_id, name, api_key_hash) values (%(project_id)s, 'x', repeat('0', 64))", True),
        ("insert into mcp_binding (mcp_id, tool_id) values (%(mcp_id)s, %(tool_id)s)", True),
        (
            "insert into outbox (event, project_id, table_id) values ('TableDeleted', %(project_id)s, %(table_id)s)",
            False,
        ),
    ):
        with as_member(stack, member) as connection:
            connection.execute("delete from mcp_binding")
            if editors and role == "editor":
                assert connection.execute(statement.encode(), values).rowcount == 1
                continue
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode(), values)
    stack.sql.execute("delete from project_member where user_id = %s", (member,))


def test_an_owner_changes_no_other_owner_s_row(stack: Stack, other: Tenant) -> None:
    second, project = str(uuid4()), other.ids["project_id"]
    stack.sql.execute("insert into project_member values (%s, %s, 'owner')", (project, second))
    for statement in (
        "delete from project_member where user_id = %s",
        "update project_member set role = 'viewer' where user_id = %s",
    ):
        with as_member(stack, other.user) as connection:
            assert connection.execute(statement.encode(), (second,)).rowcount == 0
            assert connection.execute(statement.encode(), (other.ids["user_id"],)).rowcount == 1
    stack.sql.execute("delete from project_member where user_id = %s", (second,))


def test_a_function_of_the_api_stays_inside_whatever_the_claims_say(stack: Stack, owner: Tenant, other: Tenant) -> None:
    """The rights of the deployment come with its role alone, not with a claim."""
    api = [each for each in functions(stack) if each.is_of_the_api]
    assert len(api) > 20
    for function in api:
        for user, claims in ((other.user, {"role": "service_role"}), (None, {"sub": owner.user}), (None, {})):
            given = function.given(owner.ids, p_tools=[owner.ids["tool_id"]])
            with as_member(stack, user) as connection:
                connection.execute("select set_config('request.jwt.claims', %s::text, true)", (Jsonb(claims),))
                try:
                    answer = str(connection.execute(_called(function, given)).fetchall())
                except (psycopg.errors.NoDataFound, psycopg.errors.InsufficientPrivilege):
                    continue
            assert not [value for value in owner.ids.values() if value in answer], (function.name, answer)


@pytest.mark.parametrize("disabled", ["seqscan", "indexscan"])
def test_a_refusal_depends_on_no_plan_of_a_query(stack: Stack, owner: Tenant, other: Tenant, disabled: str) -> None:
    """A check in a subquery may never run: the statistics of a table decide when it is evaluated."""
    # A session keeps the plans that it made before.
    with psycopg.connect(stack.database.dsn, autocommit=True) as session:
        for setting in (f"enable_{disabled}", "enable_bitmapscan"):
            session.execute(sql.SQL("set {} = off").format(sql.Identifier(setting)))
        for function in functions(stack):
            if not function.is_of_the_api or "uuid" not in function.arguments.values():
                continue
            called = _called(function, function.given(owner.ids, p_tools=[owner.ids["tool_id"]]))
            for user in (other.user, None):
                with as_member(stack, user, session) as connection, pytest.raises(psycopg.errors.NoDataFound):
                    connection.execute(called)


def _called(function: Function, given: dict[str, Any]) -> sql.Composed:
    passed = [
        sql.SQL("{} => {}::" + kind).format(
            sql.Identifier(name), sql.Literal(Jsonb(given[name]) if kind == "jsonb" else given[name])
        )
        for name, kind in function.arguments.items()
    ]
    return sql.SQL("select {}({})::text").format(sql.Identifier(function.name), sql.SQL(", ").join(passed))
