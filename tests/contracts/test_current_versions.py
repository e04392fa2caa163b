"""What every `KnowledgeIndex` promises of a version that the bucket was seen to hold now."""

from dataclasses import replace

import pytest
from sakuin.knowledge.model import MaterialState, PageChange, Source

from tests.builders import a_chunk, a_source
from tests.contracts.conftest import Knowledge
from tests.doubles.embedder import FINGERPRINT

KEY = "m.html"


def state(knowledge: Knowledge) -> MaterialState:
    found = knowledge.index.state("m")
    assert found is not None
    return found


def held(knowledge: Knowledge, source: Source, content: str, *, seen: int | None) -> str:
    """Applies a page of one rule as what the bucket holds now; what came of it."""
    chunks = [a_chunk("m", "rule-a", content)]
    knowledge.embed(chunks)
    applied = knowledge.index.apply(
        PageChange("m", source, chunks=chunks, fingerprint=FINGERPRINT.id), expected_generation=seen, current=True
    )
    return applied.outcome


def come(knowledge: Knowledge, source: Source, content: str) -> str:
    """Applies a page of one rule as its event tells."""
    return knowledge.apply(source, [a_chunk("m", "rule-a", content)]).outcome


def test_what_the_bucket_holds_applies_below_the_fence_and_is_the_fence_from_then_on(knowledge: Knowledge) -> None:
    come(knowledge, a_source(KEY, 0x900), "旧")
    anew = a_source(KEY, 0x10)
    assert held(knowledge, anew, "新", seen=state(knowledge).generation) == "applied"
    assert (state(knowledge).source, state(knowledge).status) == (anew, "ready")
    assert state(knowledge).indexed_version_id == anew.version_id
    assert knowledge.contents() == {"rule-a": "新"}
    assert knowledge.records.upload_results([(KEY, anew.version_id or "")])[0].outcome == "applied"


@pytest.mark.parametrize("sequencer", [0x8, 0x10, 0x20, 0x900, 0xA00])
def test_no_event_passes_from_then_on_without_asking_the_bucket(knowledge: Knowledge, sequencer: int) -> None:
    come(knowledge, a_source(KEY, 0x900), "旧")
    held(knowledge, a_source(KEY, 0x10), "新", seen=state(knowledge).generation)
    before = state(knowledge)
    late = a_source(KEY, sequencer, version="late")
    assert come(knowledge, late, "遅い") == "superseded"
    assert knowledge.index.apply(PageChange("m", late, deleted=True)).outcome == "superseded"
    assert knowledge.index.apply(PageChange("m", late, error="not HTML")).outcome == "superseded"
    assert state(knowledge) == before
    assert held(knowledge, late, "今", seen=before.generation) == "applied"
    assert knowledge.contents() == {"rule-a": "今"}


@pytest.mark.parametrize("seen", [None, 0, 99])
def test_what_changed_since_the_look_is_a_conflict(knowledge: Knowledge, seen: int | None) -> None:
    come(knowledge, a_source(KEY, 0x900), "旧")
    before, anew = state(knowledge), a_source(KEY, 0x10)
    assert held(knowledge, anew, "新", seen=seen) == "conflict"
    assert (
        knowledge.index.apply(PageChange("m", anew, deleted=True), expected_generation=seen, current=True).outcome
        == "conflict"
    )
    assert (
        knowledge.index.apply(PageChange("m", anew, error="x"), expected_generation=seen, current=True).outcome
        == "conflict"
    )
    assert state(knowledge) == before


def test_a_page_never_heard_of_is_applied_without_a_sequencer_and_its_event_asks(knowledge: Knowledge) -> None:
    unknown = replace(a_source(KEY, 0x10), sequencer="")
    assert held(knowledge, unknown, "一", seen=None) == "applied"
    assert held(knowledge, unknown, "二", seen=None) == "conflict"
    assert come(knowledge, a_source(KEY, 0x8), "古い") == "superseded"
    assert knowledge.contents() == {"rule-a": "一"}


def test_without_a_sequencer_the_fence_stays(knowledge: Knowledge) -> None:
    come(knowledge, a_source(KEY, 0x10), "一")
    unknown = replace(a_source(KEY, 0x20), sequencer="")
    assert held(knowledge, unknown, "二", seen=state(knowledge).generation) == "applied"
    assert state(knowledge).source == replace(unknown, sequencer=a_source(KEY, 0x10).sequencer)


def test_an_empty_bucket_deletes_below_the_fence(knowledge: Knowledge) -> None:
    come(knowledge, a_source(KEY, 0x900), "旧")
    gone = a_source(KEY, 0x10, version="marker")
    deleted = knowledge.index.apply(
        PageChange("m", gone, deleted=True), expected_generation=state(knowledge).generation, current=True
    )
    assert (deleted.outcome, state(knowledge).status, knowledge.contents()) == ("applied", "deleted", {})
    assert come(knowledge, a_source(KEY, 0x900), "旧") == "superseded"
    assert held(knowledge, a_source(KEY, 0x20), "戻る", seen=deleted.generation) == "applied"
    assert knowledge.contents() == {"rule-a": "戻る"}


def test_an_unreadable_version_below_the_fence_keeps_the_last_good_one(knowledge: Knowledge) -> None:
    come(knowledge, a_source(KEY, 0x900), "旧")
    bad = a_source(KEY, 0x10)
    failed = knowledge.index.apply(
        PageChange("m", bad, error="x"), expected_generation=state(knowledge).generation, current=True
    )
    assert (failed.outcome, state(knowledge).status, state(knowledge).error) == ("failed", "failed", "x")
    assert knowledge.contents() == {"rule-a": "旧"}


def test_another_key_waits_below_its_own_fence_and_takes_over_from_one_that_is_gone(knowledge: Knowledge) -> None:
    come(knowledge, a_source(KEY, 0x10), "一")
    come(knowledge, a_source("n.html", 0x900), "二")
    anew = a_source("n.html", 0x20)
    assert come(knowledge, anew, "三") == "superseded"
    assert held(knowledge, anew, "三", seen=state(knowledge).generation) == "waiting"
    gone = replace(a_source(KEY, 0x30), version_id=None, sequencer="")
    deleted = knowledge.index.apply(
        PageChange("m", gone, deleted=True), expected_generation=state(knowledge).generation, current=True
    )
    assert deleted.next_owner == anew
    # The material's events no longer count: who comes next asks the bucket too.
    assert come(knowledge, anew, "三") == "superseded"
    assert held(knowledge, anew, "三", seen=state(knowledge).generation) == "applied"
    assert (knowledge.contents(), knowledge.records.competing_keys()) == ({"rule-a": "三"}, [])


def test_a_waiting_key_that_is_gone_waits_no_more(knowledge: Knowledge) -> None:
    come(knowledge, a_source(KEY, 0x10), "一")
    come(knowledge, a_source("n.html", 0x900), "二")
    gone = Source("materials", "n.html", None, "")
    done = knowledge.index.apply(
        PageChange("m", gone, deleted=True), expected_generation=state(knowledge).generation, current=True
    )
    assert (done.outcome, done.next_owner, knowledge.records.competing_keys()) == ("applied", None, [])
    assert knowledge.contents() == {"rule-a": "一"}
    assert come(knowledge, a_source(KEY, 0x20), "次") == "applied"


def test_the_list_of_synonyms_has_the_same_two_ways(knowledge: Knowledge) -> None:
    keep, key = knowledge.index.store_synonyms, "synonyms.yml"
    assert knowledge.index.synonyms_generation(key) is None
    assert keep(a_source(key, 0x900), [("三平方", "ピタゴラス")]) == "applied"
    anew, seen = a_source(key, 0x10), knowledge.index.synonyms_generation(key)
    assert keep(anew, [], expected_generation=None, current=True) == "conflict"
    assert keep(anew, [], expected_generation=seen, current=True) == "applied"
    assert keep(anew, [], expected_generation=seen, current=True) == "conflict"
    assert keep(a_source(key, 0x950), []) == "superseded"
