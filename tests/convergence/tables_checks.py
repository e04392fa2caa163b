"""Whether the index over Tables is what its oracle says: at every step what may never be broken, in the end all."""

import json
from collections import Counter
from typing import Any

from sakuin.language.indexing import index_words
from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.embed_chunks import counted_words
from sakuin.tables.nodes import namespace
from sakuin.tables.postgres import TableIndex
from sakuin.tables.scan import content_hash
from sakuin_local.turbopuffer.limits import Refused

from tests.convergence.tables_oracle import Piece, TablesOracle, below, pieces
from tests.convergence.tables_world import TablesWorld

_ANSWERING = """
  select n.fingerprint, n.table_id::text, t.project_id::text, n.json_pointer, n.content_hash,
    (select coalesce(jsonb_object_agg(c.turbopuffer_doc_id, c.chunk_text), '{}') from chunks c
     where c.table_id = n.table_id and c.fingerprint = n.fingerprint and c.pointer_hash = n.pointer_hash
       and c.content_hash = n.content_hash and c.turbopuffer_doc_id is not null)
  from node n join context_table t on t.id = n.table_id where n.content_hash is not null"""


def stored_texts(world: TablesWorld, name: str) -> dict[str, str] | None:
    """What the store itself holds of a namespace: text by doc id; None if there is no such namespace."""
    asked = {"rank_by": ["id", "asc"], "limit": 1000, "include_attributes": ["content"]}
    try:
        rows = world.backend.stand_in.query(name, asked)["rows"]
    except Refused:
        return None
    return {row["id"]: row["content"] for row in rows}


def check_always(world: TablesWorld, oracle: TablesOracle) -> None:
    """Fails unless each place answers with one whole version, in the database and in the store."""
    held: dict[str, dict[str, str]] = {}
    versions = {version.tables: version for version in world.kept()}
    for fingerprint, table, project, pointer, version, chunks in world.sql(_ANSWERING):
        texts = [text for text in oracle.ever.get((table, pointer), ()) if content_hash(text) == version]
        assert texts, f"{pointer} answers with a text that it never had"
        whole = {
            piece.doc_id: piece.text for piece in pieces(table, pointer, texts[0], versions[fingerprint].settings.cut)
        }
        assert chunks == whole, f"{pointer} answers with something else than one whole version"
        name = namespace(project, table, versions[fingerprint].suffix)
        if name not in held:
            held[name] = stored_texts(world, name) or {}
        lost = {id for id, text in whole.items() if held[name].get(id) != text}
        assert oracle.lost or not lost, f"{pointer} answers, and the store has not {sorted(lost)}"


def check_settled(world: TablesWorld, oracle: TablesOracle) -> None:
    """Fails unless the index contains exactly what the documents contain."""
    assert not world.sqs.messages, "messages wait"
    assert not world.sql("select event from outbox where sent_at is null"), "events wait"
    versions = world.kept()
    indexes = [TableIndex(world.client, version.settings.tables) for version in versions]
    assert not [index for index in indexes if index.stalled_tables(-1)], "stalled Tables"
    alive = {namespace(world.project, table, each.suffix) for table in oracle.documents for each in versions}
    kept = {name["id"] for name in world.backend.stand_in.listed("project_", "", 1000)["namespaces"]}
    assert kept <= alive, f"namespaces without a Table: {kept - alive}"
    of_gone = "select count(*) from chunks c where not c.table_id::text = any (%s)"
    assert world.sql(of_gone, list(oracle.documents)) == [(0,)], "chunks without a Table"
    _take_in_uploads(world, oracle)
    for table in oracle.documents:
        for version in versions:
            _check_table(world, oracle.of_table(table, version.settings.cut), table, version)
    for tool, fact in oracle.tools.items():
        if fact.enabled:
            _check_tool(world, oracle, tool)


def _take_in_uploads(world: TablesWorld, oracle: TablesOracle) -> None:
    """Lets the oracle know which uploads became documents; fails if one was processed and did not."""
    for table, key in world.sql("select id::text, data_key from context_table"):
        newest = oracle.newest.get(table)
        assert newest not in world.processed or key == newest, f"the upload {newest} is not the document of its Table"
        if key is not None:
            oracle.documents[table] = oracle.uploads[key]


def _check_table(world: TablesWorld, wanted: dict[str, Piece], table: str, version: StoredIndexVersion) -> None:
    texts = {id: piece.text for id, piece in wanted.items()}

    def rows_of(columns: str, name: str) -> list[Any]:
        return world.sql(
            f"select {columns} from {name} where table_id = %s and fingerprint = %s", table, version.tables
        )

    rows = rows_of("turbopuffer_doc_id, chunk_text, indexed_at is not null", "chunks")
    assert sorted(rows) == sorted((id, text, True) for id, text in texts.items()), "records"
    held = stored_texts(world, namespace(world.project, table, version.suffix)) or {}
    assert held == texts, f"in the store too much {held.keys() - texts.keys()}, missing {texts.keys() - held.keys()}"
    whole = {(piece.json_pointer, True, False) for piece in wanted.values()}
    assert set(rows_of("json_pointer, content_hash = wanted_hash, needs_sweep", "node")) == whole, "nodes"
    read = [index_words(title=piece.title, learns=(), body=piece.text) for piece in wanted.values()]
    said = Counter(word for each in read for word in counted_words(each, with_terms=True))
    words = rows_of("reading, written, chunks", "table_reading")
    counted = {(reading, form): count for reading, form, count in words}
    assert counted == said, "words"


def _check_tool(world: TablesWorld, oracle: TablesOracle, tool: str) -> None:
    status: dict[str, Any] = ProjectRecords(world.client).tool(None, tool).metadata["search_index"]
    wanted = oracle.status(tool)
    status["skipped_nodes"] = {node["json_pointer"] for node in status.get("skipped_nodes", ())}
    said = {name: status.get(name) for name in wanted}
    assert said == wanted, f"the status says {said}, and is {wanted}"
    if status["state"] in ("ready", "empty", "error"):
        events = [(each["DetailType"], json.loads(each["Detail"])) for each in world.bus.taken]
        told = {(name, detail["tool_id"], detail.get("generation")) for name, detail in events}
        kind = "ToolFailed" if status["state"] == "error" else "ToolReady"
        assert (kind, tool, status["generation"]) in told, f"no event says that the Tool is {status['state']}"
    hits, texts = found(world, tool), {id: piece.text for id, piece in oracle.of_tool(tool).items()}
    assert hits == texts, f"finds too much {hits.keys() - texts.keys()}, misses {texts.keys() - hits.keys()}"


def found(world: TablesWorld, tool: str) -> dict[str, str]:
    """What a Tool finds: text by doc id, of all candidates, whether they answer the question or not."""
    search = world.table_search()
    bound = next(each for each in world.bound(world.mcp).tools if each.id == tool)
    hits = search.explanation(world.mcp, bound, "説明").candidates
    assert len({hit.chunk.id for hit in hits}) == len(hits), "a chunk is found twice"
    assert all(below(hit.chunk.json_pointer, bound.json_path) for hit in hits), "out of scope"
    return {hit.chunk.turbopuffer_doc_id: hit.chunk.chunk_text for hit in hits}


def check_look(world: TablesWorld, oracle: TablesOracle, tool: str) -> None:
    """What an agent finds at any time: of each place one version that it had, whole, and nothing out of scope."""
    hits = found(world, tool)
    table = oracle.tools[tool].table
    allowed = [
        {piece.doc_id for piece in pieces(table, pointer, text)}
        for (owner, pointer), texts in oracle.ever.items()
        if owner == table
        for text in texts
    ]
    places: Counter[str] = Counter()
    for version in allowed:
        if version & hits.keys():
            assert oracle.lost or version <= hits.keys(), "a part of a version is found"
            places[sorted(version)[0].split("_")[1]] += 1
    assert hits.keys() <= set().union(*allowed)
    assert max(places.values(), default=0) <= 1, "two versions of one place are found"
