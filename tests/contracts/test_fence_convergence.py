"""Whatever order events come in, however often: the index ends where the bucket is."""

import itertools
from dataclasses import dataclass, replace

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sakuin.domain.knowledge import KnowledgeChunk
from sakuin.domain.material_version import Applied, Source
from sakuin.ports.materials import PageChange

from tests.builders import a_chunk, a_source
from tests.contracts.conftest import Knowledge
from tests.doubles.embedder import FINGERPRINT
from tests.effort import times

KEYS = ("m.html", "n.html")
TOLD = ("put", "put", "fail", "delete")
SEEN = ("held put", "held put unknown", "held fail", "held delete")
_NUMBERS = itertools.count()
_SEEN = """
select key, sequencer, version_id, status, error, indexed_version_id,
  (select array_agg(anchor || ': ' || content order by anchor) from public.knowledge_chunks c
   where c.material = m.material)
from public.material m where material = %s
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to see of a material. Generations count changes, and times pass: they are left out."""

    key: str | None = None
    sequencer: str = ""
    version_id: str | None = None
    status: str = ""
    error: str | None = None
    indexed_version_id: str | None = None
    contents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a key: a readable version, an unreadable one, or a deletion."""

    kind: str
    source: Source


@dataclass(frozen=True, slots=True)
class Page:
    """A material that no event was told of yet."""

    knowledge: Knowledge
    sql: psycopg.Connection
    material: str

    def hear(self, event: Event) -> Applied:
        """Tells the index, as IndexPage does: it looks, then applies."""
        index, source = self.knowledge.index, self._source(event)
        if event.kind.startswith("held "):
            return self._hear_of_bucket(event)
        if event.kind == "delete":
            return index.apply(PageChange(self.material, source, deleted=True))
        if event.kind == "fail":
            return index.apply(PageChange(self.material, source, error=f"unreadable: {source.version_id}"))
        return index.apply(
            PageChange(self.material, source, chunks=[self._chunk(source)], fingerprint=FINGERPRINT.id),
            expected_generation=self._look(),
        )

    def _hear_of_bucket(self, event: Event) -> Applied:
        """Tells the index what the bucket holds now, in spite of all sequencers."""
        index, generation = self.knowledge.index, self._look()
        source = self._source(event)
        if event.kind == "held put unknown":
            source = replace(source, sequencer="")
        if event.kind == "held delete":
            return index.apply(
                PageChange(self.material, source, deleted=True), expected_generation=generation, current=True
            )
        if event.kind == "held fail":
            return index.apply(
                PageChange(self.material, source, error="unreadable"), expected_generation=generation, current=True
            )
        return index.apply(
            PageChange(self.material, source, chunks=[self._chunk(source)], fingerprint=FINGERPRINT.id),
            expected_generation=generation,
            current=True,
        )

    def seen(self) -> Seen:
        row = self.sql.execute(_SEEN, [self.material]).fetchone()
        return Seen(row[0].removeprefix(f"{self.material}/"), *row[1:-1], tuple(row[-1] or ())) if row else Seen()

    def waits(self) -> dict[str, str]:
        """The keys that wait, each with the one that owns the material."""
        folder = f"{self.material}/"
        found = [each for each in self.knowledge.records.waiting() if each[0] == self.material]
        return {key.removeprefix(folder): owner.removeprefix(folder) for _, key, owner in found}

    def _source(self, event: Event) -> Source:
        return replace(event.source, key=f"{self.material}/{event.source.key}")

    def _chunk(self, source: Source) -> KnowledgeChunk:
        return a_chunk(self.material, "rule-a", str(source.version_id))

    def _look(self) -> int | None:
        state = self.knowledge.index.state(self.material)
        return state.generation if state else None


@dataclass(frozen=True, slots=True)
class Pages:
    """Materials that have nothing to do with each other; all their texts are embedded."""

    knowledge: Knowledge
    sql: psycopg.Connection

    def page(self) -> Page:
        """Returns a new one."""
        return Page(self.knowledge, self.sql, f"page-{next(_NUMBERS)}")

    def ending(self, events: list[Event]) -> Seen:
        """What there is to see once a new page's events were told."""
        page = self.page()
        for event in events:
            page.hear(event)
        return page.seen()


@pytest.fixture
def pages(knowledge: Knowledge, sql: psycopg.Connection) -> Pages:
    versions = [str(a_source(key, 16 * number).version_id) for key in KEYS for number in range(1, 7)]
    knowledge.embed([a_chunk("m", "rule-a", version) for version in versions])
    return Pages(knowledge, sql)


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


def test_any_schedule_of_one_key_ends_as_in_order(pages: Pages) -> None:
    @given(schedules(keys=KEYS[:1]))
    @settings(max_examples=times(60), suppress_health_check=list(HealthCheck))
    def ends_so(schedule: tuple[list[Event], list[Event]]) -> None:
        history, told = schedule
        assert pages.ending(told) == pages.ending(history)

    ends_so()


@pytest.mark.parametrize("kinds", [TOLD, TOLD + SEEN], ids=["told", "seen"])
@pytest.mark.parametrize("keys", [KEYS[:1], KEYS], ids=["one key", "two keys"])
def test_each_outcome_says_what_happened(keys: tuple[str, ...], kinds: tuple[str, ...], pages: Pages) -> None:
    @given(schedules(keys=keys, kinds=kinds))
    @settings(max_examples=times(50), suppress_health_check=list(HealthCheck))
    def holds(schedule: tuple[list[Event], list[Event]]) -> None:
        page, is_unordered = pages.page(), False
        for event in schedule[1]:
            before, applied, after = page.seen(), page.hear(event), page.seen()
            assert_is_true(event, applied, before, after)
            took_effect = applied.outcome in ("applied", "failed") and after.key == event.source.key
            # Once the bucket was asked, sequencers order nothing any more.
            assert not (is_unordered and took_effect and event.kind in TOLD), event
            is_unordered = is_unordered or (took_effect and event.kind in SEEN)
        for key, owner in page.waits().items():
            assert key != owner == page.seen().key

    holds()


def assert_is_true(event: Event, applied: Applied, before: Seen, after: Seen) -> None:
    """What is searchable, and the status, changed as the outcome says."""
    if applied.outcome in ("superseded", "waiting", "conflict"):
        assert after.contents == before.contents, event
        # A key that is refused may still be the one that owns a deleted material from now on.
        assert not before.key or (after.status, after.error) == (before.status, before.error), event
    elif after.key != event.source.key:
        assert (applied.outcome, event.kind.endswith("delete"), after) == ("applied", True, before), event
    elif event.kind.endswith("fail"):
        assert (applied.outcome, after.status) == ("failed", "failed"), event
        assert after.contents == (before.contents if before.key == after.key else ()), event
    else:
        is_put, version = "put" in event.kind, event.source.version_id
        assert applied.outcome == "applied", event
        assert after.contents == ((f"rule-a: {version}",) if is_put else ()), event
        assert after.indexed_version_id == (version if is_put else None), event
        # What is known of a newer version that cannot be read stays the status.
        is_newest = after.version_id == version
        assert after.status == (("ready" if is_put else "deleted") if is_newest else "failed"), event
