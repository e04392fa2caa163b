"""Text is ordered in the same way on every server, whatever order its database has by default."""

import psycopg

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
