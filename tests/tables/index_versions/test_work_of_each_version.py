"""Work of one index version that stalls, waits or fails is handled in that version alone."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sakuin.errors import CircuitOpen
from sakuin.platform.embedding import Vector
from sakuin.platform.retry import MAX_FAILURES
from sakuin.retrieval.index_version import IndexVersion
from sakuin.tables.nodes import namespace
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import KeptIndex, ReconcileTables
from sakuin.upkeep.index_versions import MissingPart

from tests.convergence.interleaving import Died
from tests.doubles.embedder import MemoryEmbedder
from tests.doubles.sqs import Message
from tests.tables.index_versions.conftest import BLUE, GREEN, Asked, Deployment, fingerprint_of, indexed
from tests.worlds import TOOLS, long

STILL = "Its indexing was started 5 times and stalled each time"
NO_ANSWER = "The worker ended without an answer: not enough memory or time, or a defect"
WAITS = "openai is not called for a while; this waits for openai and continues automatically"
EACH = ((BLUE, GREEN), (GREEN, BLUE))


@dataclass
class Failing(MemoryEmbedder):
    """It fails with `error` for texts that have `words` in them."""

    words: str = ""
    error: BaseException = field(default_factory=Died)

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if any(self.words in text for text in texts):
            raise self.error
        return super().passages(texts)


def asked_of(message: Message) -> tuple[str, str | None]:
    return message.queue, fingerprint_of(message)


def edited_but_for(deployment: Deployment, asked: Asked, still: IndexVersion, words: str) -> None:
    """Edits a Table and loses the messages of one index."""
    deployment.world.replace(asked.table, {"a": long(words)})
    deployment.deliver()
    deployment.lose(still)
    deployment.settle()


def is_whole(deployment: Deployment, settings: IndexVersion, asked: Asked) -> bool:
    said = deployment.world.call("is_table_complete", table=asked.table, fingerprint=settings.tables.id)
    return bool(said)


def test_a_table_that_stalls_in_one_index_is_restarted_in_that_index(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    for still, other in EACH:
        edited_but_for(both, asked, still, f"一次関数{still.id}")
        assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (False, True)
        both.world.passes(100)
        assert both.build()["restarted"] == 0
        both.world.passes(30)
        assert both.build()["restarted"] == 1
        assert [asked_of(message) for message in both.waiting] == [(TOOLS, still.tables.id)]
        both.settle()
        assert is_whole(both, still, asked)
        assert both.world.status(asked.tool)["state"] == "ready"
    both.world.passes(1000)
    assert both.build()["restarted"] == 0


def test_a_table_that_stalls_each_time_has_an_error_only_in_that_index_and_beside_for_a_day(both: Deployment) -> None:
    live, beside = (indexed(both, {"a": long("二次方程式")}) for _ in range(2))
    lost = {BLUE: live.table, GREEN: beside.table}
    for table in lost.values():
        both.world.replace(table, {"a": long("一次関数")})
    both.deliver()
    both.deliver()
    for _ in range(MAX_FAILURES + 1):
        for still, table in lost.items():
            both.lose(still, table)
        both.settle()
        both.world.passes(1000)
        both.build()
    status = both.world.status(live.tool)
    assert (status["state"], status["last_error"].startswith(STILL)) == ("error", True)
    assert is_whole(both, GREEN, live)
    assert both.world.status(beside.tool)["state"] == "ready"
    (missing,) = both.state(GREEN).tables.named
    assert (missing.name, missing.reason.startswith(STILL)) == (beside.table, True)
    both.world.passes(3600)
    both.build()
    assert both.waiting == []
    both.world.passes(86_400)
    both.build()
    assert [asked_of(message) for message in both.waiting] == [(TOOLS, GREEN.tables.id)]
    both.settle()
    assert both.state(GREEN).is_whole


def test_what_ends_its_worker_each_time_is_given_up_in_its_index_and_redriven_there(both: Deployment) -> None:
    live, beside = (indexed(both, {"a": long("二次方程式")}) for _ in range(2))
    for still, asked in ((BLUE, live), (GREEN, beside)):
        words = f"一次関数{still.id}"
        both.world.embedders[still.model] = Failing(still.model, words=words)
        both.world.replace(asked.table, {"a": long(words)})
    for _ in range(100):
        while both.waiting:
            with suppress(Died):
                both.world.take()
        both.world.passes(61)
        both.build()
        if not both.sqs.messages:
            break
    assert {fingerprint_of(message) for message in both.sqs.dead} == {BLUE.tables.id, GREEN.tables.id}
    for asked, still, other in ((live, BLUE, GREEN), (beside, GREEN, BLUE)):
        assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (False, True)
        (letter, *_) = [each for each in both.sqs.dead if asked.table in each.body]
        assert (fingerprint_of(letter), letter.why) == (still.tables.id, NO_ANSWER)
    status = both.world.status(live.tool)
    assert (status["state"], status["last_error"].startswith(NO_ANSWER)) == ("error", True)
    assert both.world.status(beside.tool)["state"] == "ready"
    (missing,) = both.state(GREEN).tables.named
    assert (missing.name, missing.reason.startswith(NO_ANSWER)) == (beside.table, True)
    both.world.embedders.clear()
    both.sqs.redrive()
    both.settle()
    assert is_whole(both, BLUE, live)
    assert both.state(GREEN).is_whole
    for asked in (live, beside):
        assert (both.world.status(asked.tool)["state"], both.world.waiting_rows(asked.table)) == ("ready", [])


def test_what_one_index_waits_for_does_not_hold_up_the_other(both: Deployment) -> None:
    asked = indexed(both, {"a": long("二次方程式")})
    for still, other in EACH:
        away = CircuitOpen("openai is not called for a while", vendor="openai", retry_after=600)
        both.world.embedders[other.model] = Failing(other.model, error=away)
        edited_but_for(both, asked, still, f"一次関数{still.id}")
        # The queue has a message, which may be the one that was lost.
        for _ in range(16):
            both.world.passes(60)
            both.settle()
        assert both.build()["restarted"] == 1
        both.settle()
        assert (is_whole(both, still, asked), is_whole(both, other, asked)) == (True, False)
        status = both.world.status(asked.tool)
        waits = (("indexing", WAITS), []) if other is BLUE else (("ready", None), [MissingPart(asked.table, WAITS)])
        assert ((status["state"], status["waiting_reason"]), both.state(GREEN).tables.named) == waits
        del both.world.embedders[other.model]
        both.world.passes(900)
        both.build()
        both.settle()
        assert both.state(GREEN).is_whole
        assert (both.world.status(asked.tool)["state"], both.world.waiting_rows(asked.table)) == ("ready", [])


def test_no_more_tables_are_asked_for_than_may_be_under_way(deployment: Deployment) -> None:
    tables = sorted(indexed(deployment, {"a": long("二次方程式")}).table for _ in range(3))
    deployment.indexes.add(GREEN)

    def asked() -> list[str]:
        stalled = deployment.index(GREEN).stalled_tables(120, limit=2)
        for project, table in stalled:
            assert deployment.index(GREEN).record_start(table, seconds=120) == 1
            deployment.world.queues_of(GREEN.tables.id).index(project, table)
        return [table for _, table in stalled]

    assert (asked(), asked()) == (tables[:2], [])
    deployment.settle()
    assert (asked(), asked()) == (tables[2:], [])


def night(deployment: Deployment) -> list[str]:
    """Returns the rules of all differences."""
    world = deployment.world
    indexes = [
        KeptIndex(
            TableIndex(world.client, each.settings.tables),
            replace(world.queues_of(), index_version=each.tables),
            each.suffix,
        )
        for each in deployment.kept()
    ]
    page = ReconcileTables(world.store, indexes).page(None, dry_run=False, is_over=lambda: False)
    return [one.rule for one in page.differences]


def test_a_row_that_a_late_worker_left_beside_is_removed(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    assert night(deployment) == []  # an index that is being built is no difference
    deployment.settle()
    beside = next(each for each in deployment.kept() if not each.live)
    name, world = namespace(deployment.world.project, asked.table, beside.suffix), deployment.world
    whole = world.store.ids(name)
    row = {"id": "late", "chunk": "late", "passage": 0, "vector": [1.0] + [0.0] * 1535, "generation": 1}
    world.store.client.namespace(name).write(upsert_rows=[row], distance_metric="cosine_distance")
    assert (night(deployment), world.store.ids(name)) == (["left over"], whole)
    assert night(deployment) == []
    world.store.delete_namespace(name)
    assert night(deployment) == ["lost"]
    deployment.settle()
    assert (night(deployment), world.store.ids(name).keys()) == ([], whole.keys())
