"""The hash of an endpoint's key is made anew, and nothing else of the endpoint changes."""

from dataclasses import dataclass

import psycopg
import pytest
from sakuin.adapters.supabase_client import call
from sakuin.adapters.supabase_endpoint_keys import SupabaseEndpointKeys
from supabase import Client


@dataclass(frozen=True, slots=True)
class Kept:
    """An endpoint in the real database."""

    client: Client
    sql: psycopg.Connection
    id: str

    def hashes(self) -> list[str]:
        return list(call(self.client, "endpoint_of", {"p_mcp": self.id})["key_hashes"])

    def rehash(self, old: str, new: str) -> None:
        SupabaseEndpointKeys(self.client).rehash(self.id, old, new)

    def used_on(self, key_hash: str) -> str | None:
        found = self.sql.execute("select last_used_on::text from key_use where key_hash = %s", (key_hash,)).fetchone()
        return str(found[0]) if found else None


@pytest.fixture
def kept(service: Client, sql: psycopg.Connection) -> Kept:
    project = call(service, "create_project", {"p_name": "p", "p_user": None})["id"]
    asked = {"p_project": project, "p_user": None, "p_name": "e", "p_key_hash": "old", "p_tools": []}
    return Kept(service, sql, call(service, "create_mcp", asked)["id"])


def test_the_new_hash_takes_the_old_one_s_place_with_the_day_of_its_use(kept: Kept) -> None:
    kept.sql.execute("delete from key_use")
    kept.sql.execute("insert into key_use values ('old', '2026-11-20')")
    kept.rehash("old", "new")
    assert (kept.hashes(), kept.used_on("new"), kept.used_on("old")) == (["new"], "2026-11-20", None)
    kept.rehash("old", "newer")
    assert kept.hashes() == ["new"]


def test_a_key_in_its_overlap_is_rehashed_for_itself(kept: Kept) -> None:
    call(kept.client, "rotate_mcp", {"p_mcp": kept.id, "p_user": None, "p_key_hash": "next", "p_overlap_seconds": 60})
    kept.rehash("old", "new")
    assert kept.hashes() == ["next", "new"]


def test_another_endpoint_s_key_stays(kept: Kept, service: Client) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    SupabaseEndpointKeys(service).rehash(nobody, "old", "new")
    assert kept.hashes() == ["old"]
