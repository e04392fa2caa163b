"""`synonyms.yml`: of the whole library, and of a folder."""

from dataclasses import replace

import pytest
from sakuin.errors import Conflict
from sakuin.knowledge.messages import RecheckKey
from sakuin.knowledge.names import SYNONYMS_FILE, authored_file
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.language.questions.query_analysis import lexicon_lookup, synonyms_in
from sakuin_cli.site.uploads import uploads_of

from tests.worlds import World, Worlds

FILE = "- [速さの公式, みはじ, はじき]\n".encode()
OTHER = "- [速さの公式, 道のり速さ時間]\n".encode()


def same_as(world: World, phrase: str = "みはじ") -> tuple[str, ...]:
    """Returns the synonyms of a phrase in the index."""
    query = f"{phrase}の使い方"
    groups = world.lexicon.look_up(query, lexicon_lookup(query)).synonyms
    return synonyms_in(query, groups.get("", ())).get(phrase, ())


def test_an_uploaded_list_adds_synonyms(world: World) -> None:
    version = world.put("synonyms.yml", FILE)
    assert set(same_as(world)) == {"速さの公式", "はじき"}
    assert world.upload_result("synonyms.yml", version).outcome == "applied"


def test_only_a_file_in_the_library_counts(a_world: Worlds) -> None:
    world = a_world(prefix="site/")
    for key in ("synonyms.yml", "other/synonyms.yml", "site/my-synonyms.yml"):
        world.put(key, FILE)
    assert world.synonyms() == []
    world.put("site/synonyms.yml", FILE)
    assert same_as(world)


class Behind(KnowledgeIndex):
    """An index before any synonyms were stored."""

    def synonyms_generation(self, key: str) -> int:
        return 0


def test_what_another_worker_stored_meanwhile_stays_and_the_message_comes_again(world: World) -> None:
    world.put("synonyms.yml", FILE)
    world.bucket.write("synonyms.yml", OTHER)
    with pytest.raises(Conflict):
        replace(world.events, index=Behind(world.client)).process_event(RecheckKey(key="synonyms.yml"))
    assert same_as(world)
    world.settle()
    assert same_as(world) == ()


def test_a_broken_file_keeps_the_last_good_list_and_has_a_reason(world: World) -> None:
    world.put("synonyms.yml", FILE)
    broken = world.put("synonyms.yml", b"- [unclosed")
    assert same_as(world)
    result = world.upload_result("synonyms.yml", broken)
    assert (result.outcome, "line" in (result.reason or "")) == ("failed", True)


def test_skipped_entries_are_in_the_result_of_the_file(world: World) -> None:
    version = world.put("synonyms.yml", FILE + b"- [alone]\n")
    assert "two different phrases" in (world.upload_result("synonyms.yml", version).reason or "")


@pytest.mark.parametrize("prefix", ["", "site/"])
def test_push_takes_the_file_of_each_folder(prefix: str) -> None:
    places = [(f"a/{place}", place) for place in ("synonyms.yml", "junior/synonyms.yml", "junior/my-synonyms.yml")]
    uploads = uploads_of(places, material_prefix=prefix)
    assert [authored_file(file.key, prefix=prefix) for file in uploads.files] == [
        (SYNONYMS_FILE, "junior/"),
        (SYNONYMS_FILE, ""),
    ]
    assert [skipped.path for skipped in uploads.skipped] == ["a/junior/my-synonyms.yml"]
