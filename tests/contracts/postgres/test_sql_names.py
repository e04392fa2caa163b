"""Names that PL/pgSQL and Python use exist in the database, and every index over text has one order."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[3]
CALLERS = ROOT / "layers/sakuin/sakuin"
# The function and the methods that call the SQL function which their first string names; a method `call` calls a tool.
CALLS = re.compile(r"call|.*\.(rpc|_call)", re.DOTALL)

# Comments, strings, and rights, in which a role stands after `from`.
_NOT_CODE = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\b(?:grant|revoke) [^;]*;")
_CALLED = re.compile(r"(?<![.\w])(?:public\.)?([a-z_][a-z0-9_]*)\s*\(")
_ALIASED = re.compile(r"\b(?:from|join|update|using|into|,)\s+([a-z_]+)\s+(?:as\s+)?([a-z_]+)\b")
_QUALIFIED = re.compile(r"(?<![.\w])([a-z_]+)\.([a-z_]+)\b(?!\()")
_SUBQUERY = re.compile(r"\)\s+(?:as\s+)?([a-z_]+)\b")
_TABLE_USED = re.compile(
    r"(?:\binsert into|(?<!distinct )\bfrom|\bjoin|(?<!for )\bupdate)\s+(?!set\b|lateral\b)([a-z_]+)\b(?!\s*[(.])"
)
_QUERY_NAMED = re.compile(r"\b([a-z_]+) as (?:(?:not )?materialized )?\(")


@pytest.fixture(scope="module")
def bodies(sql: psycopg.Connection) -> Mapping[str, str]:
    """The text of each function in PL/pgSQL, without comments, strings and rights."""
    query = (
        "select p.proname, p.prosrc from pg_proc p join pg_language l on l.oid = p.prolang "
        "where p.pronamespace = 'public'::regnamespace and l.lanname = 'plpgsql'"
    )
    return {name: _NOT_CODE.sub("''", text).lower() for name, text in sql.execute(query).fetchall()}


@pytest.fixture(scope="module")
def columns(sql: psycopg.Connection) -> Mapping[str, set[str]]:
    """The columns of each table and view."""
    query = (
        "select c.relname::text, array_agg(a.attname::text) from pg_class c join pg_attribute a on a.attrelid = c.oid "
        "where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v') group by 1"
    )
    found = sql.execute(query).fetchall()
    return {table: set(names) for table, names in found}


def unknown_functions(text: str, known: set[str]) -> set[str]:
    """Names before a parenthesis that are neither functions nor defined in the text."""
    # with x(…), as x(…), insert into x (…)
    defined = set(re.findall(r"\b(?:as|with|into|window)\s+([a-z_]+)\s*\(", text))
    defined |= set(re.findall(r"\)\s+([a-z_]+)\s*\(", text))
    return {name for name in _CALLED.findall(text) if name not in known | defined}


def unknown_columns(text: str, columns: Mapping[str, set[str]]) -> set[str]:
    """`alias.column` where the alias always stands for one table, which has no such column."""
    tables: dict[str, set[str]] = {}
    for table, alias in _ALIASED.findall(text):
        tables.setdefault(alias, set()).add(table)
    for alias in _SUBQUERY.findall(text):
        tables.setdefault(alias, set()).add("")
    for table in columns:
        tables.setdefault(table, {table})
    known = {alias: names.pop() for alias, names in tables.items() if len(names) == 1}
    used = {(known[alias], column) for alias, column in _QUALIFIED.findall(text) if alias in known}
    return {f"{table}.{column}" for table, column in used if table in columns and column not in columns[table]}


def test_a_function_calls_only_functions_that_exist(sql: psycopg.Connection, bodies: Mapping[str, str]) -> None:
    # Words like `coalesce` and `in` stand before a parenthesis, too.
    query = "select proname::text from pg_proc union select word from pg_get_keywords() union select 'return'"
    known = {name for (name,) in sql.execute(query).fetchall()}
    assert len(bodies) > 50
    unknown = {name: unknown_functions(text, known) for name, text in bodies.items()}
    assert {name: names for name, names in unknown.items() if names} == {}


def test_a_function_uses_only_columns_that_exist(bodies: Mapping[str, str], columns: Mapping[str, set[str]]) -> None:
    unknown = {name: unknown_columns(text, columns) for name, text in bodies.items()}
    assert {name: names for name, names in unknown.items() if names} == {}


def test_a_function_uses_only_tables_that_exist(
    sql: psycopg.Connection, bodies: Mapping[str, str], columns: Mapping[str, set[str]]
) -> None:
    others = sql.execute(
        "select tgoldtable::text from pg_trigger where tgoldtable is not null "
        "union select relname::text from pg_class where relnamespace = 'pg_catalog'::regnamespace"
    ).fetchall()
    known = {*columns, *(name for (name,) in others)}
    unknown = {
        name: set(_TABLE_USED.findall(text)) - known - set(_QUERY_NAMED.findall(text)) for name, text in bodies.items()
    }
    assert {name: names for name, names in unknown.items() if names} == {}


def test_python_calls_only_functions_that_exist_with_arguments_that_they_have(sql: psycopg.Connection) -> None:
    query = "select proname::text, coalesce(proargnames, '{}') from pg_proc where pronamespace = 'public'::regnamespace"
    functions = {name: set(names) for name, names in sql.execute(query).fetchall()}
    called = list(_called())
    assert len(called) > 60
    wrong = [
        f"{place}: {name} {sorted(arguments - functions.get(name, set()))}"
        for place, name, arguments in called
        if name not in functions or not arguments <= functions[name]
    ]
    assert wrong == []


def _called() -> Iterator[tuple[str, str, set[str]]]:
    """Where Python calls a SQL function, its name, and the arguments that the same Python function names."""
    for file in sorted(CALLERS.rglob("*.py")):
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if re.search(r"\b(_?call|rpc)\(", text) else ():
            if isinstance(node, ast.FunctionDef):
                names = set(_functions_called(node))
                # Arguments cannot be told apart where one Python function calls several.
                arguments = _arguments(node) if len(names) == 1 else set()
                yield from ((f"{file.name}:{node.name}", name, arguments) for name in sorted(names))


def _functions_called(node: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and CALLS.fullmatch(ast.unparse(each.func)):
            texts = (a.value for a in each.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
            yield from (text for text in texts if re.fullmatch(r"[a-z_]+", text))


def _arguments(node: ast.FunctionDef) -> set[str]:
    keywords = {each.arg for each in ast.walk(node) if isinstance(each, ast.keyword) and each.arg}
    texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return {name for name in keywords | texts if re.fullmatch(r"p_[a-z_]+", name)}


# ---------------------------------------------------------------- order of text


INDEXED = """
select distinct t.relname || '.' || a.attname
from pg_index i join pg_class t on t.oid = i.indrelid join pg_attribute a on a.attrelid = i.indexrelid
where t.relnamespace = 'public'::regnamespace and a.attcollation not in (0, 'pg_catalog."C"'::regcollation)
"""
NAMED = """
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not a.attisdropped and a.attnum > 0
  and c.relname in ('context_table', 'tool', 'mcp') and a.attname = 'name'
  and a.attcollation <> 'pg_catalog."C"'::regcollation
"""


def test_every_index_over_text_has_the_order_of_bytes(sql: psycopg.Connection) -> None:
    """Hosted Supabase has ICU's order by default: S3's keys and ours would come in different orders."""
    assert sql.execute(INDEXED).fetchall() == []


def test_lists_for_people_have_one_order_everywhere(sql: psycopg.Connection) -> None:
    assert sql.execute(NAMED).fetchall() == []
