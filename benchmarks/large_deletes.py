"""How long deleting a large Table takes in Postgres: its request, and each portion that maintenance deletes.

A Table with so many chunks of a kilobyte, one string for five of them, and so many vectors of its project.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import LiteralString

import psycopg
from psycopg import sql as composed
from psycopg.types.json import Jsonb
from sakuin.upkeep.maintain import ROWS_PER_PORTION
from sakuin_local.supabase.database import running_database

CHUNKS_A_STRING = 5
# Words that a chunk counts in its Table, and how many different ones there are.
READINGS, ALL_READINGS = 60, 20_000
FILL: tuple[LiteralString, ...] = (
    """insert into node (table_id, fingerprint, pointer_hash, json_pointer, content_hash, generation, wanted_hash,
                         wanted_generation, wanted_chunks)
       select t.id, 'f', md5('p' || n), '/a/' || n, md5('c' || n), 1, md5('c' || n), 1, {chunks_a_string}
       from context_table t, generate_series(0, {count} / {chunks_a_string} - 1) n""",
    """insert into table_object (table_id, pointer_hash, json_pointer, fields, fields_hash)
       select t.id, md5('p' || n), '/a/' || n, '{{"title": "a short field"}}', md5('f' || n)
       from context_table t, generate_series(0, {count} / {chunks_a_string} - 1) n""",
    """insert into table_reading (table_id, fingerprint, reading, written, chunks)
       select t.id, 'f', 'r' || n, 'w' || n, {count} from context_table t, generate_series(1, {all_readings}) n""",
    """insert into chunks (table_id, fingerprint, pointer_hash, json_pointer, content_hash, chunk_index, total_chunks,
                           chunk_text, char_start, char_end, turbopuffer_namespace, turbopuffer_doc_id, indexed_at,
                           readings)
       select t.id, 'f', md5('p' || n / {chunks_a_string}), '/a/' || n / {chunks_a_string},
              md5('c' || n / {chunks_a_string}), n % {chunks_a_string}, {chunks_a_string},
              left(repeat(md5('t' || n), 32), 1000), 0, 1000, 'project_x_table_y', md5('d' || n), now(),
              array(select 1 + (n::bigint * 7919 + i * 104729) % {all_readings} from generate_series(1, {readings}) i)
       from context_table t, generate_series(0, {count} - 1) n""",
    """insert into chunk_vector (project_id, space, text_hash, embedding)
       select p.id, 's', md5('v' || n), v.embedding
       from project p
       cross join (select array_agg(sin(i))::halfvec(1536) as embedding from generate_series(1, 1536) i) v
       cross join generate_series(0, {count} - 1) n""",
)


def main(count: int, *, version_only: bool) -> None:
    """Prints seconds. `version_only`: the Table stays, and its index version is deleted, whose words are counted."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder, "data")) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        sql.execute("set search_path = public, extensions")
        sql.execute("set role service_role")
        (project,) = sql.execute("select create_project('p')->>'id'").fetchall()[0]
        (table,) = sql.execute("select create_table(%s, 't', '{}')->>'id'", [project]).fetchall()[0]
        sql.execute("reset role")
        sql.execute("insert into table_scan (table_id, fingerprint, generation) values (%s, 'f', 1)", [table])
        values = {
            "count": count,
            "chunks_a_string": CHUNKS_A_STRING,
            "readings": READINGS,
            "all_readings": ALL_READINGS,
        }
        for statement in FILL:
            sql.execute(
                composed.SQL(statement).format(**{key: composed.Literal(value) for key, value in values.items()})
            )
        sql.execute("vacuum analyze")
        print(f"{count:,} chunks with as many vectors, portions of {ROWS_PER_PORTION:,}")
        sql.execute("set role service_role")
        if version_only:
            # A recorded version that is another one: nobody keeps this one.
            _record_another_version(sql)
            _print_portions("the index version", sql, "select nullif(delete_table_index(%s, 'f', %s), 0)", table)
            return
        _print_request("deleting the Table", sql, "select delete_table(%s)", table)
        _print_portions("the Table", sql, "select nullif((delete_portion(%s)->>'rows')::bigint, 0)")
        _print_request("deleting the project", sql, "select delete_project(%s)", project)
        _print_portions("the project", sql, "select nullif((delete_portion(%s)->>'rows')::bigint, 0)")


def _record_another_version(sql: psycopg.Connection) -> None:
    names = (
        "fingerprint",
        "space",
        "model",
        "query_prefix",
        "passage_prefix",
        "text_template",
        "analyzer",
        "vocabulary",
    )
    knowledge = {**dict.fromkeys(names, "g"), "dimensions": 1536}
    version = {"fingerprint": "g", "parts": {}, "knowledge": knowledge, "tables": "g", "table_space": "g"}
    sql.execute("select record_index_version(%s)", [Jsonb(version)])


def _print_request(name: str, sql: psycopg.Connection, query: LiteralString, argument: object) -> None:
    began = perf_counter()
    sql.execute(query, [argument])
    print(f"{name}: {perf_counter() - began:.3f} s")


def _print_portions(name: str, sql: psycopg.Connection, query: LiteralString, *arguments: object) -> None:
    times = []
    rows = -1
    while rows is not None:
        began = perf_counter()
        (rows,) = sql.execute(query, [*arguments, ROWS_PER_PORTION]).fetchall()[0]
        times.append(perf_counter() - began)
    print(f"{name}: {len(times)} portions, {sum(times):.1f} s; median {median(times):.3f} s, worst {max(times):.3f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, version_only="--version" in sys.argv)
