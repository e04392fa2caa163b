"""The nightly comparison of the library with its bucket."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from sakuin.errors import Unavailable
from sakuin.knowledge.reconcile import FAILED, NEEDS_COMMAND, UNDER_WAY
from sakuin.platform.reconciliation import Difference
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkMessage, WorkSubject
from sakuin.upkeep.reconcile import MAX_ATTEMPTS, ReconciliationResult

from tests.builders import a_page
from tests.convergence.passing import A_DAY, time_passes
from tests.doubles.learns_model import MemoryLearnsModel
from tests.events import s3_message
from tests.worlds import World, Worlds

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ONE, TWO = a_page({"rule-a": "解の公式: 一。"}), a_page({"rule-a": "解の公式: 二。"})


@pytest.fixture
def world(a_world: Worlds) -> World:
    return a_world()


def found(world: World, kind: str = "keys", *, dry_run: bool = False) -> list[tuple[str, str]]:
    """What one part differs in, as rules and places."""
    differences: list[Difference] = []
    after = None
    while True:
        page = world.reconcile.page(kind, after, dry_run=dry_run, seconds=10)
        differences += page.differences
        after = page.after
        if after is None:
            return [(one.rule, one.where) for one in differences]


def texts(world: World) -> dict[str, str]:
    return {f"{chunk.material}#{chunk.anchor}": chunk.content for chunk in world.chunks()}


def break_page(world: World) -> None:
    """Takes from the pages what their words are found by."""
    world.sql.execute("delete from public.posting")


def leave_reading(world: World) -> None:
    """Leaves a reading that no page has."""
    world.sql.execute("insert into public.reading values ('キカガク', '幾何学', 'キカガク 幾何学', 'キカカク')")


def is_left(world: World) -> bool:
    """Whether the reading that no page has is still there."""
    return "キカガク" in [row[0] for row in world.rows("reading")[0]]


def minutes_pass(world: World) -> None:
    """Lets pass what a worker that died may keep a run for."""
    world.sql.execute("update public.reconciliation_run set claimed_until = claimed_until - interval '200 seconds'")


def damaged(world: World) -> dict[str, str]:
    """A library of which nearly every event was lost; what must answer in the end, by material."""
    world.put("same.html", ONE)
    world.put("stale.html", ONE)
    world.put("gone.html", ONE)
    marker_of = world.put("back.html", ONE) and world.bucket.remove("back.html")
    world.put("bad.html", b"%PDF-1.7")
    world.settle()
    world.bucket.remove_version("back.html", marker_of)
    world.bucket.write("stale.html", TWO)
    world.bucket.write("missing.html", ONE)
    world.bucket.remove("gone.html")
    world.bucket.write("style.css", b"x")
    world.bucket.write("_sakuin/canary.html", ONE)
    world.bucket.forget_messages()
    return {"same": "一", "stale": "二", "back": "一", "missing": "一"}


DIFFERENT = [("missing", "back.html"), ("gone", "gone.html"), ("missing", "missing.html"), ("stale", "stale.html")]


def test_changes_without_an_event_are_found_once_and_only_shown_by_a_dry_run(world: World) -> None:
    expected, before = damaged(world), texts(world)
    assert found(world, dry_run=True) == DIFFERENT
    assert (world.settle(), texts(world)) == ([], before)
    assert found(world) == DIFFERENT
    world.settle()
    assert {name.partition("#")[0]: text[-2] for name, text in texts(world).items()} == expected
    assert found(world) == []


def test_a_bucket_that_lost_most_pages_empties_the_index_only_on_command(world: World) -> None:
    for number in range(4):
        world.put(f"{number}.html", ONE)
    for number in range(4):
        world.bucket.remove(f"{number}.html")
    world.bucket.forget_messages()
    at_night = world.reconcile.page("keys", None, dry_run=False, seconds=10, grace=timedelta(microseconds=1))
    assert {(one.rule, one.repair) for one in at_night.differences} == {("gone", NEEDS_COMMAND)}
    assert (world.settle(), len(texts(world))) == ([], 4)

    found(world)
    world.settle()
    assert texts(world) == {}


@pytest.mark.parametrize(
    ("pages", "lost", "left"), [(1, 1, 0), (2, 1, 1), (2, 2, 2), (3, 2, 3), (4, 2, 2), (19, 19, 19), (1002, 2, 1000)]
)
def test_more_than_half_of_a_small_library_is_not_deleted_at_night(
    world: World, pages: int, lost: int, left: int
) -> None:
    versions = {f"{number:04}": world.bucket.write(f"{number:04}.html", ONE) for number in range(pages)}
    world.sql.execute(
        "insert into public.material (material, bucket, key, sequencer, version_id, status, indexed_version_id)"
        " select name, 'materials', name || '.html', '1', version, 'ready', version"
        " from jsonb_each_text(%s) page(name, version)",
        [Jsonb(versions)],
    )
    for number in range(pages - lost, pages):
        world.bucket.remove(f"{number:04}.html")
    world.bucket.forget_messages()
    world.reconcile(whole=True)
    world.settle()
    assert world.records.page_count() == left


def repairs(world: World) -> dict[str, str]:
    """Returns the repairs that the command shows, by key."""
    shown = world.reconcile.page("keys", None, dry_run=True, seconds=10).differences
    return {one.where: one.repair for one in shown}


def rechecked(world: World) -> list[str]:
    return [key for key, _ in world.queue.rechecks]


@pytest.mark.parametrize("state", ["retrying", "waiting"])
def test_unfinished_work_is_shown_on_command_and_not_sent_again(world: World, state: str) -> None:
    world.bucket.write("a.html", ONE)
    world.bucket.write("b.html", ONE)
    world.bucket.forget_messages()
    subject = WorkSubject("file", "a.html")
    if state == "waiting":
        world.unfinished.defer(subject, Defer(60, "away", "openai"))
    else:
        world.unfinished.record_retry(subject, "it failed", vendor=None, seconds=60)
    assert repairs(world).keys() == {"a.html", "b.html"}
    assert repairs(world)["a.html"] == UNDER_WAY
    found(world)
    assert rechecked(world) == ["b.html"]
    assert [one.where for one in world.reconcile(whole=True).differences] == ["b.html"]


def record_dead_letter(world: World, version: str | None) -> None:
    """Records that the message about a version of a.html failed, or one that names no version."""
    body = s3_message("a.html", version=version) if version else {"recheck": {"key": "a.html"}}
    failed = WorkSubject("file", "a.html", message=WorkMessage("material", json.dumps(body)))
    world.unfinished.record_dead_letter(failed, "it failed")


@pytest.mark.parametrize("knows_version", [True, False])
def test_a_key_with_a_dead_letter_is_checked_again_on_command(world: World, knows_version: bool) -> None:
    version = world.bucket.write("a.html", ONE)
    world.bucket.forget_messages()
    record_dead_letter(world, version if knows_version else None)
    assert world.reconcile(whole=True).differences == []
    assert FAILED not in repairs(world).values()
    assert (found(world), rechecked(world)) == ([("missing", "a.html")], ["a.html"])


def test_a_version_that_is_newer_than_a_dead_letter_is_found_at_night(world: World) -> None:
    version = world.bucket.write("a.html", ONE)
    record_dead_letter(world, version)
    world.bucket.write("a.html", TWO)
    world.bucket.forget_messages()
    assert [one.where for one in world.reconcile(whole=True).differences] == ["a.html"]
    assert rechecked(world) == ["a.html"]


def test_a_night_with_waiting_messages_finds_only_older_keys(world: World) -> None:
    for key, age in (("old.html", timedelta(days=2)), ("new.html", timedelta(hours=2))):
        world.bucket.now = NOW - age
        world.bucket.write(key, ONE)
    busy = world.reconcile_with(queue_is_empty=lambda: False)
    assert [one.where for one in busy(whole=True).differences] == ["old.html"]


def test_a_recent_upload_is_missing_only_on_command(world: World) -> None:
    world.bucket.now = NOW - timedelta(minutes=1)
    world.bucket.write("a.html", ONE)
    assert world.reconcile(whole=True).differences == []
    assert found(world, dry_run=True) == [("missing", "a.html")]
    world.bucket.now = NOW - timedelta(hours=1)
    world.bucket.write("a.html", ONE)
    assert [one.where for one in world.reconcile(whole=True).differences] == ["a.html"]


def test_a_list_of_synonyms_that_another_analyzer_read_is_read_again(world: World) -> None:
    world.put("synonyms.yml", "- [解の公式, かいのこうしき]\n".encode())
    assert found(world) == []
    world.sql.execute("update public.site_synonyms set analyzer = 'another'")
    generation = world.index.synonyms_generation("synonyms.yml")
    assert found(world) == [("unread", "synonyms.yml")]
    world.settle()
    assert world.index.synonyms_generation("synonyms.yml") == generation + 1


def test_a_file_that_cannot_be_read_is_asked_for_once(world: World) -> None:
    world.put("learns.yml", b"- [")
    world.put("synonyms.yml", b"a: b")
    assert found(world) == []
    world.bucket.remove("learns.yml")
    world.bucket.forget_messages()
    assert found(world) == [("unread", "learns.yml")]
    world.settle()
    assert found(world) == []


def test_a_broken_page_is_repaired(world: World) -> None:
    world.put("a.html", ONE)
    break_page(world)
    assert found(world, "pages", dry_run=True) == found(world, "pages") == [("broken", "a")]
    assert [asked.material for asked in world.queue.asked] == ["a"]
    world.settle()
    assert found(world, "pages") == []


def test_unused_readings_are_deleted_and_not_reported(world: World) -> None:
    leave_reading(world)
    assert (found(world, "words", dry_run=True), is_left(world)) == ([], True)
    assert (found(world, "words"), is_left(world)) == ([], False)


def test_answers_and_vectors_that_no_page_used_for_thirty_days_are_deleted(world: World) -> None:
    world.model = MemoryLearnsModel({"rule-a": ("甲の方法", "乙の方法", "丙の方法")})
    world.put("m.html", ONE)
    world.ask_model()
    # The vector of the provisional text, which no page has any more.
    assert cached(world) == (1, 1)
    world.put("m.html", TWO)
    world.ask_model()
    assert cached(world) == (2, 3)
    assert (found(world, "learns", dry_run=True), found(world, "learns"), cached(world)) == ([], [], (2, 3))
    time_passes(world.sql, 29 * A_DAY)
    world.put("m.html", ONE)
    world.ask_model()
    time_passes(world.sql, 2 * A_DAY)
    # The first text came back in time. The provisional ones did not, and the second one has just gone.
    assert (found(world, "learns"), cached(world), world.model.asked) == ([], (2, 1), 2)
    time_passes(world.sql, 31 * A_DAY)
    assert (found(world, "learns"), cached(world), world.model.asked) == ([], (1, 0), 2)
    assert {chunk.learns.source for chunk in world.chunks()} == {"model"}


def cached(world: World) -> tuple[int, int]:
    """The numbers of cached answers and vectors that no page uses."""
    answers, vectors = world.rows("learns_cache", "unused_vector")
    return len(answers), len(vectors)


# ---------------------------------------------------------------- on a schedule


def test_no_run_starts_by_the_minute(world: World) -> None:
    damaged(world)
    assert world.reconcile(whole=False) == ReconciliationResult()
    assert rechecked(world) == []


def test_a_night_compares_everything_and_continues_each_minute(world: World) -> None:
    damaged(world)
    leave_reading(world)
    slow = world.reconcile_with(ticks=80.0)
    first = slow(whole=True)
    assert (len(first.differences), first.goes_on) == (4, True)
    rest = [slow(whole=False) for _ in range(4)]
    assert [one.goes_on for one in rest] == [True, True, True, False]
    assert not is_left(world)


def test_a_run_that_fails_continues_at_its_place(world: World) -> None:
    damaged(world)
    broken = world.reconcile_with(bucket=Down())
    assert [broken(whole=whole).failed for whole in (True, False)] == [["keys: S3 did not answer"]] * 2
    assert len(world.reconcile(whole=False).differences) == 4
    assert world.reconcile(whole=False).goes_on is False


def test_a_kind_that_fails_does_not_stop_others_and_is_retried(world: World) -> None:
    damaged(world)
    world.put("a.html", ONE)
    break_page(world)
    leave_reading(world)
    down = Down(world.bucket, times=1)
    night = world.reconcile_with(bucket=down)(whole=True)
    assert (night.failed, night.goes_on, is_left(world)) == (["keys: S3 did not answer"], True, False)
    assert {one.rule for one in night.differences} == {"broken"}
    minute = world.reconcile(whole=False)
    assert (len(minute.differences), minute.goes_on) == (4, False)


def test_a_kind_that_fails_for_half_an_hour_waits_for_the_next_night(world: World) -> None:
    damaged(world)
    broken = world.reconcile_with(bucket=Down())
    runs = [broken(whole=number == 0) for number in range(MAX_ATTEMPTS + 1)]
    assert [one.goes_on for one in runs] == [True] * (MAX_ATTEMPTS - 1) + [False, False]
    assert world.reconcile(whole=True).goes_on is False


def test_a_kind_that_kills_its_worker_is_last_the_next_time(world: World) -> None:
    damaged(world)
    leave_reading(world)
    dies = world.reconcile_with(bucket=Down(error=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        dies(whole=True)
    minutes_pass(world)
    with pytest.raises(KeyboardInterrupt):
        dies(whole=False)
    assert not is_left(world)


def test_a_kind_that_always_kills_its_worker_waits_for_the_next_night(world: World) -> None:
    damaged(world)
    dies = world.reconcile_with(bucket=Down(world.bucket, times=MAX_ATTEMPTS, error=KeyboardInterrupt()))
    for minute in range(MAX_ATTEMPTS):
        with pytest.raises(KeyboardInterrupt):
            dies(whole=minute == 0)
        minutes_pass(world)
    assert dies(whole=False) == ReconciliationResult([], goes_on=False, failed=[])
    assert len(dies(whole=True).differences) == 4


@dataclass
class Down:
    """A bucket that does not answer, for so many times."""

    real: Any = None
    times: int = 1_000
    error: BaseException = field(default_factory=lambda: Unavailable("S3 did not answer"))

    def current_objects(self, *where: Any, **page: Any) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise self.error
        return self.real.current_objects(*where, **page)
