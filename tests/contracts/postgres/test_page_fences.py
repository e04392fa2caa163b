"""Events in any order, with repetitions: the index ends where the bucket is, and each outcome is true."""

import itertools
from dataclasses import dataclass, field, replace

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sakuin.knowledge.model import ChangeResult, KnowledgeChunk, PageChange, Source

from tests.builders import a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge
from tests.effort import times

KEYS = ("m.html", "n.html")
EVENTS = ("put", "put", "fail", "delete")
SEEN = ("held put", "held put unknown", "held fail", "held delete")
_NUMBERS = itertools.count()
_SEEN = """
select key, sequencer, version_id, status, error, indexed_version_id,
  (select array_agg(anchor || ': ' || content order by anchor) from public.knowledge_chunks c
   where c.material = m.material),
  (select array_agg(w.key order by w.key) from public.competing_key w where w.material = m.material and not w.deleted)
from public.material m where material = %s
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """The visible state of a material, without generations and times."""

    key: str | None = None
    sequencer: str = ""
    version_id: str | None = None
    status: str = ""
    error: str | None = None
    indexed_version_id: str | None = None
    contents: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a key: a readable version, an unreadable one, or a deletion."""

    kind: str
    source: Source


@dataclass(frozen=True, slots=True)
class Page:
    """A new material."""

    knowledge: Knowledge
    sql: psycopg.Connection
    material: str

    def apply(self, event: Event) -> ChangeResult:
        """Applies an event, or with a kind of SEEN the bucket's current version, as IndexPage does."""
        source, current = self._source(event), event.kind in SEEN
        if event.kind == "held put unknown":
            source = replace(source, sequencer="")
        seen = {"expected_generation": self._look(), "current": True} if current else {}
        if event.kind.endswith("delete"):
            return self.knowledge.delete(source, material=self.material, **seen)
        if event.kind.endswith("fail"):
            return self.knowledge.fail(source, f"unreadable: {source.version_id}", material=self.material, **seen)
        fingerprint = self.knowledge.version.id
        change = PageChange(self.material, source, chunks=[self._chunk(source)], fingerprint=fingerprint)
        return self.knowledge.index.apply(change, expected_generation=self._look(), current=current)

    def seen(self) -> Seen:
        row = self.sql.execute(_SEEN, [self.material]).fetchone()
        if row is None:
            return Seen()
        key, *fields, contents, waiting = row
        return Seen(self._name(key), *fields, tuple(contents or ()), tuple(map(self._name, waiting or ())))

    def _name(self, key: str) -> str:
        """The key without the folder of its page."""
        return key.removeprefix(f"{self.material}/")

    def _source(self, event: Event) -> Source:
        return replace(event.source, key=f"{self.material}/{event.source.key}")

    def _chunk(self, source: Source) -> KnowledgeChunk:
        return a_chunk(self.material, "rule-a", str(source.version_id))

    def _look(self) -> int | None:
        state = self.knowledge.index.state(self.material)
        return state.generation if state else None


@dataclass(frozen=True, slots=True)
class Pages:
    """Makes independent materials; all their texts are embedded."""

    knowledge: Knowledge
    sql: psycopg.Connection

    def page(self) -> Page:
        return Page(self.knowledge, self.sql, f"page-{next(_NUMBERS)}")

    def ending(self, events: list[Event]) -> Seen:
        """The visible state of a new page after these events."""
        page = self.page()
        for event in events:
            page.apply(event)
        return page.seen()


@pytest.fixture
def pages(knowledge: Knowledge, sql: psycopg.Connection) -> Pages:
    versions = [str(a_source(key, 16 * number).version_id) for key in KEYS for number in range(1, 7)]
    knowledge.embed([a_chunk("m", "rule-a", version) for version in versions])
    return Pages(knowledge, sql)


@st.composite
def histories(draw: st.DrawFn, *, keys: tuple[str, ...], kinds: tuple[str, ...]) -> list[Event]:
    """Changes in order; the sequencers of one key rise."""
    happened = draw(st.lists(st.tuples(st.sampled_from(kinds), st.sampled_from(keys)), max_size=6))
    return [Event(kind, a_source(key, 16 * number + 16)) for number, (kind, key) in enumerate(happened)]


@st.composite
def schedules(
    draw: st.DrawFn, *, keys: tuple[str, ...], kinds: tuple[str, ...] = EVENTS
) -> tuple[list[Event], list[Event]]:
    """A history and its events as S3 may send them: shuffled, some twice."""
    history = draw(histories(keys=keys, kinds=kinds))
    doubled = history + draw(st.lists(st.sampled_from(history), max_size=3) if history else st.just([]))
    return history, draw(st.permutations(doubled))


def test_any_schedule_of_one_key_ends_as_in_order(pages: Pages) -> None:
    @given(schedules(keys=KEYS[:1]))
    @settings(max_examples=times(20), suppress_health_check=list(HealthCheck))
    def ends_so(schedule: tuple[list[Event], list[Event]]) -> None:
        history, told = schedule
        assert pages.ending(told) == pages.ending(history)

    ends_so()


@pytest.mark.parametrize("kinds", [EVENTS, EVENTS + SEEN], ids=["events", "current versions"])
def test_each_outcome_says_what_happened(kinds: tuple[str, ...], pages: Pages) -> None:
    @given(schedules(keys=KEYS, kinds=kinds))
    @settings(max_examples=times(25), suppress_health_check=list(HealthCheck))
    def holds(schedule: tuple[list[Event], list[Event]]) -> None:
        page, fences = pages.page(), Fences()
        after = page.seen()
        for event in schedule[1]:
            before, applied = after, page.apply(event)
            after = page.seen()
            is_newest = fences.is_newest(event)
            assert_is_true(event, applied, before, after, is_newest=is_newest)
            if applied.outcome in ("applied", "failed", "waiting"):
                is_owner = after.key == event.source.key
                # An older version counts only where a newer one could not be read.
                assert is_newest or (is_owner and event.kind in ("put", "delete")), event
                fences.count(event, is_owner=is_owner)

    holds()


@dataclass
class Fences:
    """The newest sequencer of each key that had an effect, until the bucket's current version was applied."""

    newest: dict[str, str] = field(default_factory=dict)
    is_unordered: bool = False

    def is_newest(self, event: Event) -> bool:
        return event.kind in SEEN or event.source.sequencer >= self.newest.get(event.source.key, "")

    def count(self, event: Event, *, is_owner: bool) -> None:
        key, sequencer = event.source.key, event.source.sequencer
        # Once the bucket was asked, sequencers order nothing any more.
        assert not (self.is_unordered and is_owner and event.kind in EVENTS), event
        self.is_unordered = self.is_unordered or (is_owner and event.kind in SEEN)
        if event.kind in EVENTS:
            self.newest[key] = max(sequencer, self.newest.get(key, ""))
        elif event.kind != "held put unknown":
            self.newest[key] = sequencer


def assert_is_true(event: Event, applied: ChangeResult, before: Seen, after: Seen, *, is_newest: bool) -> None:
    """Fails unless contents, status and waiting keys changed as the outcome says."""
    key, is_refused = event.source.key, applied.outcome in ("superseded", "conflict")
    assert set(after.waiting) - {key} == set(before.waiting) - {key}, event
    # A key that is refused may still be the one that owns a deleted material from now on.
    waits_on = is_refused and key in before.waiting and key != after.key
    assert (key in after.waiting) == (applied.outcome == "waiting" or waits_on), event
    assert after.key not in after.waiting, event
    if applied.outcome in ("superseded", "waiting", "conflict"):
        assert after.contents == before.contents, event
        assert not before.key or (after.status, after.error) == (before.status, before.error), event
    elif after.key != key:
        assert (applied.outcome, event.kind.endswith("delete")) == ("applied", True), event
        assert replace(after, waiting=()) == replace(before, waiting=()), event
    elif event.kind.endswith("fail"):
        assert (applied.outcome, after.status) == ("failed", "failed"), event
        assert after.contents == (before.contents if before.key == after.key else ()), event
    else:
        is_put, version = "put" in event.kind, event.source.version_id
        assert applied.outcome == "applied", event
        assert after.contents == ((f"rule-a: {version}",) if is_put else ()), event
        assert after.indexed_version_id == (version if is_put else None), event
        # What is known of a newer version that cannot be read stays the status.
        known = (version, "ready" if is_put else "deleted") if is_newest else (before.version_id, "failed")
        assert (after.version_id, after.status) == known, event
