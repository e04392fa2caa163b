"""Who may do what in the database, as its catalog has it: closed, unless it was decided otherwise."""

import pytest

from tests.isolation.catalog import MEMBERS_OWN, SCHEMA
from tests.isolation.house import House


def rows(house: House, query: str, *values: object) -> list[tuple[object, ...]]:
    return house.sql.execute(query.replace("SCHEMA", SCHEMA).encode(), values).fetchall()


def test_every_table_has_row_level_security(house: House) -> None:
    query = "select relname from pg_class where relnamespace = SCHEMA and relkind in ('r', 'p') and not relrowsecurity"
    assert rows(house, query) == []


@pytest.mark.parametrize("catalog", ["table_privileges", "column_privileges"])
def test_nobody_outside_has_a_right_to_a_table(house: House, catalog: str) -> None:
    granted = (
        "select table_name, grantee, privilege_type from information_schema.CATALOG "
        "where table_schema = 'public' and grantee in ('anon', 'authenticated', 'PUBLIC')"
    )
    assert rows(house, granted.replace("CATALOG", catalog)) == []


@pytest.mark.parametrize("role", ["anon", "authenticated"])
def test_nobody_outside_has_a_right_to_a_sequence(house: House, role: str) -> None:
    query = (
        "select relname from (select * from pg_class where relnamespace = SCHEMA and relkind = 'S' offset 0) s "
        "where has_sequence_privilege(%s, oid, 'usage, select, update')"
    )
    assert rows(house, query, role) == []


def test_a_view_shows_what_its_reader_may_see(house: House) -> None:
    query = (
        "select relname from pg_class where relnamespace = SCHEMA and relkind = 'v' "
        "and not coalesce(reloptions @> array['security_invoker=true'], false)"
    )
    assert rows(house, query) == []


@pytest.mark.parametrize("role", ["public", "anon", "authenticated"])
def test_a_function_is_closed_to_a_role_unless_it_is_the_role_s_own(house: House, role: str) -> None:
    query = "select proname from pg_proc where pronamespace = SCHEMA and has_function_privilege(%s, oid, 'execute')"
    opened = [str(name) for (name,) in rows(house, query, role)]
    assert [name for name in opened if role != "authenticated" or not name.startswith(MEMBERS_OWN)] == []


def test_nothing_runs_with_another_s_rights_without_a_reason(house: House) -> None:
    query = (
        "select proname, pg_get_userbyid(proowner), prosecdef, prorettype = 'trigger'::regtype, proconfig::text "
        "from pg_proc where pronamespace = SCHEMA"
    )
    for name, owner, is_definer, is_trigger, configured in rows(house, query):
        assert "search_path" in str(configured), name
        if str(name).startswith(MEMBERS_OWN):
            # The first member of a project cannot be its member yet, and who made one may be none any more.
            assert is_definer, name
            assert owner == "sakuin_member" or name in ("member_create_project", "member_count_projects"), name
        else:
            # A trigger cannot be called. A policy cannot ask its own table, and what it asks takes no argument.
            assert not is_definer or is_trigger or name == "acting_projects", name


def test_nobody_can_become_the_role_that_members_functions_run_as(house: House) -> None:
    may = (
        "select rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolinherit "
        "from pg_roles where rolname = 'sakuin_member'"
    )
    assert rows(house, may) == [(False,)]
    members = rows(house, "select pg_get_userbyid(member) from pg_auth_members where roleid = 'sakuin_member'::regrole")
    assert {name for (name,) in members} <= {"postgres", "supabase_admin"}
    assert rows(house, "select has_schema_privilege('sakuin_member', 'public', 'create')") == [(False,)]
