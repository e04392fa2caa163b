"""Whatever order events come in, however often: the index ends where the bucket is."""

from dataclasses import dataclass, replace

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sakuin.domain.material_version import Applied, Source

from tests.builders import a_chunk, a_source
from tests.contracts.conftest import Knowledge, in_memory
from tests.effort import times
from tests.emptied import emptied
from tests.in_memory.embedder import FINGERPRINT

TOLD = ("put", "put", "fail", "delete")
SEEN = ("held put", "held put unknown", "held fail", "held delete")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a key: a readable version, an unreadable one, or a deletion."""

    kind: str
    source: Source

    def happen(self, knowledge: Knowledge) -> Applied:
        """Tells the index, as ApplyPage does: it looks, then applies."""
        if self.kind.startswith("held "):
            return self._held(knowledge)
        if self.kind == "delete":
            return knowledge.index.delete("m", self.source)
        if self.kind == "fail":
            return knowledge.index.fail("m", self.source, f"unreadable: {self.source.version_id}")
        state = knowledge.index.state("m")
        chunks = [a_chunk("m", "rule-a", str(self.source.version_id))]
        return knowledge.apply(self.source, chunks, expected=state.generation if state else None)

    def _held(self, knowledge: Knowledge) -> Applied:
        """Tells the index what the bucket holds now, in spite of all sequencers."""
        state = knowledge.index.state("m")
        generation = state.generation if state else None
        source = self.source if self.kind != "held put unknown" else replace(self.source, sequencer="")
        if self.kind == "held delete":
            return knowledge.index.delete("m", source, expected_generation=generation, current=True)
        if self.kind == "held fail":
            return knowledge.index.fail("m", source, "unreadable", expected_generation=generation, current=True)
        chunks = [a_chunk("m", "rule-a", str(source.version_id))]
        knowledge.embed(chunks)
        return knowledge.index.apply(
            "m", source, chunks, fingerprint=FINGERPRINT.id, expected_generation=generation, current=True
        )


@st.composite
def histories(draw: st.DrawFn, *, keys: tuple[str, ...], kinds: tuple[str, ...]) -> list[Event]:
    """What happened, in order; sequencers of one key rise."""
    happened = draw(st.lists(st.tuples(st.sampled_from(kinds), st.sampled_from(keys)), max_size=6))
    return [Event(kind, a_source(key, 16 * number + 16)) for number, (kind, key) in enumerate(happened)]


@st.composite
def schedules(
    draw: st.DrawFn, *, keys: tuple[str, ...], kinds: tuple[str, ...] = TOLD
) -> tuple[list[Event], list[Event]]:
    """A history, and one way in which S3 may tell of it: shuffled, some events twice."""
    history = draw(histories(keys=keys, kinds=kinds))
    doubled = history + draw(st.lists(st.sampled_from(history), max_size=3) if history else st.just([]))
    return history, draw(st.permutations(doubled))


def ending(knowledge: Knowledge, events: list[Event]) -> object:
    """What there is to see afterwards; generations count changes, so they are left out."""
    for event in events:
        event.happen(knowledge)
    state = knowledge.index.state("m")
    seen = (state.status, state.error, state.source, state.indexed_version_id) if state else None
    return seen, knowledge.contents()


@given(schedules(keys=("m.html",)))
@settings(max_examples=times(100))
def test_any_schedule_of_one_key_ends_as_in_order(schedule: tuple[list[Event], list[Event]]) -> None:
    history, told = schedule
    assert ending(in_memory(), told) == ending(in_memory(), history)


@pytest.mark.parametrize("kinds", [TOLD, TOLD + SEEN], ids=["told", "seen"])
@pytest.mark.parametrize("keys", [("m.html",), ("m.html", "n.html")])
def test_the_database_does_what_the_oracle_does(
    keys: tuple[str, ...], kinds: tuple[str, ...], supabase: Knowledge, sql: psycopg.Connection
) -> None:
    @given(schedules(keys=keys, kinds=kinds))
    @settings(max_examples=times(15), suppress_health_check=list(HealthCheck))
    def agrees(schedule: tuple[list[Event], list[Event]]) -> None:
        emptied(sql)
        memory = in_memory()
        for event in schedule[1]:
            assert event.happen(supabase) == event.happen(memory), event
        assert supabase.records.waiting() == memory.records.waiting()
        assert ending(supabase, []) == ending(memory, [])

    agrees()
