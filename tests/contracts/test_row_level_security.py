"""The library belongs to the functions alone: no browser key reads a table or calls a function."""

import httpx
import jwt
import psycopg
import pytest
from sakuin_local.database import Database

TABLES = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')"
FUNCTIONS = (
    "select proname, array_to_json(coalesce(proargnames, '{}')) from pg_proc "
    "where pronamespace = 'public'::regnamespace"
)


@pytest.fixture(params=["anon", "authenticated"])
def stranger(request: pytest.FixtureRequest, database: Database) -> httpx.Client:
    """PostgREST, asked with a key that a browser may hold."""
    token = database.anon_key
    if request.param == "authenticated":
        claims = {"role": "authenticated", "sub": "11111111-1111-1111-1111-111111111111", "exp": 2_000_000_000}
        token = jwt.encode(claims, database.jwt_secret, "HS256")
    headers = {"apikey": database.anon_key, "Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"{database.rest_url}/rest/v1", headers=headers)


def test_no_stranger_reads_or_writes_a_table(stranger: httpx.Client, sql: psycopg.Connection) -> None:
    tables = [name for (name,) in sql.execute(TABLES)]
    assert {"material", "knowledge_chunks", "embedding_cache", "receipt"} <= set(tables)
    for table in tables:
        answers = [stranger.get(f"/{table}"), stranger.post(f"/{table}", json={}), stranger.delete(f"/{table}")]
        assert {answer.status_code for answer in answers} <= {401, 403}, (table, [each.text for each in answers])


def test_no_stranger_calls_a_function(stranger: httpx.Client, sql: psycopg.Connection) -> None:
    functions = dict(sql.execute(FUNCTIONS).fetchall())
    assert {"apply_material", "search_knowledge", "list_concepts"} <= functions.keys()
    for name, arguments in functions.items():
        answer = stranger.post(f"/rpc/{name}", json=dict.fromkeys(arguments))
        # 404: PostgREST shows a stranger no function whose arguments are rows.
        assert answer.status_code in (401, 403, 404), (name, answer.text)


def test_every_table_has_row_level_security_and_grants_nobody_outside_anything(sql: psycopg.Connection) -> None:
    bare = sql.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') "
        "and not relrowsecurity"
    ).fetchall()
    assert bare == []
    granted = sql.execute(
        "select table_name, grantee, privilege_type from information_schema.role_table_grants "
        "where table_schema = 'public' and grantee in ('anon', 'authenticated', 'PUBLIC')"
    ).fetchall()
    assert granted == []


@pytest.mark.parametrize("role", ["public", "anon", "authenticated"])
def test_no_function_may_be_executed_from_outside(sql: psycopg.Connection, role: str) -> None:
    open_to_role = sql.execute(
        "select p.oid::regprocedure::text from pg_proc p where pronamespace = 'public'::regnamespace "
        "and has_function_privilege(%s, p.oid, 'execute')",
        (role,),
    ).fetchall()
    assert open_to_role == []


def test_every_function_says_where_it_looks_for_names(sql: psycopg.Connection) -> None:
    loose = sql.execute(
        "select proname from pg_proc where pronamespace = 'public'::regnamespace "
        "and not coalesce(proconfig::text, '') like '%search_path%'"
    ).fetchall()
    assert loose == []
