"""Comparisons of the library with its bucket, by day and on command, until all derived data is built again."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from sakuin.differences import Difference
from sakuin.errors import Unavailable
from sakuin.knowledge.model import RecordedObject
from sakuin.knowledge.names import authored_file
from sakuin.knowledge.reconcile import NEEDS_COMMAND, bucket_differences
from sakuin.platform.s3 import BucketObject
from sakuin.platform.waiting import WorkRow
from sakuin.tables.nodes import RecordedRows
from sakuin.tables.reconcile import missing_and_orphaned
from sakuin.upkeep.maintain import DailyRound

from tests.builders import a_page
from tests.convergence.passing import A_DAY, time_passes
from tests.doubles.learns_model import MemoryLearnsModel
from tests.worlds import World, Worlds

NOW = datetime(2026, 11, 22, tzinfo=UTC)

ONE, TWO = a_page({"rule-a": "解の公式: 一。"}), a_page({"rule-a": "解の公式: 二。"})


@pytest.fixture
def world(a_world: Worlds) -> World:
    return a_world()


def found(world: World, *, dry_run: bool = False) -> list[tuple[str, str]]:
    """What the command finds different between bucket and index, as rules and places."""
    differences: list[Difference] = []
    after = None
    while True:
        page = world.reconcile.page("keys", after, dry_run=dry_run)
        differences += page.differences
        after = page.after
        if after is None:
            return [(one.rule, one.where) for one in differences]


def texts(world: World) -> dict[str, str]:
    return {f"{chunk.material}#{chunk.anchor}": chunk.content for chunk in world.chunks()}


def leave_reading(world: World) -> None:
    """Leaves a reading that no page has."""
    world.sql.execute("insert into public.reading values ('キカガク', '幾何学', 'キカガク 幾何学', 'キカカク')")


def is_left(world: World) -> bool:
    """Whether the reading that no page has is still there."""
    return "キカガク" in [row[0] for row in world.rows("reading")[0]]


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


DIFFERENT = [("differs", "back.html"), ("gone", "gone.html"), ("differs", "missing.html"), ("differs", "stale.html")]


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
    assert {(one.rule, one.repair) for one in world.night()} == {("gone", NEEDS_COMMAND)}
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
    world.night()
    world.settle()
    assert world.records.page_count() == left


def rechecked(world: World) -> list[str]:
    return [key for key, _ in world.queue.rechecks]


def test_a_version_whose_message_will_come_is_not_asked_for_again(world: World) -> None:
    for key in ("a.html", "b.html"):
        world.bucket.write(key, ONE)
    world.bucket.forget_messages()
    row, since = WorkRow("page", "a", source={"bucket": "materials", "key": "a.html"}), NOW.isoformat()
    world.work_records.begin(row, "m1")
    # A night here begins an hour later.
    world.work_records.wait(row, "m1", since=since, reason="away", vendor="openai", seconds=3600)
    assert [one.where for one in world.night()] == ["b.html"]
    assert rechecked(world) == ["b.html"]


def test_a_night_with_waiting_messages_finds_only_older_keys(world: World) -> None:
    for key, age in (("old.html", timedelta(days=2)), ("new.html", timedelta(hours=2))):
        world.bucket.now = NOW - age
        world.bucket.write(key, ONE)
    busy = world.reconcile_with(queue_is_empty=lambda: False)
    assert [one.where for one in world.night(busy)] == ["old.html"]


def test_a_recent_upload_is_missing_only_on_command(world: World) -> None:
    world.bucket.now = NOW - timedelta(minutes=1)
    world.bucket.write("a.html", ONE)
    assert world.night() == []
    assert found(world, dry_run=True) == [("differs", "a.html")]
    world.bucket.now = NOW - timedelta(hours=1)
    world.bucket.write("a.html", ONE)
    assert [one.where for one in world.night()] == ["a.html"]


def test_a_list_of_synonyms_that_another_analyzer_read_is_read_again(world: World) -> None:
    world.put("synonyms.yml", "- [解の公式, かいのこうしき]\n".encode())
    assert found(world) == []
    world.sql.execute("update public.site_synonyms set analyzer = 'another'")
    generation = world.index.synonyms_generation("synonyms.yml")
    assert found(world) == [("differs", "synonyms.yml")]
    world.settle()
    assert world.index.synonyms_generation("synonyms.yml") == generation + 1


def test_a_file_that_cannot_be_read_is_asked_for_once(world: World) -> None:
    world.put("learns.yml", b"- [")
    world.put("synonyms.yml", b"a: b")
    assert found(world) == []
    world.bucket.remove("learns.yml")
    world.bucket.forget_messages()
    assert found(world) == [("differs", "learns.yml")]
    world.settle()
    assert found(world) == []


def test_readings_that_no_page_has_are_deleted_once_a_day(world: World) -> None:
    world.put("a.html", ONE)
    leave_reading(world)
    readings = world.maintenance.daily["delete_readings"]
    assert (readings(), is_left(world)) == (1, False)
    leave_reading(world)
    assert (readings(), is_left(world)) == (0, True)
    a_day_passes(world)
    assert (readings(), is_left(world)) == (1, False)


def test_answers_and_vectors_that_no_page_used_for_thirty_days_are_deleted(world: World) -> None:
    world.model = MemoryLearnsModel({"rule-a": ("甲の方法", "乙の方法", "丙の方法")})
    world.put("m.html", ONE)
    world.ask_model()
    # The answer is a passage of its own: the vector of the text stays in use.
    assert cached(world) == (1, 0)
    world.put("m.html", TWO)
    world.ask_model()
    # The vector of the first text, which no page has any more.
    assert cached(world) == (2, 1)
    assert (texts_deleted(world), cached(world)) == (0, (2, 1))
    time_passes(world.sql, 29 * A_DAY)
    world.put("m.html", ONE)
    world.ask_model()
    time_passes(world.sql, 2 * A_DAY)
    # The first text came back in time, and the second one has just gone.
    assert (texts_deleted(world), cached(world), world.model.asked) == (0, (2, 1), 2)
    time_passes(world.sql, 31 * A_DAY)
    assert (texts_deleted(world) > 0, cached(world), world.model.asked) == (True, (1, 0), 2)
    assert {chunk.learns.source for chunk in world.chunks()} == {"model"}


def cached(world: World) -> tuple[int, int]:
    """The numbers of cached answers and vectors that no page uses."""
    answers, vectors = world.rows("learns_cache", "unused_vector")
    return len(answers), len(vectors)


def texts_deleted(world: World) -> int:
    """Deletes unused texts, a day after the last time."""
    a_day_passes(world)
    return world.maintenance.daily["delete_texts"]()


def a_day_passes(world: World) -> None:
    """Lets a day pass for the rounds alone."""
    world.sql.execute("update public.daily_round set began_at = began_at - interval '25 hours'")


# ---------------------------------------------------------------- on a schedule


def days(world: World, **changed: Any) -> DailyRound:
    """The daily comparison of keys."""
    comparison = replace(
        world.maintenance.daily["reconcile_keys"].portion, reconcile=lambda: world.reconcile_with(**changed)
    )
    return DailyRound(world.client, "reconcile_keys", comparison)


def many(world: World) -> list[str]:
    """Three pages of keys whose events were lost."""
    keys = [f"{number:04}.html" for number in range(2500)]
    for key in keys:
        world.bucket.write(key, ONE)
    world.bucket.forget_messages()
    return keys


def test_a_day_compares_everything_in_portions_and_once(world: World) -> None:
    keys, slow = many(world), replace(days(world), seconds=0.0, clock=count().__next__)
    with_time = replace(slow, seconds=1.5)
    assert [slow(), *(with_time() for _ in range(4))] == [0, 1000, 1000, 500, 0]
    assert sorted(set(rechecked(world))) == keys
    a_day_passes(world)
    assert [with_time() for _ in range(3)] == [1000, 1000, 500]


@pytest.mark.parametrize("error", [Unavailable("S3 did not answer"), KeyboardInterrupt()])
def test_a_comparison_that_fails_or_dies_continues_at_its_place(world: World, error: BaseException) -> None:
    keys = many(world)
    replace(days(world), seconds=1.5, clock=count().__next__)()
    for _ in range(2):
        with pytest.raises(type(error)):
            days(world, bucket=Down(error))()
    assert days(world)() == 1500
    assert sorted(rechecked(world)) == keys


def test_differences_are_counted_and_the_first_are_logged(
    world: World, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(60):
        world.bucket.write(f"{number}.html", ONE)
    world.bucket.forget_messages()
    round_of_a_day = days(world)
    assert round_of_a_day() == 60
    world.clients.telemetry.metrics.flush_metrics()
    assert caplog.messages.count("difference found") == 50
    assert '"ReconcileFindings":[60.0]' in capsys.readouterr().out.replace(" ", "")


@dataclass
class Down:
    """A bucket that does not answer."""

    error: BaseException

    def current_objects(self, *_where: Any, **_page: Any) -> Any:
        raise self.error


EARLIER = NOW - timedelta(days=1)


def recorded(version: str | None = "v1", *, again: bool = False) -> RecordedObject:
    return RecordedObject("a.html", version, again)


@pytest.mark.parametrize(
    ("held", "record", "rule"),
    [
        ("v1", recorded(), None),
        ("v1", None, "differs"),
        ("v1", recorded(None), "differs"),
        ("v2", recorded(), "differs"),
        ("v1", recorded(again=True), "differs"),
        (None, recorded(), "gone"),
        (None, recorded(None), None),
        (None, None, None),
    ],
)
def test_a_page_s_key_in_bucket_and_index(held: str | None, record: RecordedObject | None, rule: str | None) -> None:
    present = [BucketObject("a.html", held, EARLIER)]
    records = [record] if record else []
    assert [one.rule for one in bucket_differences(present, records, prefix="", until=NOW)] == ([rule] if rule else [])
    if held is None:
        assert [one.rule for one in bucket_differences([], records, prefix="", until=NOW)] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("held", "record", "differs"),
    [
        ("v1", ("v1", False), False),
        ("v2", ("v1", False), True),
        ("v1", None, True),
        (None, ("v1", False), True),
        (None, (None, False), False),
        ("v1", ("v1", True), True),
        (None, (None, True), True),
    ],
)
@pytest.mark.parametrize("key", ["site/learns.yml", "site/a/learns.yml", "site/synonyms.yml", "site/a/synonyms.yml"])
def test_a_file_beside_the_pages_is_read_as_it_is_now(
    key: str, held: str | None, record: tuple[str | None, bool] | None, differs: bool
) -> None:
    records = [RecordedObject(key, *record)] if record else []
    differences = bucket_differences([BucketObject(key, held, EARLIER)], records, prefix="site/", until=NOW)
    assert [one.rule for one in differences] == (["differs"] if differs else [])


def test_recent_changes_and_own_keys_are_not_compared() -> None:
    young, own, other = "young.html", "_sakuin/canary.html", "style.css"
    held = [BucketObject(own, "v", EARLIER), BucketObject(other, "v", EARLIER), BucketObject(young, "v", NOW)]
    assert bucket_differences(held, [], prefix="", until=EARLIER) == []
    records = [replace(recorded(), young=True)]
    assert bucket_differences([], records, prefix="", until=EARLIER) == []
    removed = [BucketObject("a.html", None, NOW)]
    assert bucket_differences(removed, [recorded()], prefix="", until=EARLIER) == []


def test_differences_are_sorted_by_key_and_have_a_repair() -> None:
    held = [BucketObject(key, "v", EARLIER) for key in ("あ.html", "b.html", "Z.html")]
    found = bucket_differences(held, [], prefix="", until=NOW)
    assert [one.where for one in found] == ["Z.html", "b.html", "あ.html"]
    assert {one.repair for one in found} == {"the key is checked again"}


def test_only_files_in_the_library_are_files_beside_its_pages() -> None:
    assert authored_file("site/x/learns.yml", prefix="site/") == ("learns.yml", "x/")
    assert authored_file("learns.yml", prefix="site/") is None
    assert authored_file("site/x/synonyms.yml", prefix="site/") == ("synonyms.yml", "x/")
    assert authored_file("x/synonyms.yml", prefix="site/") is None
    assert authored_file("site/xsynonyms.yml", prefix="site/") is None
    assert authored_file("xlearns.yml") is None


def test_lost_and_unwanted_rows_are_told_apart_and_a_table_under_scan_has_none_unwanted() -> None:
    table = RecordedRows(generation=5, planned=True, stored={"a": "1", "b": "2"}, coming={"c"})
    rows = {"b": 1, "c": 5, "old": 4, "now": 5, "newer": 6}
    assert missing_and_orphaned(table, rows) == (["a"], ["now", "old"])
    assert missing_and_orphaned(replace(table, planned=False), rows) == (["a"], [])
