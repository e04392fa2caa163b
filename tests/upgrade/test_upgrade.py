"""A database of 1.0 with pages, Tables, keys and an index that is being built is upgraded while searches answer."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sakuin.errors import Invalid
from sakuin.knowledge.messages import read_event
from sakuin.tables.messages import embed_message, tool_message
from sakuin_local.errors import LocalError
from sakuin_local.places import MIGRATIONS, REPOSITORY
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.migrations import apply_migrations

from tests.database_server import DatabaseServer
from tests.upgrade import released as released_program
from tests.upgrade.migrations import FIRST, await_reading, commits_of, schema_digest, state_of
from tests.upgrade.released import extended
from tests.upgrade.replay import Replay, missing, read_messages, read_sessions


@pytest.fixture
def old_database(database_server: DatabaseServer, tmp_path: Path) -> Iterator[Database]:
    """A database with the migrations of 1.0 alone."""
    released = tmp_path / "released"
    released.mkdir()
    shutil.copy(MIGRATIONS / f"{FIRST}.sql", released)
    with database_server.copy(tmp_path / "database", with_migrations=False) as running:
        apply_migrations(running.dsn_postgres, released)
        await_reading(running)
        yield running


@dataclass
class Released:
    """The program `released` over a database, which searches. `finish` ends that; it returns what it printed then."""

    program: subprocess.Popen[str]
    log: Path

    def finish(self) -> dict[str, Any]:
        answer, _ = self.program.communicate("\n", timeout=120)
        assert self.program.returncode == 0, self.log.read_text()
        result: dict[str, Any] = json.loads(answer)
        print("searches while and after the upgrade:", result)
        return result


@pytest.fixture
def released(old_database: Database, stand_in: str, tmp_path: Path) -> Iterator[Released]:
    """It serves a page, a Table and a key with the code of 1.0.0, and builds a second index of both."""
    program = [sys.executable, released_program.__file__, json.dumps(asdict(old_database)), stand_in]
    code = released_code(tmp_path / "code")
    path = {"PYTHONPATH": os.pathsep.join(str(code / each) for each in ("layers/sakuin", "local", "cli", ""))}
    log = tmp_path / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            program, env=os.environ | path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as running,
    ):
        try:
            assert running.stdout
            assert running.stdout.readline() == "searching\n", log.read_text()
            yield Released(running, log)
        finally:
            running.kill()


def released_code(folder: Path) -> Path:
    """Returns a folder with the code of the commit of the first migration; without its history, that of today."""
    commits = commits_of(FIRST)
    if not commits:
        return REPOSITORY
    folder.mkdir()
    archive = ["git", "-C", str(REPOSITORY), "archive", commits[0]]
    with subprocess.Popen(archive, stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "-x", "-C", str(folder)], stdin=packed.stdout, check=True)
    return folder


def test_searches_answer_while_a_migration_is_applied_and_work_goes_on(
    released: Released, old_database: Database, tmp_path: Path
) -> None:
    states = [state_of(old_database)]
    print("applied:", *apply_migrations(old_database.dsn_postgres, MIGRATIONS))
    states.append(state_of(old_database))
    result = released.finish()
    assert result["searches"] > 8
    assert (result["failures"], result["built"], result["indexed"]) == ([], [True, True], ["rule-circle"])
    later = Path(shutil.copytree(MIGRATIONS, tmp_path / "later"))
    (later / "29990101000000_later.sql").write_text("alter table public.material add column later text")
    apply_migrations(old_database.dsn_postgres, later)
    assert [*states, state_of(old_database)] == ["older", "current", "newer"]


def test_a_migration_that_fails_leaves_the_version_before_working(
    released: Released, old_database: Database, tmp_path: Path
) -> None:
    before = schema_digest(old_database.dsn)
    broken = tmp_path / "released" / "29990102000000_broken.sql"
    broken.write_text("drop function public.search_candidates; alter table public.material add column x nothing;")
    with pytest.raises(LocalError, match="29990102000000_broken failed"):
        apply_migrations(old_database.dsn_postgres, broken.parent)
    assert (released.finish()["failures"], schema_digest(old_database.dsn)) == ([], before)


# ---------------------------------------------------------------- what 1.0 recorded


def test_the_calls_of_released_versions_get_the_answers_that_it_reads(
    database: Database, sql: psycopg.Connection
) -> None:
    sessions, replay = read_sessions(), Replay(database.rest_url, database.service_key, sql)
    assert len({call.path for session in sessions for call in session}) > 100
    assert [difference for session in sessions for difference in replay.differences(session)] == []


def test_the_messages_of_released_versions_are_read_with_and_without_new_members() -> None:
    messages = read_messages()
    readers = {reader: [body for body in messages if is_read(reader, body)] for reader in READERS}
    assert all(readers.values())
    assert sum(map(len, readers.values())) == len(messages)
    for reader, bodies in readers.items():
        assert [body for body in bodies if not is_read(reader, extended(body))] == []


READERS: tuple[Callable[[Mapping[str, Any]], object], ...] = (read_event, tool_message, embed_message)


def is_read(reader: Callable[[Mapping[str, Any]], object], body: Mapping[str, Any]) -> bool:
    try:
        return reader(body) is not None
    except Invalid:
        return False


def test_what_an_answer_lacks_is_named() -> None:
    recorded, answer = {"a": 1, "b": [{"c": "x"}, {"c": "y"}], "d": None}, {"b": [{"c": 1, "more": 2}]}
    assert [*missing(recorded, answer)] == [
        "the answer has no a",
        "the answer.b has 1 elements instead of 2",
        "the answer.b[0].c is number instead of str",
        "the answer has no d",
    ]
