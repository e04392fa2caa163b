"""The steps of the backup guide, run: taken from one database and account, restored into others."""

import io
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from sakuin.language.synonyms import stored_groups
from sakuin.platform.s3 import S3Bucket
from sakuin_local.places import REPOSITORY
from sakuin_local.supabase.database import Database

from tests.cli.conftest import Operator
from tests.cli.deployment import deployed, keys_of
from tests.database_server import DatabaseServer
from tests.functions import secrets
from tests.integration.guide_programs import aws
from tests.postgres_programs import done
from tests.worlds import TableWorld, long, world_of

GUIDE = (REPOSITORY / "docs" / "how-to" / "backup.md").read_text()
# What the small dump leaves out, and from what it is built again.
DERIVED = {
    "pages in the bucket": {
        *("material", "knowledge_chunks", "competing_key", "upload_result", "pending_learns", "authored_file"),
        *("chunk_words", "posting", "reading", "site_synonyms", "stored_row"),
    },
    "documents of Tables": {"node", "chunks", "table_scan", "table_reading", "table_object"},
    "a paid model": {"learns_cache", "embedded_text", "unused_vector", "knowledge_vector", "chunk_vector"},
    "the parameter Limits": {"quota"},
    "use that begins again": {
        *("console_session", "console_link", "console_form", "quota_use"),
        *("daily_round", "maintenance"),
    },
}
SECRET, BUCKETS = "sakuin/prod", {"MaterialsBucket": "materials", "TablesBucket": "tables"}
QUESTION = "二次関数と三角比"
DOCUMENT = {"articles": [long("二次関数"), long("三角比")]}


@pytest.fixture
def lost(empty_database: Database) -> Database:
    """The database that is backed up, and then no longer asked."""
    return empty_database


@pytest.fixture
def empty(database_server: DatabaseServer, tmp_path: Path) -> Iterator[Database]:
    """A new one, with the migrations."""
    with database_server.copy(tmp_path / "empty") as running:
        yield running


def block(heading: str, containing: str) -> list[str]:
    """The lines of a chapter's block that has this in it."""
    chapter = GUIDE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = next(each for each in re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL) if containing in each)
    return found.splitlines()


def shell(heading: str, containing: str) -> str:
    """The same, but for the lines that need AWS."""
    return "\n".join(line for line in block(heading, containing) if not line.startswith("aws "))


@contextmanager
def account(database: Database, members: Mapping[str, Mapping[str, object]]) -> Iterator[Operator]:
    """Somebody in a new account of AWS with these secrets and empty buckets, and the functions over the database."""
    with mock_aws():
        for name, secret in members.items():
            boto3.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(secret))
        with deployed(database, SECRET_NAME=SECRET) as running:
            yield Operator(Path.cwd(), running)


def type_in(lines: list[str], person: Operator) -> None:
    """Runs the lines of a block that are for AWS or for the deployment."""
    for line in lines:
        if line.startswith("sakuin "):
            done = person.sakuin(*shlex.split(line)[1:])
            assert done.code == 0, done.err
        elif line.startswith("aws "):
            command, _, file = re.sub(r"\$\(out (\w+)\)", lambda name: BUCKETS[name[1]], line).partition(" > ")
            with redirect_stdout(io.StringIO()) as printed:
                aws(*shlex.split(command)[1:])
            if file:
                Path(file).write_text(printed.getvalue())


def indexed(database: Database, stand_in: str) -> tuple[TableWorld, str]:
    """A world with a Table that is ready, and its endpoint."""
    world = world_of(database, stand_in)
    world.call("add_member", project=world.project, member="11111111-1111-1111-1111-111111111111")
    endpoint = world.endpoint(world.tool(world.table(DOCUMENT), "/articles"))
    world.settle()
    assert world.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}
    return world, endpoint


def dumped() -> set[str]:
    """The tables of the small dump."""
    return set(re.findall(r"-t public\.(\w+)", shell("Take", "public.project_member")))


def rows(world: TableWorld, table: str) -> list[str]:
    return sorted(str(row) for (row,) in world.sql(f"select to_jsonb(t) from public.{table} t"))


def every_table(world: TableWorld) -> list[str]:
    of_ours = "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
    return [name for (name,) in world.sql(of_ours)]


def test_the_small_dump_has_every_table_that_nothing_else_can_restore(lost: Database, stand_in: str) -> None:
    world = world_of(lost, stand_in)
    derived = [table for tables in DERIVED.values() for table in tables]
    assert sorted([*dumped(), *derived]) == sorted(every_table(world))
    references = world.sql(
        "select conrelid::regclass::text, confrelid::regclass::text from pg_constraint "
        "where contype = 'f' and connamespace = 'public'::regnamespace"
    )
    assert [(of, to) for of, to in references if of in dumped() and to not in dumped()] == []


def test_a_small_dump_restores_the_records_and_the_rest_is_built_again(
    lost: Database, empty: Database, stand_in: str, tmp_path: Path
) -> None:
    world, endpoint = indexed(lost, stand_in)
    world.call("replace_synonyms", project=world.project, groups=stored_groups([("勾配", "傾き")]), analyzer="1")
    world.sql(f"insert into library_key (key_hash, name) values ('{'0' * 64}', 'class 3b')")
    before = {table: rows(world, table) for table in dumped()}
    assert before["project_synonyms"]
    (tmp_path / "backup").mkdir()
    done(shell("Take", "public.project_member"), tmp_path, lost)
    done("gzip backup/sakuin.sql", tmp_path, lost)

    done(shell("Restore the database", "psql"), tmp_path, empty)

    restored = world_of(empty, stand_in)
    restored.project = world.project
    after = {table: [row for row in rows(restored, table) if row in before[table]] for table in dumped()}
    assert after == before
    assert restored.found(endpoint, QUESTION) == set()
    for tool in (tool for (tool,) in restored.sql("select id::text from public.tool")):
        restored.call("reindex_tool", tool=tool)
    for (table,) in restored.sql("select id::text from public.context_table"):
        restored.queues.index(restored.project, table)
    restored.settle()
    assert restored.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}


def test_the_buckets_and_the_secret_are_restored_into_an_empty_account(
    lost: Database, empty: Database, stand_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with account(lost, secrets(SECRET, **keys_of(lost))) as person:
        person.file("pages/junior/解の公式.html")
        person.file(
            "pages/learns.yml", "解の公式: {rule-formula: [公式で解く方法, 係数の読み方, 解の確かめ方]}".encode()
        )
        assert person.sakuin("push", "pages").code == 0
        before = person.sakuin("read", "junior/解の公式#rule-formula", "--details", "--json").document
        world = world_of(lost, stand_in)
        world.bodies = S3Bucket(boto3.client("s3"), "tables")
        endpoint = uploaded(world, json.dumps(DOCUMENT).encode())
        done(shell("Take", "gzip"), tmp_path, lost)
        type_in(block("Take", "gzip"), person)

    done(shell("Restore the database", "psql"), tmp_path, empty)
    with mock_aws():
        for line in block("Restore the secrets", "create-secret"):
            aws(*shlex.split(line)[1:])
        manager, own = boto3.client("secretsmanager"), secrets(SECRET, **keys_of(empty))
        restored_secrets = {name: json.loads(manager.get_secret_value(SecretId=name)["SecretString"]) for name in own}
    assert restored_secrets == secrets(SECRET, **keys_of(lost))
    # Its database is another project now.
    for name, member in zip(own, ("supabase_service_key", "supabase_search_key"), strict=True):
        restored_secrets[name][member] = own[name][member]
    with account(empty, restored_secrets) as person:
        type_in(block("Restore the buckets", "sakuin push"), person)
        assert sorted(person.deployment.keys()) == ["junior/解の公式.html", "learns.yml"]
        assert person.sakuin("read", "junior/解の公式#rule-formula", "--details", "--json").document == before
        assert person.deployment.functions.openai.requests == []
        restored = world_of(empty, stand_in)
        restored.project = world.project
        restored.bodies = S3Bucket(boto3.client("s3"), "tables")
        for (table,) in restored.sql("select id::text from public.context_table"):
            restored.queues.index(restored.project, table)
        restored.settle()
        assert restored.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}


def uploaded(world: TableWorld, body: bytes) -> str:
    """Uploads the document of a Table through its bucket, and returns an endpoint that finds it."""
    table = world.call("create_table", project=world.project, name="t", data=None, chunk_threshold=200)["id"]
    upload = world.call("begin_upload", table=table, bytes=len(body))["upload"]
    key = f"tables/{world.project}/{table}/{upload}.json"
    boto3.client("s3").put_object(Bucket="tables", Key=key, Body=body)
    assert world.call("finish_upload", table=table, upload=upload, key=key, error=None, bytes=len(body))
    endpoint = world.endpoint(world.tool(table, "/articles"))
    world.queues.index(world.project, table)
    world.settle()
    assert world.found(endpoint, QUESTION) == {"/articles/0", "/articles/1"}
    return endpoint
