"""The records of a database from before 1.0 are carried over, with the commands of the guide."""

import re
from pathlib import Path

from sakuin_local.places import MIGRATIONS, REPOSITORY
from sakuin_local.supabase.migrations import apply_migrations

from tests.database_server import DatabaseServer
from tests.postgres_programs import done
from tests.upgrade.migrations import await_reading, schema_digest, state_of
from tests.worlds import TableWorld, long, world_of

GUIDE = (REPOSITORY / "docs" / "how-to" / "upgrade.md").read_text()
CHAPTER = GUIDE.partition("## A database from before 1.0\n")[2].partition("\n## ")[0]
TABLES = re.findall(r"-t public\.(\w+)", CHAPTER)
QUESTION, DOCUMENT = "二次関数と三角比", {"articles": [long("二次関数"), long("三角比")]}


def commands(containing: str) -> str:
    """Returns the block of the chapter that has this in it."""
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", CHAPTER, re.DOTALL) if containing in block]
    (found,) = blocks
    return str(found)


def test_records_are_carried_over_and_the_rest_is_built_again(
    database_server: DatabaseServer, stand_in: str, tmp_path: Path
) -> None:
    with database_server.copy(tmp_path / "database") as database:
        world = world_of(database, stand_in)
        world.call("add_member", project=world.project, member="11111111-1111-1111-1111-111111111111", role="owner")
        endpoint = world.endpoint(world.tool(world.table(DOCUMENT), "/articles"))
        world.sql(f"insert into library_key (key_hash, name) values ('{'0' * 64}', 'class 3b')")
        world.settle()
        before, digest = {table: rows(world, table) for table in TABLES}, schema_digest(database.dsn)
        done(commands("pg_dump"), tmp_path, database)

        done(commands("drop schema"), tmp_path, database)
        apply_migrations(database.dsn_postgres, MIGRATIONS)
        done(commands("--file records.sql"), tmp_path, database)

        assert {table: rows(world, table) for table in TABLES} == before
        assert before["project_member"]
        assert schema_digest(database.dsn) == digest
        await_reading(database)
        assert state_of(database) == "current"
        assert world.found(endpoint, QUESTION) == set()
        for (tool,) in world.sql("select id::text from tool"):
            world.call("reindex_tool", tool=tool)
        for (table,) in world.sql("select id::text from context_table"):
            world.queues.index(world.project, table)
        world.settle()
        assert world.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}


def rows(world: TableWorld, table: str) -> list[str]:
    return sorted(str(row) for (row,) in world.sql(f"select to_jsonb(t) - 'updated_at' from public.{table} t"))
