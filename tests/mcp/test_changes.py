"""The change feed: which changes there are, in which order, and for whom."""

from collections.abc import Iterator
from threading import Thread
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from sakuin.arguments import ChangesArguments
from sakuin.errors import Gone, Invalid
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.tables.model import BoundTool, Endpoint

from tests.builders import a_page
from tests.doubles.sqs import ModelledSqs
from tests.emptied import emptied
from tests.worlds import World, Worlds

A, B, C = "rule-a", "def-b", "tip-c"
TEXTS = {A: "公式: 係数を代入する。", B: "判別式: 符号を調べる。", C: "コツ: 先に約分する。"}


@pytest.fixture
def world(a_world: Worlds, sql: psycopg.Connection) -> Iterator[World]:
    """A library with one page of two explanations."""
    emptied(sql)
    world = a_world(base_url="/school", sqs=ModelledSqs())
    world.put("x.html", a_page({A: TEXTS[A], B: TEXTS[B]}))
    yield world
    emptied(sql)


@pytest.fixture
def feed(world: World) -> ChangeFeed:
    return ChangeFeed(world.client, world.read.url)


def read(feed: ChangeFeed, since: str | None = None, **asked: Any) -> tuple[list[dict[str, Any]], str]:
    """The changes after a cursor, and the next cursor; fails if there are more."""
    answer = feed(None, ChangesArguments(since=since, **asked))
    assert not answer["more"]
    return answer["changes"], answer["cursor"]


def told(changes: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(each["kind"], each["id"]) for each in changes}


@pytest.mark.scenario("knowledge-index/the-feed-says-what-changed")
def test_a_change_says_what_when_and_where(feed: ChangeFeed) -> None:
    first, second = read(feed)[0]
    assert told([first, second]) == {("explanation.added", f"x#{A}"), ("explanation.added", f"x#{B}")}
    assert first["url"] == "/school/x.html#" + first["id"].partition("#")[2]
    assert first.keys() == {"kind", "id", "generation", "time", "title", "type", "content_hash", "url"}
    assert first["generation"] == 1


def test_a_cursor_gets_only_what_changed_after_it(world: World, feed: ChangeFeed) -> None:
    _, cursor = read(feed)
    assert read(feed, cursor) == ([], cursor)
    world.put("x.html", a_page({A: TEXTS[A] + "計算する。", C: TEXTS[C]}))
    changes, later = read(feed, cursor)
    assert told(changes) == {
        ("explanation.changed", f"x#{A}"),
        ("explanation.removed", f"x#{B}"),
        ("explanation.added", f"x#{C}"),
    }
    assert read(feed, later)[0] == []
    # A removed explanation has no text and no link.
    (removed,) = (each for each in changes if each["kind"] == "explanation.removed")
    assert removed.keys() == {"kind", "id", "generation", "time"}


def test_the_same_page_and_another_order_of_it_change_nothing(world: World, feed: ChangeFeed) -> None:
    _, cursor = read(feed)
    world.put("x.html", a_page({A: TEXTS[A], B: TEXTS[B]}))
    world.put("x.html", a_page({B: TEXTS[B], A: TEXTS[A]}))
    assert read(feed, cursor)[0] == []


def test_a_text_with_another_id_has_moved(world: World, feed: ChangeFeed) -> None:
    _, cursor = read(feed)
    world.put("x.html", a_page({"rule-z": TEXTS[A], B: TEXTS[B]}))
    changes, _ = read(feed, cursor)
    assert told(changes) == {("explanation.moved", f"x#{A}"), ("explanation.added", "x#rule-z")}
    (gone,) = (each for each in changes if "moved_to" in each)
    assert (gone["id"], gone["moved_to"], gone["url"]) == (f"x#{A}", "x#rule-z", "/school/x.html#rule-z")


def test_the_explanations_of_a_renamed_page_have_moved(world: World, feed: ChangeFeed) -> None:
    _, cursor = read(feed)
    world.put("new.html", a_page({A: TEXTS[A], B: TEXTS[B]}))
    world.bucket.remove("x.html")
    world.settle()
    moved = {each["id"]: each["moved_to"] for each in read(feed, cursor)[0] if "moved_to" in each}
    assert moved == {f"x#{A}": f"new#{A}", f"x#{B}": f"new#{B}"}


def test_a_failed_page_is_told_until_it_is_good_again(world: World, feed: ChangeFeed) -> None:
    _, cursor = read(feed)
    world.put("x.html", b"\xff\xfe\x00\x00 no page")
    (failed,), later = read(feed, cursor)
    assert (failed["kind"], failed["id"]) == ("page.failed", "x")
    assert failed["reason"]
    world.put("x.html", a_page({A: TEXTS[A], B: TEXTS[B]}))
    assert told(read(feed, later)[0]) == {("page.recovered", "x")}


def test_many_changes_come_in_answers_of_the_limit(world: World, feed: ChangeFeed) -> None:
    world.put("y.html", a_page(TEXTS))
    answers, cursor, more = [], None, True
    while more:
        answer = feed(None, ChangesArguments(since=cursor, limit=2))
        cursor, more = answer["cursor"], answer["more"]
        answers.append(answer["changes"])
    assert [len(changes) for changes in answers] == [2, 2, 1]
    assert len({each["id"] for changes in answers for each in changes}) == 5


def test_a_change_between_two_answers_is_an_addition_to_a_new_reader(world: World, feed: ChangeFeed) -> None:
    start = feed(None, ChangesArguments(limit=1))
    read(feed)
    world.put("x.html", a_page({A: TEXTS[A] + "計算する。", B: TEXTS[B] + "調べる。"}))
    assert {each["kind"] for each in read(feed, start["cursor"])[0]} == {"explanation.added"}


@pytest.mark.parametrize("kind", ["explanation.added", "page.failed"])
def test_a_reader_of_some_kinds_passes_over_the_others(world: World, feed: ChangeFeed, kind: str) -> None:
    world.put("bad.html", b"\xff\xfe\x00\x00 no page")
    changes, cursor = read(feed, kind=[kind])
    assert {each["kind"] for each in changes} == {kind}
    assert read(feed, cursor, kind=[kind])[0] == []


# ---------------------------------------------------------------- readers and writers at once


def test_a_late_transaction_is_told_after_those_before(world: World, feed: ChangeFeed, sql: psycopg.Connection) -> None:
    with psycopg.connect(world.database.dsn_postgres) as slow:
        slow.execute("select record_change('', 'page', 'slow', 'failed', 1)")
        world.put("fast.html", a_page({C: TEXTS[C]}))
        changes, cursor = read(feed)
        assert ("explanation.added", f"fast#{C}") in told(changes)
        assert "slow" not in {each["id"] for each in changes}
    assert told(read(feed, cursor)[0]) == {("page.failed", "slow")}


def test_a_reader_waits_for_the_numbers_of_another_reader(world: World, feed: ChangeFeed) -> None:
    answers: list[Any] = []
    _, cursor = read(feed)
    world.put("y.html", a_page({A: TEXTS[A], B: TEXTS[B]}))
    with psycopg.connect(world.database.dsn_postgres) as first:
        first.execute("select changes_since('', null, null, null, 10)")
        second = Thread(target=lambda: answers.append(read(feed, cursor)))
        second.start()
        second.join(0.2)
        assert second.is_alive()
    second.join()
    changes, _ = answers[0]
    assert told(changes) == {("explanation.added", f"y#{A}"), ("explanation.added", f"y#{B}")}


def test_a_change_of_a_change_is_not_lost_while_it_is_written(world: World, feed: ChangeFeed) -> None:
    with psycopg.connect(world.database.dsn_postgres) as slow:
        slow.execute("select record_change('', 'explanation', %s, 'changed', 9)", [f"x#{A}"])
        # The first version has no number yet, and the second is not committed.
        answer = feed(None, ChangesArguments())
        assert told(answer["changes"]) == {("explanation.added", f"x#{B}")}
        assert answer["more"]
    assert told(read(feed, answer["cursor"])[0]) == {("explanation.changed", f"x#{A}")}


def test_writers_of_different_pages_do_not_wait_for_each_other(world: World, feed: ChangeFeed) -> None:
    with psycopg.connect(world.database.dsn_postgres) as one, psycopg.connect(world.database.dsn_postgres) as other:
        other.execute("set lock_timeout = '1s'")
        one.execute("select record_change('', 'page', 'one', 'failed', 1)")
        other.execute("select record_change('', 'page', 'other', 'failed', 1)")


# ---------------------------------------------------------------- old changes


def delete_old(world: World, sql: psycopg.Connection, days: int = 31) -> int:
    sql.execute("update change set changed_at = changed_at - make_interval(days => %s)", [days])
    (deleted,) = sql.execute("select delete_old_changes(30 * 86400, 100)").fetchone() or (0,)
    return int(deleted)


def test_a_cursor_from_before_a_deleted_change_is_gone(world: World, feed: ChangeFeed, sql: psycopg.Connection) -> None:
    _, old = read(feed)
    world.put("x.html", a_page({A: TEXTS[A]}))
    _, after = read(feed, old)
    assert delete_old(world, sql) == 1
    with pytest.raises(Gone, match="too old"):
        read(feed, old)
    assert read(feed, after)[0] == []
    changes, fresh = read(feed)
    assert told(changes) == {("explanation.added", f"x#{A}")}
    assert read(feed, fresh)[0] == []


def test_an_unread_change_makes_cursors_too_old(world: World, feed: ChangeFeed, sql: psycopg.Connection) -> None:
    _, old = read(feed)
    world.bucket.remove("x.html")
    world.settle()
    assert delete_old(world, sql) == 2
    with pytest.raises(Gone):
        read(feed, old)
    assert read(feed)[0] == []


def test_a_reader_after_a_deletion_may_take_its_time(world: World, feed: ChangeFeed, sql: psycopg.Connection) -> None:
    world.put("gone.html", a_page(TEXTS))
    world.bucket.remove("gone.html")
    world.settle()
    assert delete_old(world, sql) == 3
    start = feed(None, ChangesArguments(limit=1))
    assert len(read(feed, start["cursor"])[0]) == 1


def test_what_is_there_is_never_deleted(world: World, feed: ChangeFeed, sql: psycopg.Connection) -> None:
    world.put("bad.html", b"\xff\xfe\x00\x00 no page")
    assert delete_old(world, sql, days=1000) == 0
    assert len(read(feed)[0]) == 3


# ---------------------------------------------------------------- arguments


def test_a_cursor_of_another_feed_or_other_kinds_is_refused(feed: ChangeFeed) -> None:
    _, cursor = read(feed)
    other = Endpoint("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002", ())
    for endpoint, asked in (
        (other, ChangesArguments(since=cursor)),
        (None, ChangesArguments(since=cursor, kind=["page.failed"])),
        (None, ChangesArguments(since="rubbish")),
    ):
        with pytest.raises(Invalid, match="'since' does not belong"):
            feed(endpoint, asked)


def test_a_cursor_from_before_other_tools_were_bound_is_gone(feed: ChangeFeed) -> None:
    ids = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(3)]
    tool = BoundTool(ids[0], ids[1], ids[2], "", "t", "", {})
    without, bound = Endpoint(ids[2], ids[1], ()), Endpoint(ids[2], ids[1], (tool,))
    cursor = feed(without, ChangesArguments())["cursor"]
    assert feed(without, ChangesArguments(since=cursor))["changes"] == []
    with pytest.raises(Gone, match="Tools of this endpoint"):
        feed(bound, ChangesArguments(since=cursor))


def test_a_cursor_from_after_the_end_is_gone(world: World, feed: ChangeFeed, sql: psycopg.Connection) -> None:
    """The database was restored from a backup."""
    _, cursor = read(feed)
    sql.execute("update change_feed set last = 0")
    sql.execute("update change set number = null")
    sql.execute("delete from change where subject like %s", ["%" + quote(B)])
    with pytest.raises(Gone):
        read(feed, cursor)
