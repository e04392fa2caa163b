"""The rights of each role in the catalog of the database: none, unless it is listed here."""

from collections.abc import Iterator

import pytest
from sakuin.errors import Refused
from sakuin.platform.supabase.client import call, connected

from tests.isolation.catalog import RIGHTS, SCHEMA
from tests.isolation.stack import Stack

# What the workers need of each table and view, and nothing more.
NEEDED = {"SELECT", "INSERT", "UPDATE", "DELETE"}
# The functions that `api` calls for users, and those that a search needs: the function `mcp` calls no other.
API, SEARCH = set(RIGHTS["api"]), set(RIGHTS["search"])
A_LATER_MIGRATION = """
create table later (id bigint generated always as identity primary key, name text);
create view later_names with (security_invoker = true) as select name from later;
create function later_count() returns bigint language sql stable as 'select count(*) from later';
"""


def rows(stack: Stack, query: str, *values: object) -> list[tuple[object, ...]]:
    return stack.sql.execute(query.replace("SCHEMA", SCHEMA).encode(), values).fetchall()


_FOREIGN_RIGHTS = (
    "select table_name, grantee, privilege_type from information_schema.{} "
    "where table_schema = 'public' and grantee in ('anon', 'authenticated', 'sakuin_search', 'PUBLIC')"
)
_SEQUENCES = (
    "select relname from (select * from pg_class where relnamespace = SCHEMA and relkind = 'S' offset 0) s where "
)
# Each query names what is wrong.
NO_ROWS = {
    "tables without row level security": "select relname from pg_class where relnamespace = SCHEMA "
    "and relkind in ('r', 'p') and not relrowsecurity",
    "rights of others to tables": _FOREIGN_RIGHTS.format("table_privileges"),
    "rights of others to columns": _FOREIGN_RIGHTS.format("column_privileges"),
    "rights of others to sequences": _SEQUENCES + "has_sequence_privilege('anon', oid, 'usage, select, update') "
    "or has_sequence_privilege('authenticated', oid, 'usage, select, update')",
    # The sequence of an identity column needs no grant; another one would.
    "sequences that the workers cannot use": _SEQUENCES
    + "not exists (select from pg_depend d where d.objid = s.oid and d.deptype = 'i') "
    "and not has_sequence_privilege('service_role', s.oid, 'usage')",
    "functions that the workers cannot call": "select proname from pg_proc where pronamespace = SCHEMA "
    "and not has_function_privilege('service_role', oid, 'execute')",
    # Otherwise a table in the caller's pg_temp would be found before that of the schema. A body that is parsed when the
    # function is created searches nothing.
    "functions whose search_path does not end with pg_temp": "select proname from pg_proc "
    "where pronamespace = SCHEMA and prosqlbody is null and not exists "
    "(select from unnest(proconfig) c where c like 'search_path=%%, pg_temp')",
    "views that run with the rights of their owner": "select relname from pg_class where relnamespace = SCHEMA "
    "and relkind = 'v' and not coalesce(reloptions @> array['security_invoker=true'], false)",
}


@pytest.mark.parametrize("query", NO_ROWS.values(), ids=NO_ROWS)
def test_the_catalog_has_no(stack: Stack, query: str) -> None:
    assert rows(stack, query) == []


@pytest.mark.parametrize("kind", ["r", "v"], ids=["table", "view"])
def test_the_workers_have_exactly_four_rights_to_every_table_and_view(stack: Stack, kind: str) -> None:
    """`service_role` passes row level security, but on hosted Supabase no grant comes by itself."""
    query = (
        "select relname, array(select privilege_type::text from aclexplode(relacl) "
        "where grantee = 'service_role'::regrole) "
        "from pg_class where relnamespace = SCHEMA and relkind::text = %s"
    )
    found = {name: set(rights) for name, rights in rows(stack, query, kind) if isinstance(rights, list)}
    assert found
    assert {name: rights for name, rights in found.items() if rights != NEEDED} == {}


@pytest.fixture
def later(stack: Stack) -> Iterator[Stack]:
    """The database after a migration that grants nothing by itself."""
    with stack.sql.transaction(force_rollback=True):
        # Default privileges belong to the role that migrations are applied as.
        stack.sql.execute("set local role postgres")
        stack.sql.execute(A_LATER_MIGRATION)
        yield stack


def test_a_later_migration_s_tables_have_their_grants_by_default(later: Stack) -> None:
    query = (
        "select c.relname, a.grantee::regrole::text, a.privilege_type from pg_class c, aclexplode(c.relacl) a "
        "where c.relname in ('later', 'later_names', 'later_id_seq') and a.grantee <> c.relowner"
    )
    expected = {(name, "service_role", right) for name in ("later", "later_names") for right in NEEDED}
    assert set(rows(later, query)) == expected


def test_a_later_migration_s_function_is_open_to_people_only_through_public(later: Stack) -> None:
    """The migration has to revoke this right; a test below finds one that does not."""
    query = (
        "select case a.grantee when 0 then 'public' else a.grantee::regrole::text end "
        "from pg_proc p, aclexplode(p.proacl) a where p.proname = 'later_count' and a.grantee <> p.proowner"
    )
    assert set(rows(later, query)) == {("public",), ("service_role",)}


def test_a_table_without_its_grant_is_reported_as_that(stack: Stack) -> None:
    service = connected(stack.database.rest_url, stack.database.service_key)
    stack.sql.execute("revoke select on daily_count from service_role")
    try:
        with pytest.raises(Refused, match=r"permission denied for table daily_count.*supabase db push"):
            call(service, "daily_counts", {"p_days": 1, "p_callers": 1})
    finally:
        stack.sql.execute("grant select on daily_count to service_role")


@pytest.mark.parametrize("role", ["public", "anon", "authenticated"])
def test_people_call_no_function_past_the_api(stack: Stack, role: str) -> None:
    query = "select proname from pg_proc where pronamespace = SCHEMA and has_function_privilege(%s, oid, 'execute')"
    assert rows(stack, query, role) == []


def test_the_function_mcp_calls_what_a_search_needs(stack: Stack) -> None:
    query = "select proname from pg_proc where pronamespace = SCHEMA and has_function_privilege(%s, oid, 'execute')"
    assert {name for (name,) in rows(stack, query, "sakuin_search")} == SEARCH


def test_only_listed_functions_run_with_the_rights_of_their_owner(stack: Stack) -> None:
    query = (
        "select proname, pg_get_userbyid(proowner), prosecdef, prorettype = 'trigger'::regtype, "
        "coalesce(proconfig::text, '') like '%%search_path%%' or prosqlbody is not null "
        "from pg_proc where pronamespace = SCHEMA"
    )
    for name, owner, is_definer, is_trigger, is_bound in rows(stack, query):
        assert is_bound, name
        assert (name in API) == (owner == "sakuin_member" or name == "create_project"), name
        if name in API:
            # The first member of a project cannot be its member yet.
            assert is_definer, name
        else:
            # A trigger cannot be called. A policy cannot ask its own table, only the owner may read what migrations are
            # applied, and nobody may change the count of what he has used; no argument of these says who asks. Only the
            # owner may read the factors and addresses of Supabase Auth, and what others store. Some write what members
            # may not, for functions that have checked the caller.
            listed = ("acting_projects", "applied_migrations", "take_quota", "has_second_factor", "check_size")
            listed += ("accept_invitations", "mark_project_deleted", "table_changed")
            # The function `mcp` may read no table.
            assert is_definer or name not in SEARCH, name
            assert not is_definer or is_trigger or name in (*listed, *SEARCH), name


def test_no_user_can_become_the_role_of_members_functions(stack: Stack) -> None:
    may = (
        "select rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolinherit "
        "from pg_roles where rolname in ('sakuin_member', 'sakuin_search')"
    )
    assert rows(stack, may) == [(False,)] * 2
    members = rows(stack, "select pg_get_userbyid(member) from pg_auth_members where roleid = 'sakuin_member'::regrole")
    assert {name for (name,) in members} <= {"postgres", "supabase_admin"}
    assert rows(stack, "select has_schema_privilege('sakuin_member', 'public', 'create')") == [(False,)]
