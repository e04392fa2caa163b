"""`KnowledgeIndex`: the fence of versions, vectors and results."""

import json
import unicodedata
from dataclasses import asdict, replace
from typing import Any

import httpx
import psycopg
import pytest
from sakuin.errors import Conflict, Unavailable
from sakuin.knowledge.model import EVERYTHING, AuthoredFile, KnowledgeChunk, LibraryCounts, PageChange, UploadResult
from sakuin.knowledge.postgres import KnowledgeIndex, written_words
from sakuin.knowledge.postgres_search import Question
from sakuin.language.model import IndexedWords, Slot
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.supabase.client import call
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion

from tests.builders import a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.embedder import vector_of
from tests.watched import watched

KEY = "m.html"
OTHER = PageIndexVersion(EmbeddingModel("another", 1536), TEXT_TEMPLATE, ANALYZER)


def test_a_material_never_heard_of_has_no_state(knowledge: Knowledge) -> None:
    assert knowledge.index.state("m") is None


def test_an_applied_version_is_searchable_and_its_state_says_so(knowledge: Knowledge) -> None:
    source = a_source(KEY, 10)
    applied = knowledge.apply(source, [a_chunk("m", "rule-a", "一"), a_chunk("m", "tip-b", "二", position=1)])

    state = knowledge.state()
    assert applied.outcome == "applied"
    assert (state.status, state.error, state.source) == ("ready", None, source)
    assert (state.generation, state.chunks_count) == (applied.generation, 2)
    assert (state.indexed_version_id, state.fingerprint) == (source.version_id, knowledge.version.id)
    assert state.indexed_at is not None
    assert knowledge.contents() == {"rule-a": "一", "tip-b": "二"}


def test_events_count_by_their_sequencers_whenever_they_come(knowledge: Knowledge) -> None:
    def page(number: int) -> dict[str, str]:
        return {"rule-a": str(number), **({"rule-gone": "一"} if number == 0x20 else {})} if number else {}

    for kind, number, outcome, found, status in (
        # A deletion that comes before its version keeps the version out.
        ("delete", 0x10, "applied", 0, "deleted"),
        ("put", 0x05, "superseded", 0, "deleted"),
        ("put", 0x20, "applied", 0x20, "ready"),
        ("put", 0x15, "superseded", 0x20, "ready"),
        ("delete", 0x16, "superseded", 0x20, "ready"),
        ("put", 0x30, "applied", 0x30, "ready"),
        # A version that cannot be read keeps the last good one searchable, and a readable one heals the material.
        ("fail", 0x40, "failed", 0x30, "failed"),
        # What is older than the failed version counts, and the newer failure stays known.
        ("put", 0x38, "applied", 0x38, "failed"),
        ("delete", 0x3A, "applied", 0, "failed"),
        ("put", 0x50, "applied", 0x50, "ready"),
        # A deleted material leaves a tombstone that no late version passes.
        ("delete", 0x70, "applied", 0, "deleted"),
        ("put", 0x60, "superseded", 0, "deleted"),
        ("put", 0x80, "applied", 0x80, "ready"),
    ):
        source = a_source(KEY, number)
        if kind == "put":
            done = knowledge.apply(source, [a_chunk("m", anchor, text) for anchor, text in page(number).items()])
        else:
            done = knowledge.delete(source) if kind == "delete" else knowledge.fail(source)
        state = knowledge.state()
        assert (done.outcome, knowledge.contents(), state.status) == (outcome, page(found), status), (kind, number)
        assert state.chunks_count == len(page(found))
        indexed = a_source(KEY, found).version_id if found else None
        assert (state.indexed_version_id, state.error) == (indexed, "not HTML" if status == "failed" else None)
        # The caller of a superseded version asks the bucket, and records the result itself.
        results = [
            (one.outcome, one.reason) for one in knowledge.records.upload_results([(KEY, source.version_id or "")])
        ]
        reason = "not HTML" if kind == "fail" else None
        assert results == ([] if outcome == "superseded" else [(outcome, reason)]), (kind, number)


def test_the_same_version_twice_is_a_conflict_unless_it_names_the_generation(knowledge: Knowledge) -> None:
    source, chunks = a_source(KEY, 10), [a_chunk("m", "rule-a", "一")]
    first = knowledge.apply(source, chunks)
    before = knowledge.generations()
    for expected in (None, 0, 99):
        second = knowledge.apply(source, [a_chunk("m", "rule-a", "違う")], expected_generation=expected)
        assert (second.outcome, second.generation) == ("conflict", first.generation), expected
    assert knowledge.contents() == {"rule-a": "一"}
    assert knowledge.apply(source, chunks, expected_generation=first.generation).outcome == "applied"
    assert knowledge.generations() == before


def test_a_change_without_an_upload_applies_only_to_what_was_read_and_is_there(knowledge: Knowledge) -> None:
    def change(content: str, expected: int | None) -> str:
        return knowledge.apply(None, [a_chunk("m", "rule-a", content)], expected_generation=expected).outcome

    assert change("古い", None) == "conflict"
    source = a_source(KEY, 10)
    first = knowledge.apply(source, [a_chunk("m", "rule-a", "一")])
    assert change("古い", first.generation - 1) == "conflict"
    assert change("二", first.generation) == "applied"
    state = knowledge.state()
    assert (state.source, state.indexed_version_id) == (source, source.version_id)
    assert knowledge.contents() == {"rule-a": "二"}
    gone = knowledge.delete(a_source(KEY, 20))
    assert (change("三", gone.generation), knowledge.contents()) == ("conflict", {})


def test_sequencers_of_different_length_are_compared_padded(knowledge: Knowledge) -> None:
    # As S3 sends them "0A" is newer than "09FF", though it is the smaller number.
    assert knowledge.apply(a_source(KEY, 0x0A0000), [a_chunk("m", "rule-a", "新")]).outcome == "applied"
    assert knowledge.apply(a_source(KEY, 0x09FF00), [a_chunk("m", "rule-a", "旧")]).outcome == "superseded"


def test_a_second_spelling_of_the_key_waits_until_the_first_goes(knowledge: Knowledge) -> None:
    nfc, nfd = "が.html", unicodedata.normalize("NFD", "が.html")
    first, second = a_source(nfc, 50), a_source(nfd, 5)
    knowledge.apply(first, [a_chunk("m", "rule-a", "一")])
    assert knowledge.apply(second, [a_chunk("m", "rule-a", "二")]).outcome == "waiting"
    assert knowledge.records.competing_keys() == [("m", nfd, nfc)]
    assert knowledge.contents() == {"rule-a": "一"}
    assert knowledge.records.upload_results([(nfd, second.version_id or "")])[0].outcome == "waiting"

    gone = knowledge.delete(a_source(nfc, 60))
    assert gone.next_owner == second
    assert knowledge.apply(gone.next_owner, [a_chunk("m", "rule-a", "二")]).outcome == "applied"
    assert knowledge.records.competing_keys() == []
    assert knowledge.contents() == {"rule-a": "二"}
    # The old owner's fence still stands, although it counts on its own.
    assert knowledge.apply(first, [a_chunk("m", "rule-a", "一")]).outcome == "superseded"
    assert knowledge.apply(a_source(nfc, 70), [a_chunk("m", "rule-a", "三")]).outcome == "waiting"


def test_the_key_that_waited_longest_is_the_successor_and_one_deleted_is_none(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("a", 1), [a_chunk("m", "rule-a", "一")])
    # Another version of a key waits for as long as its first one.
    for waits in (a_source("c", 1), a_source("b", 1), a_source("c", 2)):
        assert knowledge.apply(waits, [a_chunk("m", "rule-a", "二")]).outcome == "waiting"
    assert knowledge.delete(a_source("a", 2)).next_owner == a_source("c", 2)
    assert knowledge.delete(a_source("c", 3)).outcome == "applied"
    assert knowledge.apply(a_source("c", 2), [a_chunk("m", "rule-a", "二")]).outcome == "superseded"
    assert knowledge.delete(a_source("a", 2)).next_owner == a_source("b", 1)


def test_only_changed_chunks_are_written_again(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    def rows() -> dict[str, tuple[str, int]]:
        found = sql.execute("select anchor, xmin::text, generation from public.knowledge_chunks")
        return {anchor: (written_by, generation) for anchor, written_by, generation in found}

    knowledge.apply(a_source(KEY, 10), [a_chunk("m", "rule-a", "一"), a_chunk("m", "rule-b", "二", position=1)])
    before = rows()
    knowledge.apply(a_source(KEY, 20), [a_chunk("m", "rule-a", "一"), a_chunk("m", "rule-b", "新", position=1)])
    after = rows()
    assert after["rule-a"] == before["rule-a"]
    assert after["rule-b"][0] != before["rule-b"][0]
    assert after["rule-b"][1] > before["rule-b"][1]


def test_without_its_vectors_a_version_is_an_error_and_nothing_changes(knowledge: Knowledge) -> None:
    knowledge.apply(a_source(KEY, 10), [a_chunk("m", "rule-a", "一"), a_chunk("m", "rule-b", "二")])
    state, contents = knowledge.index.state("m"), knowledge.contents()
    with pytest.raises(Conflict):
        knowledge.index.apply(
            PageChange(
                "m", a_source(KEY, 20), chunks=[a_chunk("m", "rule-a", "新しい")], fingerprint=knowledge.version.id
            ),
            expected_generation=None,
        )
    assert knowledge.index.state("m") == state
    assert knowledge.contents() == contents
    assert knowledge.records.upload_results([(KEY, a_source(KEY, 20).version_id or "")]) == []


def test_a_page_of_1200_anchors_is_applied_and_listed_whole(knowledge: Knowledge) -> None:
    # PostgREST cuts answers at 1,000 rows without a word.
    chunks = [a_chunk("m", f"rule-{number}", "同じ", title="同じ", position=number) for number in range(1200)]
    assert knowledge.apply(a_source(KEY, 10), chunks).outcome == "applied"
    assert len(knowledge.records.indexed_materials(["m"])["m"]) == 1200
    assert knowledge.records.counts() == LibraryCounts({"ready": 1}, 1200, None)
    hashes = {f"{number:064d}" for number in range(1200)}
    assert knowledge.index.missing_vectors(hashes, knowledge.version) == hashes
    seen: list[str] = []
    after: tuple[str, int] | None = None
    has_more = True
    while has_more:
        concepts, has_more = knowledge.read.concepts(EVERYTHING, after, limit=500)
        seen += [item.anchor for item in concepts]
        after = (concepts[-1].material, concepts[-1].position)
    assert seen == [chunk.anchor for chunk in chunks]


def test_vectors_belong_to_a_model_and_a_recipe_and_twice_is_once(knowledge: Knowledge) -> None:
    chunks = [a_chunk("m", "rule-a", "一")]
    hashes = {*chunks[0].text_hashes, "0" * 64}
    knowledge.embed(chunks)
    knowledge.embed(chunks)
    assert knowledge.index.missing_vectors(hashes, knowledge.version) == {"0" * 64}
    assert knowledge.index.missing_vectors(hashes, OTHER) == hashes
    assert knowledge.index.missing_vectors([], knowledge.version) == set()
    knowledge.index.store_vectors({}, knowledge.version)


def test_a_vector_is_stored_once_and_outlives_its_text(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    def unused() -> set[str]:
        assert sql.execute("select count(*) from knowledge_vector").fetchall() == [(2,)]
        return {text for (name,) in sql.execute("select text_hash from unused_vector") for text in texts[name]}

    def apply(material: str, number: int, text: str) -> None:
        # Without new vectors: each text was embedded before.
        chunk = a_chunk(material, "rule-a", text)
        assert knowledge.index.missing_vectors(chunk.text_hashes, knowledge.version) == set()
        change = PageChange(material, a_source(material, number), chunks=[chunk], fingerprint=knowledge.version.id)
        assert knowledge.index.apply(change).outcome == "applied"

    chunks = {text: a_chunk("a", "rule-a", text) for text in ("一", "二")}
    texts = {chunk.text_hashes[0]: text for text, chunk in chunks.items()}
    knowledge.embed(list(chunks.values()))
    assert unused() == {"一", "二"}
    # No search finds a vector that is stored before its page.
    assert knowledge.search.matches(Question(vector_of("一"), (), knowledge.version, EVERYTHING, 5)) == []
    apply("a", 1, "一")
    assert unused() == {"二"}
    # Another page has the same text, then the first one has another, and the other one is deleted.
    apply("b", 1, "一")
    apply("a", 2, "二")
    knowledge.delete(a_source("b", 2), material="b")
    assert unused() == {"一"}
    apply("a", 3, "一")
    assert unused() == {"二"}


def test_a_result_can_be_left_for_a_version_that_changed_no_material(knowledge: Knowledge) -> None:
    file = a_source("learns.yml", 1, version="v1")
    knowledge.index.record_upload_result(file, "failed", "line 3")
    knowledge.index.record_upload_result(file, "applied")
    assert knowledge.records.upload_results([("learns.yml", "v1")]) == [
        UploadResult("learns.yml", "v1", "applied", None)
    ]


def test_the_pages_that_a_learns_file_has_to_do_with(knowledge: Knowledge) -> None:
    authored = a_chunk("junior/b", "rule-a").learns
    for material in ("junior/a", "junior/b", "junior/deep/c", "senior/a", "junior/z"):
        chunk = a_chunk(material, "rule-a", material)
        if material in ("junior/b", "senior/a"):
            chunk = a_chunk(material, "rule-a", material, learns=type(authored)(authored.items, "author", ("一",)))
        knowledge.apply(a_source(material, 1), [chunk], material=material)
    knowledge.delete(a_source("junior/z", 2), material="junior/z")

    def named_in(folder: str, *names: str) -> list[str]:
        file = AuthoredFile(f"{folder}learns.yml", "v1", folder, names)
        return sorted(knowledge.index.materials_named_in(file))

    assert named_in("junior/", "c", "junior/a", "z") == ["junior/a", "junior/b", "junior/deep/c"]
    assert named_in("") == ["junior/b", "senior/a"]
    assert named_in("juniorx/", "a") == []


def test_a_page_that_was_written_with_this_version_of_a_learns_file_is_left_out(knowledge: Knowledge) -> None:
    for number, files in enumerate(({"learns.yml": "v1"}, {"learns.yml": None}, {}), start=1):
        name = f"page{number}"
        knowledge.apply(a_source(name, 1), [a_chunk(name, "rule-a", "一")], material=name, learns_files=files)

    def named_in(version: str | None) -> list[str]:
        names = ("page1", "page2", "page3")
        return sorted(knowledge.index.materials_named_in(AuthoredFile("learns.yml", version, "", names)))

    assert named_in("v1") == ["page2", "page3"]
    assert named_in("v2") == ["page1", "page2", "page3"]
    assert named_in(None) == ["page1", "page3"]


def test_the_materials_built_with_another_fingerprint(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("a", 1), [a_chunk("a", "rule-a", "一")], material="a")
    knowledge.apply(a_source("b", 1), [a_chunk("b", "rule-a", "一")], material="b", fingerprint=OTHER)
    knowledge.fail(a_source("c", 1), "never readable", material="c")
    for version, outdated in ((knowledge.version, ["b"]), (OTHER, ["a"])):
        assert call(knowledge.index.client, "outdated_materials", {"p_fingerprint": version.id}) == outdated


def test_a_bucket_without_versions_leaves_no_result_and_is_fenced_all_the_same(knowledge: Knowledge) -> None:
    new, old = (replace(a_source(KEY, number), version_id=None) for number in (20, 10))
    assert knowledge.apply(new, [a_chunk("m", "rule-a", "新")]).outcome == "applied"
    assert knowledge.apply(old, [a_chunk("m", "rule-a", "旧")]).outcome == "superseded"
    assert knowledge.contents() == {"rule-a": "新"}


def a_long_page(version: int, count: int = 250) -> list[KnowledgeChunk]:
    """Explanations of ten words, of which five are those of every version."""
    return [
        a_chunk("m", f"rule-{number}", f"{version}番目の{number}", position=number, words=words_of(version, number))
        for number in range(count)
    ]


def words_of(version: int, number: int) -> IndexedWords:
    same = {f"語{number}の{place}": 0.5 for place in range(5)}
    return IndexedWords(same | {f"版{version}の{place}": 0.5 for place in range(5)}, frozenset())


def found_by(knowledge: Knowledge, version: int) -> set[str]:
    """The contents that the words of a version find."""
    slots = [Slot("word", (f"版{version}の0",))]
    question = Question(None, slots, knowledge.version, EVERYTHING, 50)
    return {match.content for match in knowledge.search.matches(question)}


@pytest.mark.parametrize("knowledge", ["postgres"], indirect=True)
def test_a_long_page_is_written_in_portions_and_becomes_current(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    requests: list[tuple[str, Any]] = []

    def record(name: str, response: httpx.Response) -> None:
        requests.append((name, json.loads(response.request.content)))

    long = replace(knowledge, index=KnowledgeIndex(knowledge.index.client, terms_per_request=500))
    knowledge.record(knowledge.version)
    for version in (1, 2):
        requests.clear()
        with watched(knowledge.index.client, record):
            assert long.apply(a_source(KEY, version), a_long_page(version)).outcome == "applied"
        *staged, (last, arguments) = [each for each in requests if each[0] in ("stage_words", "apply_material")]
        assert last == "apply_material"
        assert all(chunk.keys().isdisjoint({"terms", "impacts"}) for chunk in arguments["p_change"]["chunks"])
        terms = [sum(len(chunk["terms"]) for chunk in given["p_chunks"]) for _, given in staged]
        assert (len(terms), max(terms)) == (5, 500)
        # The rows that each transaction wrote.
        for table, most in (("knowledge_vector", 100), ("embedded_text", 250)):
            query = f"select count(*) from {table} group by xmin::text order by 1 desc limit 1"
            assert sql.execute(query.encode()).fetchall() == [(most,)], table
    assert len(found_by(knowledge, 2)) == 50
    assert found_by(knowledge, 1) == set()
    assert long.apply(a_source(KEY, 3), a_long_page(2)).outcome == "applied"
    assert sql.execute("select count(*), count(*) filter (where is_current) from chunk_words").fetchall() == [
        (250, 250)
    ]


def test_staged_words_are_seen_with_their_version_or_deleted(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    def stage(version: int, material: str = "m") -> dict[str, int]:
        words = [(chunk.id, written_words(chunk.words)) for chunk in a_long_page(version, 3)]
        chunks = [{"id": id, "terms": list(impacts), "impacts": list(impacts.values())} for id, impacts in words]
        source = {"bucket": "materials", "key": f"{material}.html"}
        return call(
            knowledge.index.client, "stage_words", {"p_material": material, "p_source": source, "p_chunks": chunks}
        )

    def swept() -> int:
        sql.execute("update chunk_words set changed_at = changed_at - interval '16 minutes'")
        return knowledge.index.sweep_words()

    knowledge.apply(a_source(KEY, 1), a_long_page(1, 3))
    first = {chunk.content for chunk in a_long_page(1, 3)}
    # A worker that dies here leaves what nobody sees; the next one continues with it.
    assert stage(2) == stage(2)
    assert (found_by(knowledge, 1), found_by(knowledge, 2), knowledge.index.sweep_words()) == (first, set(), 0)
    assert (swept(), swept()) == (3, 0)
    assert sql.execute("select count(*) from posting where term = '版2の0'").fetchall() == [(0,)]
    # Of two versions that are staged at once, each one finds its own words; so does a page that is not there yet.
    stage(2), stage(3), stage(1, "new")
    knowledge.apply(a_source(KEY, 3), a_long_page(3, 3))
    assert (found_by(knowledge, 1), len(found_by(knowledge, 3)), swept()) == (set(), 3, 3)
    knowledge.delete(a_source(KEY, 4))
    stage(3)
    assert (found_by(knowledge, 3), swept(), swept()) == (set(), 3, 0)
    assert sql.execute("select count(*) from posting").fetchall() == [(0,)]


def test_a_page_whose_staged_words_were_deleted_is_not_applied(knowledge: Knowledge) -> None:
    (chunk,) = a_long_page(1, 1)
    knowledge.apply(a_source(KEY, 1), [chunk])
    change = {
        **{"material": "m", "source": asdict(a_source(KEY, 2)), "deleted": False, "error": None},
        **{"fingerprint": knowledge.version.id, "learns_files": {}, "findings": []},
    }
    row = {name: value for name, value in asdict(chunk).items() if name not in ("words", "learns")}
    rows = [row | {"learns": chunk.learns.items, "learns_source": "rules", "words": 0}]
    arguments = {"p_change": change | {"chunks": rows}, "p_expected_generation": 1}
    with pytest.raises(Conflict, match="were deleted before it was applied"):
        call(knowledge.index.client, "apply_material", arguments)
    assert knowledge.state().source == a_source(KEY, 1)


def test_the_words_of_a_large_deleted_page_go_in_portions(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    words = IndexedWords({f"語{number}": 0.5 for number in range(25_000)}, frozenset())
    chunks = [a_chunk("m", f"rule-{number}", "同じ", words=words) for number in range(3)]
    knowledge.apply(a_source(KEY, 1), chunks)
    knowledge.delete(a_source(KEY, 2))
    assert knowledge.contents() == {}
    assert [knowledge.index.sweep_words() for _ in range(3)] == [2, 1, 0]
    assert sql.execute("select (select count(*) from posting), (select count(*) from chunk_words)").fetchall() == [
        (0, 0)
    ]


def test_a_statement_that_takes_too_long_is_no_outage(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    create = "create function material_counts() returns jsonb language plpgsql as $$ begin raise query_canceled; end $$"
    with sql.transaction():
        sql.execute("alter function material_counts() rename to counts_of_materials")
        sql.execute(create)
    try:
        with pytest.raises(Unavailable, match="time limit \\(57014\\)") as raised:
            knowledge.records.counts()
    finally:
        sql.execute("drop function material_counts(); alter function counts_of_materials() rename to material_counts")
    assert raised.value.vendor is None
