"""Emptying the database between tests."""

import psycopg
from psycopg import sql

# Rows that were deleted stay in a table's file, and an index over vectors goes on looking through them. Emptying the
# file takes as long as deleting hundreds of rows.
_FILLED = """
select c.relname, pg_relation_size(c.oid) > 65536 or exists (
  select from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am a on a.oid = x.relam
  where i.indrelid = c.oid and a.amname = 'hnsw')
from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and pg_relation_size(c.oid) > 0
"""


def emptied(connection: psycopg.Connection) -> None:
    """Deletes every row of the product's tables."""
    filled = connection.execute(_FILLED).fetchall()
    statements = [
        sql.SQL("truncate public.{} cascade" if whole_file else "delete from public.{}").format(sql.Identifier(name))
        for name, whole_file in filled
    ]
    # Every table is emptied: no trigger has anything to do, and no row refers to one that stays.
    replica = sql.SQL("set session_replication_role = replica")
    connection.execute(sql.SQL("; ").join([replica, *statements, sql.SQL("reset session_replication_role")]))
