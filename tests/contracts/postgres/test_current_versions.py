"""`KnowledgeIndex.apply` with the version that the bucket holds now."""

from dataclasses import replace
from functools import partial

from sakuin.knowledge.model import BucketVersion, ChangeResult, PageChange, Source
from sakuin.language.model import LexiconLookup

from tests.builders import a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge

KEY = "m.html"
NO_OBJECT = BucketVersion(None)


def apply_current(knowledge: Knowledge, source: Source, content: str, *, seen: int | None) -> str:
    """Applies a page of one rule as the bucket's current version; returns the outcome."""
    bucket = BucketVersion(source.version_id)
    return knowledge.apply(source, [a_chunk("m", "rule-a", content)], expected_generation=seen, bucket=bucket).outcome


def apply_event(knowledge: Knowledge, source: Source, content: str) -> str:
    """Applies a page of one rule as its event does; returns the outcome."""
    return knowledge.apply(source, [a_chunk("m", "rule-a", content)]).outcome


def test_after_a_current_version_every_event_is_superseded(knowledge: Knowledge) -> None:
    apply_event(knowledge, a_source(KEY, 0x900), "旧")
    apply_current(knowledge, a_source(KEY, 0x10), "新", seen=knowledge.state().generation)
    for sequencer in (0x8, 0x10, 0x20, 0x900, 0xA00):
        before, late = knowledge.state(), a_source(KEY, sequencer, version=f"late {sequencer}")
        assert apply_event(knowledge, late, "遅い") == "superseded", sequencer
        assert knowledge.delete(late).outcome == knowledge.fail(late).outcome == "superseded", sequencer
        assert knowledge.state() == before, sequencer
        assert apply_current(knowledge, late, f"今{sequencer}", seen=before.generation) == "applied", sequencer
        assert knowledge.contents() == {"rule-a": f"今{sequencer}"}


def test_a_current_version_is_a_conflict_if_the_row_changed_since(knowledge: Knowledge) -> None:
    apply_event(knowledge, a_source(KEY, 0x900), "旧")
    before, current = knowledge.state(), a_source(KEY, 0x10)
    for seen in (None, 0, 99):
        assert apply_current(knowledge, current, "新", seen=seen) == "conflict", seen
        assert knowledge.delete(current, expected_generation=seen, bucket=NO_OBJECT).outcome == "conflict", seen
        bucket = BucketVersion(current.version_id)
        assert knowledge.fail(current, expected_generation=seen, bucket=bucket).outcome == "conflict", seen
    assert knowledge.state() == before


def test_an_unknown_page_is_applied_without_a_sequencer_and_its_event_is_superseded(knowledge: Knowledge) -> None:
    unknown = replace(a_source(KEY, 0x10), sequencer="")
    assert apply_current(knowledge, unknown, "一", seen=None) == "applied"
    assert apply_current(knowledge, unknown, "二", seen=None) == "conflict"
    assert apply_event(knowledge, a_source(KEY, 0x8), "古い") == "superseded"
    assert knowledge.contents() == {"rule-a": "一"}


def test_what_the_bucket_does_not_have_or_the_row_has_already_is_superseded_and_recorded(knowledge: Knowledge) -> None:
    def outcome(source: Source, bucket: str | None, *, deleted: bool = False) -> str:
        seen = {"expected_generation": knowledge.state().generation, "bucket": BucketVersion(bucket)}
        if deleted:
            return knowledge.delete(source, **seen).outcome
        return knowledge.apply(source, [a_chunk("m", "rule-a", "二")], **seen).outcome

    source = a_source(KEY, 0x10)
    apply_event(knowledge, source, "一")
    before, other = knowledge.state(), a_source(KEY, 0x20)
    for rejected in (outcome(source, source.version_id), outcome(other, "third"), outcome(other, None)):
        assert rejected == "superseded"
    assert outcome(replace(other, version_id=None), "third", deleted=True) == "superseded"
    assert knowledge.state() == before
    [recorded] = knowledge.records.upload_results([(KEY, str(other.version_id))])
    assert recorded.outcome == "superseded"
    gone = replace(other, version_id=None)
    assert (outcome(gone, None, deleted=True), outcome(gone, None, deleted=True)) == ("applied", "superseded")
    assert outcome(source, source.version_id) == "applied"


def test_without_a_sequencer_the_fence_stays(knowledge: Knowledge) -> None:
    apply_event(knowledge, a_source(KEY, 0x10), "一")
    unknown = replace(a_source(KEY, 0x20), sequencer="")
    assert apply_current(knowledge, unknown, "二", seen=knowledge.state().generation) == "applied"
    assert knowledge.state().source == replace(unknown, sequencer=a_source(KEY, 0x10).sequencer)


def test_another_key_waits_below_its_own_fence_and_replaces_a_deleted_owner(knowledge: Knowledge) -> None:
    apply_event(knowledge, a_source(KEY, 0x10), "一")
    apply_event(knowledge, a_source("n.html", 0x900), "二")
    other = a_source("n.html", 0x20)
    assert apply_event(knowledge, other, "三") == "superseded"
    assert apply_current(knowledge, other, "三", seen=knowledge.state().generation) == "waiting"
    gone = replace(a_source(KEY, 0x30), version_id=None, sequencer="")
    deleted = knowledge.delete(gone, expected_generation=knowledge.state().generation, bucket=NO_OBJECT)
    assert deleted.next_owner == other
    # The material's events no longer count: the next key has to compare with the bucket, too.
    assert apply_event(knowledge, other, "三") == "superseded"
    assert apply_current(knowledge, other, "三", seen=knowledge.state().generation) == "applied"
    assert (knowledge.contents(), knowledge.records.competing_keys()) == ({"rule-a": "三"}, [])


def test_synonyms_are_replaced_only_as_they_were_read(knowledge: Knowledge) -> None:
    key = "synonyms.yml"
    store = partial(knowledge.index.store_synonyms, key, "v1", "")
    for generation in range(2):
        assert knowledge.index.synonyms_generation(key) == generation
        assert not store([], expected_generation=generation + 1)
        assert store([("三平方", "ピタゴラス")], expected_generation=generation)
        assert not store([], expected_generation=generation)
    assert knowledge.lexicon.look_up("三平方", LexiconLookup(frozenset(), {})).synonyms


def test_the_same_page_keeps_its_chunks_and_is_a_conflict_if_the_row_has_another(knowledge: Knowledge) -> None:
    same = PageChange("m", a_source(KEY, 0x20), fingerprint=knowledge.version.id, page_hash="h")
    assert knowledge.index.apply(same) == ChangeResult("conflict", 0)
    chunks = [a_chunk("m", "rule-a", "一")]
    knowledge.embed(chunks)
    knowledge.index.apply(replace(same, source=a_source(KEY, 0x10), chunks=chunks))
    for _again in range(2):
        applied = knowledge.index.apply(same)
        assert (applied.outcome, applied.generation) == ("applied", knowledge.state().generation)
    assert (knowledge.contents(), knowledge.state().source) == ({"rule-a": "一"}, same.source)
    later = replace(same, source=a_source(KEY, 0x40))
    for other in ({"page_hash": "i"}, {"fingerprint": "f"}, {"source": a_source("n.html", 0x40)}):
        rejected = knowledge.index.apply(replace(later, **other))
        assert (rejected.outcome, knowledge.state().source) == ("conflict", same.source), other
    apply_event(knowledge, a_source(KEY, 0x30), "二")
    assert knowledge.index.apply(later).outcome == "conflict"
    assert (knowledge.contents(), knowledge.state().page_hash) == ({"rule-a": "二"}, None)
