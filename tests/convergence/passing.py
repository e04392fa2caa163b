"""Time passes over everything that maintenance looks at: what was written moves into the past."""

import psycopg

from tests.database_server import connection_to

# A little longer than the schedule waits before it calls a worker dead.
A_MINUTE, AN_HOUR, A_DAY = 65, 3600, 86_400

_WORK = tuple(
    b"update " + table + b" set work = work || jsonb_build_object('since', (work->>'since')::timestamptz - %(t)s,"
    b" 'until', (work->>'until')::timestamptz - %(t)s) where work ? 'since'"
    for table in (b"material", b"authored_file", b"context_table")
)
_TABLES = (
    b"update context_table set updated_at = updated_at - %(t)s",
    b"update table_scan set heartbeat_at = heartbeat_at - %(t)s, started_at = started_at - %(t)s",
    b"update chunk_vector set used_at = used_at - %(t)s",
    b"update tool set metadata = jsonb_set(metadata, '{search_index}', metadata->'search_index' || moved.status)"
    b" from (select o.id, jsonb_object_agg(e.key, e.value::timestamptz - %(t)s) as status"
    b"       from tool o cross join jsonb_each_text(o.metadata->'search_index') e"
    b"       where e.key in ('configured_at', 'heartbeat_at') and e.value is not null group by o.id) moved"
    b" where moved.id = tool.id",
)
_MATERIALS = (
    b"update material set updated_at = updated_at - %(t)s",
    b"update competing_key set since = since - %(t)s",
    b"update authored_file set applied_at = applied_at - %(t)s",
    b"update learns_cache set asked_at = asked_at - %(t)s, used_at = used_at - %(t)s",
    b"update chunk_words set changed_at = changed_at - %(t)s where not is_current",
    b"update unused_vector set unused_since = unused_since - %(t)s",
    b"update pending_learns set due_at = due_at - %(t)s, claimed_until = claimed_until - %(t)s",
)


def time_passes(sql: psycopg.Connection, seconds: int) -> None:
    """Moves all times of the database into the past."""
    _move(sql, seconds, *_WORK, *_TABLES, *_MATERIALS)


def work_ages(sql: psycopg.Connection, seconds: int) -> None:
    """Moves the times of work that waits into the past."""
    _move(sql, seconds, *_WORK)


def _move(sql: psycopg.Connection, seconds: int, *statements: bytes) -> None:
    # One request, and so one transaction.
    sql.execute(b"; ".join(statements).replace(b"%(t)s", b"make_interval(secs => %d)" % seconds))


def time_passes_in(dsn: str, seconds: int) -> None:
    """Moves all times of the database at this address."""
    time_passes(connection_to(dsn), seconds)
