"""The names of namespaces and documents in the search engine."""

import re

from sakuin.errors import Invalid
from sakuin.tables.json_pointer import pointer_hash

# turbopuffer's own limits.
_NAMESPACE = re.compile(r"[A-Za-z0-9._-]{1,128}")

DOC_ID_BYTES = 64


_TABLE = re.compile(r"[0-9A-Za-z-]{8,}")

_HASH = re.compile(r"[0-9a-f]{16,}")


def namespace(project_id: str, table_id: str, fingerprint_suffix: str = "") -> str:
    """`project_{project_id}_table_{table_id}`, with `_{suffix}` for an index built beside it; at most 128 characters.

    Ids are UUIDs: without `_`, no two pairs share a namespace.
    """
    name = f"project_{project_id}_table_{table_id}" + (f"_{fingerprint_suffix}" if fingerprint_suffix else "")
    if "_" in project_id + table_id or not (project_id and table_id) or not _NAMESPACE.fullmatch(name):
        raise Invalid(f"{name[:200]!r} cannot name a namespace. Use UUIDs, and a suffix of letters, digits, '-', '.'.")
    return name


def doc_id(table_id: str, json_pointer: str, content_hash: str, chunk_index: int) -> str:
    """`{table, 8}_{sha of pointer, 16}_{content_hash, 16}_{chunk_index}`: one per chunk key, at most 64 bytes."""
    if not _TABLE.fullmatch(table_id) or not _HASH.fullmatch(content_hash) or chunk_index < 0:
        raise Invalid("A doc id needs a table's UUID, a SHA-256 in hex and an index of zero or more.")
    name = f"{table_id[:8]}_{pointer_hash(json_pointer)}_{content_hash[:16]}_{chunk_index}"
    if len(name) > DOC_ID_BYTES:
        raise Invalid(f"Chunk {chunk_index} is out of any text's range.")
    return name
