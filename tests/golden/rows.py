"""The rows that the samples leave in Postgres, read with SQL.

The only file that knows names of tables and columns: whoever renames one adapts its query here. The recorded form of a
row stays: its name, and the members of the object beside it.
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.golden.deployment import Deployment
from tests.golden.files import Entries
from tests.golden.searches import digest

# Each gives rows of a name and a JSON object. What is random or a moment in time is left out, and so is the page of the
# canary, which comes and goes every few minutes.
QUERIES = {
    "material": """
        select material, jsonb_build_object('key', key, 'status', status, 'error', error, 'generation', generation,
          'chunks', chunks_count, 'current', indexed_version_id = version_id)
        from material where not starts_with(material, '_sakuin/')""",
    "upload": """
        select key, jsonb_agg(jsonb_build_object('outcome', outcome, 'reason', reason)) from upload_result
        where not starts_with(key, '_sakuin/') group by key""",
    "chunk": """
        select id, jsonb_build_object('title', title, 'type', type, 'position', position, 'generation', generation,
          'learns_source', learns_source, 'content_hash', left(content_hash, 12),
          'rest', jsonb_build_array(category, level, prerequisites, content, learns, learns_given, illustrates))
        from knowledge_chunks""",
    "words": """
        select w.id, jsonb_build_object('terms', count(*), 'rest', jsonb_agg(jsonb_build_array(p.term, p.impact)
          order by p.term collate "C"))
        from (select term, unnest(chunks) as chunk, unnest(impacts) as impact from posting) p
        join chunk_words w on w.number = p.chunk group by w.id""",
    "vector": """
        select id, jsonb_build_object('vector', embedding::text) from knowledge_vector""",
    "reading": """
        select left(reading, 1), jsonb_build_object('readings', count(*), 'rest', jsonb_agg(jsonb_build_array(
          reading, written, sound) order by reading collate "C", written collate "C"))
        from reading group by 1""",
    "node": """
        select n.json_pointer, jsonb_build_object('content_hash', left(n.content_hash, 12), 'chunks', n.wanted_chunks,
          'current', n.content_hash = n.wanted_hash, 'refused', n.refused_reason)
        from node n""",
    "table chunk": """
        select json_pointer || ' ' || chunk_index, jsonb_build_object('total', total_chunks, 'from', char_start,
          'to', char_end, 'stored', indexed_at is not null and turbopuffer_doc_id is not null,
          'readings', cardinality(readings), 'rest', chunk_text)
        from chunks""",
    "table vector": """
        select text_hash, jsonb_build_object('vector', embedding::text) from chunk_vector""",
    "table reading": """
        select left(reading, 1), jsonb_build_object('readings', count(*), 'rest', jsonb_agg(jsonb_build_array(
          reading, written, sound, chunks) order by reading collate "C", written collate "C"))
        from table_reading group by 1""",
    "table": """
        select name, jsonb_build_object('version', version, 'skipped', coalesce(s.skipped_nodes, '[]'),
          'error', import_error, 'rest', data)
        from context_table t left join table_scan s on s.table_id = t.id and s.fingerprint = t.shown_fingerprint""",
    "tool": """
        select name, jsonb_build_object('json_path', json_path, 'type', type, 'enabled', enabled, 'version', version,
          'input_schema', input_schema, 'rest', description) from tool""",
    "endpoint": """
        select m.name, jsonb_build_object('status', m.status, 'tools', (
          select jsonb_agg(jsonb_build_array(t.name, b.status)) from mcp_binding b join tool t on t.id = b.tool_id
          where b.mcp_id = m.id)) from mcp m""",
    "project": """
        select name, jsonb_build_object('members', (select count(*) from project_member m where m.project_id = p.id))
        from project p""",
    "event": """
        select event, jsonb_build_object('times', count(*), 'sent', bool_and(sent_at is not null))
        from outbox group by event""",
    "index": "select fingerprint, jsonb_build_object('parts', parts, 'live', live) from index_version",
}
# Each component of a vector is in one of so many sums, so that a vector is a few numbers that have a tolerance. Its
# text would be longer, and a hash would not forgive the last digit of a float.
_SUMS = 6


def rows(deployment: Deployment) -> Entries:
    """Reads every row, by the name of its query and its own."""
    entries: Entries = {}
    with deployment.sql() as connection:
        for kind, query in QUERIES.items():
            found = connection.execute(query.encode()).fetchall()
            entries |= {f"{kind} {name}": _digested(row) for name, row in sorted(found)}
    return entries


def _digested(row: Mapping[str, Any]) -> Any:
    if "vector" in row:
        return {**row, "vector": _sums(json.loads(row["vector"]))}
    return {**row, "rest": digest(row["rest"])} if "rest" in row else row


def _sums(vector: list[float]) -> list[float]:
    return [round(sum(vector[first::_SUMS]), 4) for first in range(_SUMS)]
