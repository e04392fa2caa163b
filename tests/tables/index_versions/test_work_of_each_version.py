"""Work of one index version that stalls, waits or fails is handled in that version alone."""

from collections.abc import Sequence
from contextlib import suppress

import pytest
from sakuin.errors import CircuitOpen, Unavailable
from sakuin.platform.embedding import Vector
from sakuin.platform.retry import MAX_RECEIVES
from sakuin.retrieval.index_version import IndexVersion

from tests.convergence.interleaving import Died
from tests.doubles.embedder import MemoryEmbedder
from tests.doubles.sqs import Message
from tests.table_functions import TOOLS, fingerprint_of
from tests.table_world import WatchedStore, long
from tests.tables.index_versions.conftest import BLUE, GREEN, Asked, Deployment, indexed

STILL = "Its indexing was started 5 times and stalled each time"
NO_ANSWER = "The worker ended without an answer: not enough memory or time, or a defect"
WAITS = "openai is not called for a while; this waits for openai and continues automatically"
EACH = pytest.mark.parametrize(("still", "other"), [(BLUE, GREEN), (GREEN, BLUE)], ids=["live", "beside"])


class Deadly(MemoryEmbedder):
    """It ends its worker."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        raise Died


class Away(MemoryEmbedder):
    """Its vendor is not called for a while."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        raise CircuitOpen("openai is not called for a while", vendor="openai", retry_after=600)


def asked_of(message: Message) -> tuple[str, str | None]:
    return message.queue, fingerprint_of(message)


def edited_but_for(deployment: Deployment, asked: Asked, still: IndexVersion) -> None:
    """Edits a Table and loses the messages of one index."""
    deployment.edit(asked.table, {"a": long("一次関数")})
    deployment.deliver()
    deployment.lose(still)
    deployment.settle()


def is_whole(deployment: Deployment, settings: IndexVersion, asked: Asked) -> bool:
    said = deployment.world.call("is_table_complete", table=asked.table, fingerprint=settings.tables.id)
    return bool(said)


@EACH
def test_a_table_that_stalls_in_one_index_is_restarted_in_that_index(
    both: Deployment, still: IndexVersion, other: IndexVersion
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    edited_but_for(both, asked, still)
    assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (False, True)
    both.passes(100)
    assert both.build().restarted == 0
    both.passes(30)
    assert both.build().restarted == 1
    assert [asked_of(message) for message in both.waiting] == [(TOOLS, still.tables.id)]
    both.settle()
    assert is_whole(both, still, asked)
    assert both.world.status(asked.tool)["state"] == "ready"
    both.passes(1000)
    assert both.build().restarted == 0


def stood_still(deployment: Deployment, asked: Asked, still: IndexVersion) -> None:
    """Restarts the indexing repeatedly and loses its messages each time."""
    edited_but_for(deployment, asked, still)
    for _ in range(MAX_RECEIVES + 1):
        deployment.passes(130)
        deployment.build()
        deployment.lose(still)


def test_a_table_that_stalls_in_the_live_index_has_an_error_only_there(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    stood_still(both, asked, BLUE)
    status = both.world.status(asked.tool)
    assert (status["state"], status["last_error"].startswith(STILL)) == ("error", True)
    assert is_whole(both, GREEN, asked)
    assert both.state(GREEN).is_whole


def test_a_table_that_stalls_in_the_next_index_has_an_error_only_there_for_a_day(
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
    assert [asked_of(message) for message in both.waiting] == [(TOOLS, GREEN.tables.id)]
    both.settle()
    assert both.state(GREEN).is_whole


@EACH
def test_what_ends_its_worker_each_time_is_given_up_in_its_index_and_redriven_there(
    both: Deployment, still: IndexVersion, other: IndexVersion
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.embedders[still.id] = Deadly(still.model)
    both.edit(asked.table, {"a": long("一次関数")})
    for _ in range(100):
        while both.waiting:
            with suppress(Died):
                both.functions.take()
        both.passes(60)
        both.build()
        if not both.sqs.messages:
            break
    assert {fingerprint_of(message) for message in both.sqs.dead} == {still.tables.id}
    assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (False, True)
    (row,) = both.functions.rows(asked.table)
    assert (row.state, row.fingerprint, row.reason) == ("failed", still.tables.id, NO_ANSWER)
    status = both.world.status(asked.tool)
    if still is BLUE:
        assert (status["state"], status["last_error"].startswith(STILL)) == ("error", True)
    else:
        assert status["state"] == "ready"
        assert both.state(GREEN).tables.named[0][1].startswith(STILL)
    del both.embedders[still.id]
    both.sqs.redrive()
    both.settle()
    assert is_whole(both, still, asked)
    assert both.state(GREEN).is_whole
    assert both.world.status(asked.tool)["state"] == "ready"
    assert both.functions.rows(asked.table) == []


@EACH
def test_what_one_index_waits_for_does_not_hold_up_the_other(
    both: Deployment, still: IndexVersion, other: IndexVersion
) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.embedders[other.id] = Away(other.model)
    both.edit(asked.table, {"a": long("一次関数")})
    both.deliver()
    both.lose(still)
    both.settle()
    both.passes(130)
    assert both.build().restarted == 1
    both.settle()
    assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (True, False)
    status = both.world.status(asked.tool)
    if other is BLUE:
        assert (status["state"], status["last_error"]) == ("indexing", WAITS)
    else:
        assert (status["state"], status["last_error"]) == ("ready", None)
        assert both.state(GREEN).tables.named == ((asked.table, WAITS),)
    del both.embedders[other.id]
    both.passes(900)
    both.build()
    both.settle()
    assert both.state(GREEN).is_whole
    assert both.world.status(asked.tool)["state"] == "ready"
    assert both.functions.rows(asked.table) == []


def test_progress_in_one_index_is_none_in_the_other(both: Deployment) -> None:
    # More chunks than a message holds: one batch of them is a sign of life, and does not make the Table whole.
    asked = indexed(both, {"a": long("二次方程式")})
    both.edit(asked.table, {"a": long("一次関数", 30_000)})
    both.deliver()
    both.lose(BLUE)
    for message in both.waiting[1:]:
        both.sqs.forget(message)
    both.passes(130)
    both.deliver()
    assert both.build().restarted == 1
    assert {asked_of(message) for message in both.waiting} == {(TOOLS, BLUE.tables.id)}
    both.settle()
    assert both.world.status(asked.tool)["state"] == "ready"
    assert not is_whole(both, GREEN, asked)


def test_a_scan_that_fails_beside_does_not_keep_what_answers_from_its_own(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    both.edit(asked.table, {"b": long("一次関数")})

    def away() -> None:
        raise Unavailable("turbopuffer did not answer", vendor="turbopuffer")

    both.world.store = WatchedStore(both.world.store, before={"delete": away})
    assert not both.functions.take()
    both.settle()
    assert both.world.status(asked.tool)["state"] == "ready"
    assert both.pointers(asked.endpoint) == {"/b"}
    assert not is_whole(both, GREEN, asked)
    both.passes(5)
    both.settle()
    assert is_whole(both, GREEN, asked)


def test_no_more_tables_are_asked_for_than_may_be_under_way(deployment: Deployment) -> None:
    tables = sorted(indexed(deployment, {"a": long("二次方程式")}).table for _ in range(3))
    deployment.indexes.add(GREEN)

    def asked() -> list[str]:
        found = deployment.indexes.tables_to_build(GREEN.tables.id, seconds=86_400, limit=2)
        for project, table in found:
            deployment.queues(GREEN.tables.id).index(project, table)
        return [table for _, table in found]

    assert (asked(), asked()) == (tables[:2], [])
    deployment.settle()
    assert (asked(), asked()) == (tables[2:], [])
