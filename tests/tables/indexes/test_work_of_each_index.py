"""Work of one index that stands still, waits or fails is taken up, and given up, in that index alone."""

import pytest
from sakuin.domain.index_settings import IndexSettings
from sakuin.domain.table_index import tables_of
from sakuin.domain.work import MAX_TRIES, Done, Ended, Parked
from sakuin.errors import Unavailable

from tests.tables.conftest import WatchedStore, long
from tests.tables.indexes.conftest import BLUE, GREEN, Asked, Deployment, Message, indexed

STILL = "Its indexing was started 5 times and stood still each time"
EACH = pytest.mark.parametrize(("still", "other"), [(BLUE, GREEN), (GREEN, BLUE)], ids=["live", "beside"])


def asked_of(message: Message) -> tuple[str, str | None]:
    return message.queue, message.fingerprint


def edited_but_for(deployment: Deployment, asked: Asked, still: IndexSettings) -> None:
    """A new text, which one index never hears how to embed."""
    deployment.edit(asked.table, {"a": long("一次関数")})
    deployment.deliver()
    deployment.lose(still)
    deployment.settle()


def is_whole(deployment: Deployment, settings: IndexSettings, asked: Asked) -> bool:
    """Whether an index has all of the Table."""
    said = deployment.world.call("table_whole", table=asked.table, fingerprint=tables_of(settings).id)
    return bool(said)


@EACH
def test_a_table_that_stands_still_in_one_index_is_started_again_in_that_index(
    both: Deployment, still: IndexSettings, other: IndexSettings
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    edited_but_for(both, asked, still)
    assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (False, True)
    both.passes(100)
    assert both.build().restarted == 0
    both.passes(30)
    assert both.build().restarted == 1
    assert [asked_of(message) for message in both.waiting] == [("tool", tables_of(still).id)]
    both.settle()
    assert is_whole(both, still, asked)
    assert both.world.status(asked.tool)["state"] == "ready"
    both.passes(1000)
    assert both.build().restarted == 0


def stood_still(deployment: Deployment, asked: Asked, still: IndexSettings) -> None:
    """It is started again and again, and each time its messages are lost."""
    edited_but_for(deployment, asked, still)
    for _ in range(MAX_TRIES + 1):
        deployment.passes(130)
        deployment.build()
        deployment.lose(still)


def test_a_table_that_stands_still_in_the_index_that_answers_has_an_error_there_alone(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    stood_still(both, asked, BLUE)
    status = both.world.status(asked.tool)
    assert (status["state"], status["last_error"].startswith(STILL)) == ("error", True)
    assert is_whole(both, GREEN, asked)
    assert both.state(GREEN).is_whole


def test_a_table_that_stands_still_beside_has_an_error_there_alone_until_it_changes_or_a_day_has_passed(
    both: Deployment,
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    stood_still(both, asked, GREEN)
    assert both.world.status(asked.tool)["state"] == "ready"
    ((table, reason),) = both.state(GREEN).tables.named
    assert (table, reason.startswith(STILL)) == (asked.table, True)
    both.passes(3600)
    both.build()
    assert both.waiting == []
    both.passes(86_400)
    both.build()
    assert [asked_of(message) for message in both.waiting] == [("tool", tables_of(GREEN).id)]
    both.settle()
    assert both.state(GREEN).is_whole


@EACH
def test_what_ends_its_worker_each_time_is_given_up_in_its_index_and_redriven_there(
    both: Deployment, still: IndexSettings, other: IndexSettings
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.edit(asked.table, {"a": long("一次関数")})
    both.deliver()
    deadly = next(message for message in both.waiting if message.fingerprint == tables_of(still).id)
    both.lose(still)
    both.settle()
    for _ in range(MAX_TRIES):
        both.rows.begin([deadly.taken])
        both.passes(60)
        both.build()
        both.waiting.clear()
    assert both.line.dead == [deadly]
    assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (False, True)
    if still is BLUE:
        assert both.world.status(asked.tool)["last_error"].startswith("Its worker stopped without a word 5 times")
    else:
        assert both.world.status(asked.tool)["state"] == "ready"
        assert both.state(GREEN).tables.named[0][1].startswith("Its worker stopped without a word 5 times")
    both.line.send_message(QueueUrl=deadly.queue, MessageBody=deadly.body)
    both.settle()
    assert is_whole(both, still, asked)
    assert both.state(GREEN).is_whole
    assert both.world.status(asked.tool)["state"] == "ready"


@EACH
def test_what_one_index_waits_for_does_not_hold_up_the_other(
    both: Deployment, still: IndexSettings, other: IndexSettings
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.edit(asked.table, {"a": long("一次関数")})
    both.deliver()
    parked = next(message for message in both.waiting if message.fingerprint == tables_of(other).id)
    both.rows.begin([parked.taken])
    both.rows.end([Ended(parked.taken, Parked(3600, "this waits for openai", "openai"))])
    both.waiting.clear()
    both.passes(130)
    assert both.build().restarted == 1
    both.settle()
    assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (True, False)
    status = both.world.status(asked.tool)
    if other is BLUE:
        assert (status["state"], status["last_error"]) == ("indexing", "this waits for openai")
    else:
        assert (status["state"], status["last_error"]) == ("ready", None)
        assert both.state(GREEN).tables.named == ((asked.table, "this waits for openai"),)
    both.passes(3600)
    both.build()
    both.settle()
    assert both.state(GREEN).is_whole
    assert both.world.status(asked.tool)["state"] == "ready"


def test_a_sign_of_life_for_one_index_is_none_for_the_other(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.edit(asked.table, {"a": long("一次関数")})
    both.deliver()
    beside = next(message for message in both.waiting if message.fingerprint == tables_of(GREEN).id)
    both.waiting.clear()
    both.rows.begin([beside.taken])
    both.passes(130)
    both.rows.beat([beside.id])
    assert both.build().restarted == 1
    assert {asked_of(message) for message in both.waiting} == {("tool", tables_of(BLUE).id)}
    both.rows.end([Ended(beside.taken, Done())])
    both.settle()
    assert both.world.status(asked.tool)["state"] == "ready"


def test_a_walk_that_fails_beside_does_not_keep_what_answers_from_its_own(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.edit(asked.table, {"b": long("一次関数")})

    def away() -> None:
        raise Unavailable("turbopuffer did not answer", vendor="turbopuffer")

    both.world.store = WatchedStore(both.world.store, before={"delete": away})
    message = both.waiting[0]
    with pytest.raises(Unavailable):
        both.deliver()
    both.settle()
    assert both.world.status(asked.tool)["state"] == "ready"
    assert both.pointers(asked.endpoint) == {"/b"}
    assert not is_whole(both, GREEN, asked)
    both.waiting.append(message)
    both.settle()
    assert is_whole(both, GREEN, asked)


def test_no_more_tables_are_asked_for_than_may_be_under_way(deployment: Deployment) -> None:
    tables = sorted(indexed(deployment, {"a": long("二次方程式")}).table for _ in range(3))
    deployment.indexes.keep(GREEN)

    def asked() -> list[str]:
        found = deployment.indexes.tables_to_build(tables_of(GREEN).id, seconds=86_400, limit=2)
        for project, table in found:
            deployment.asks(tables_of(GREEN).id).index(project, table)
        return [table for _, table in found]

    assert (asked(), asked()) == (tables[:2], [])
    deployment.settle()
    assert (asked(), asked()) == (tables[2:], [])
