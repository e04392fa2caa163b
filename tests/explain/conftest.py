"""What all tests of a file read: a library with a page, and a project."""

import psycopg
import pytest
from sakuin_local.supabase.database import Database

from tests.emptied import emptied
from tests.worlds import TableWorld, World, Worlds, long, with_a_page, world_of

DOCUMENT = {
    "articles": [
        {"content": long("二次方程式の解の公式")},
        {"content": long("一次関数の傾き")},
        {"content": long("確率の求め方")},
        {"content": "短い"},
    ],
    "notes": {"content": long("一次関数の切片")},
}


@pytest.fixture(scope="module")
def empty_module_database(database: Database, sql: psycopg.Connection) -> Database:
    emptied(sql)
    return database


@pytest.fixture(scope="module")
def world(a_world: Worlds, empty_module_database: Database) -> World:
    """A library with one page of three explanations."""
    return with_a_page(a_world)


@pytest.fixture(scope="module")
def tables(empty_module_database: Database, stand_in: str) -> TableWorld:
    """A project for Tables, on the same database."""
    return world_of(empty_module_database, stand_in)


@pytest.fixture(scope="module")
def endpoint(tables: TableWorld) -> str:
    """An endpoint with a tool over the articles alone."""
    table = tables.table(DOCUMENT)
    # A tool over everything: the notes are indexed too.
    tables.tool(table, "", name="all")
    made = tables.endpoint(tables.tool(table, "/articles", name="search_articles"))
    tables.settle()
    return made
