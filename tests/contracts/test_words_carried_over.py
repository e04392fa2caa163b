"""An index from before there were impacts is found by words until its pages are applied again."""

import shutil
from pathlib import Path

import psycopg
from sakuin.adapters.supabase_client import connected
from sakuin.adapters.supabase_index import SupabaseIndex
from sakuin.adapters.supabase_search import SupabaseSearch
from sakuin.domain.knowledge import EVERYTHING
from sakuin.domain.language.question import Slot, WeightedTerm
from sakuin.ports.knowledge import Question
from sakuin_local.database import running_database
from sakuin_local.places import MIGRATIONS

from tests.in_memory.embedder import CALIBRATION, FINGERPRINT, vector_of

LAST_BEFORE = "20261122000003"
AN_OLD_INDEX = """
insert into index_fingerprint values
  ('old', 'characters', 1536, '', '', %(recipe)s, 'words/1'),
  ('older', 'characters', 1536, '', '', %(recipe)s, 'words/0');
insert into embedding_cache values
  ('old', 'h1', %(vector)s), ('older', 'h1', %(vector)s), ('older', 'h2', %(vector)s);
insert into material (material, bucket, key, sequencer, status, indexed_version_id, fingerprint, chunks_count)
values ('m', 'b', 'm.html', '1', 'ready', 'v', 'old', 2);
insert into knowledge_chunks values
  ('m#rule-a', 'm', 'rule-a', '公式', '公式の話', '{a,b,c}', 'written', null, 'rule', %(vector)s, null, null, '{}', 0,
   'c', 'h1', '{}', '{公式,話}', '{公式}', 'old', 1),
  ('m#rule-b', 'm', 'rule-b', '話', '公式の話', '{a,b,c}', 'written', null, 'rule', %(vector)s, null, null, '{}', 1,
   'c', 'h2', '{}', '{公式,話}', '{話}', 'old', 1);
"""


def test_old_terms_are_found_and_old_vectors_serve_every_analyzer(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for file in MIGRATIONS.glob("*.sql"):
        if file.stem.split("_")[0] <= LAST_BEFORE:
            shutil.copy(file, before)
    with (
        running_database(tmp_path / "data", before) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        vector = "[" + ",".join(map(str, vector_of("公式"))) + "]"
        given = {"vector": vector, "recipe": FINGERPRINT.recipe}
        psycopg.ClientCursor(sql).execute(f"set search_path = public, extensions; {AN_OLD_INDEX}", given)
    with running_database(tmp_path / "data") as database:
        client = connected(database.rest_url, database.service_key)
        asked = [Slot("word", (WeightedTerm("公式"),))]
        found = SupabaseSearch(client, CALIBRATION).matches(
            Question(vector_of("公式"), asked, FINGERPRINT, EVERYTHING, 5)
        )
        assert [match.anchor for match in found] == ["rule-a", "rule-b"]
        assert found[0].words > found[1].words > 0
        assert all(match.cosine is not None for match in found)
        index = SupabaseIndex(client)
        assert index.missing_vectors(["h1", "h2", "h3"], FINGERPRINT) == {"h3"}
        assert list(index.materials_built_otherwise(FINGERPRINT.id)) == ["m"]
