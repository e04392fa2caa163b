"""Edits while two index versions are kept, with workers that die at each step."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest
from sakuin.retrieval.index_version import IndexVersion
from sakuin.tables.chunk_store import namespace
from sakuin.tables.chunking import chunks

from tests.convergence.interleaving import Died
from tests.doubles.sqs import Message
from tests.tables.index_versions.conftest import BLUE, GREEN, Asked, Deployment, fingerprint_of, indexed
from tests.worlds import EMBEDS, TOOLS, TableWorld, long

A, B, C = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")
# Changes, a string that moves, one that goes and comes back, and A → B → A.
EDITS = ({"a": B, "b": B}, {"a": A, "c": C}, {"a": C}, {"a": A, "b": C}, {"b": A, "c": B}, {"a": A, "b": B})
# A scan of both indexes makes about as many calls; a batch of chunks some fewer.
LONGEST_LIFE = 16


@dataclass
class Life:
    """Ends a worker after so many calls of the database or the store; 0 means never."""

    calls: int

    def spent(self, *_: object) -> None:
        self.calls -= 1
        if self.calls == 0:
            raise Died


@dataclass
class StoreOfOneLife:
    """The store; each call counts."""

    real: Any
    life: Life

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)

        def called(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            self.life.spent()
            return result

        return called


@contextmanager
def one_life(world: TableWorld, calls: int) -> Iterator[None]:
    """Counts the calls of one worker within the block."""
    life, store, session = Life(calls), world.store, world.client.session
    world.store = StoreOfOneLife(store, life)
    session.event_hooks = {"response": [life.spent]}
    try:
        yield
    finally:
        world.store, session.event_hooks = store, {}


@dataclass
class Mortals:
    """Workers: the first one that receives a message dies, each after one call more; the second lives."""

    deployment: Deployment
    lives: Iterator[int] = field(default_factory=lambda: cycle(range(1, LONGEST_LIFE)))
    seen: set[str] = field(default_factory=set)
    died: set[tuple[str, str | None]] = field(default_factory=set)

    def take(self, messages: int) -> None:
        for message in self.deployment.waiting[:messages]:
            self._work(message)

    def settle(self) -> None:
        """Works until no message is left and nothing is restarted."""
        while True:
            while self.deployment.waiting:
                self.take(1)
            self.deployment.world.passes(130)
            done = self.deployment.build()
            if not (done.resumed or done.restarted or self.deployment.sqs.messages):
                return

    def _work(self, message: Message) -> None:
        calls = 0 if message.id in self.seen else next(self.lives)
        self.seen.add(message.id)
        try:
            with one_life(self.deployment.world, calls):
                self.deployment.world.take(self.deployment.waiting.index(message))
        except Died:
            self.died.add((message.queue, fingerprint_of(message)))


def holds(deployment: Deployment, asked: Asked, settings: IndexVersion) -> dict[str, set[str]]:
    """Returns the texts that an index answers of a Table, by pointer, and checks the rows of the store."""
    recorded = deployment.index(settings).recorded_rows(asked.table)
    assert recorded is not None
    suffix = next(each.suffix for each in deployment.kept() if each.settings == settings)
    name = namespace(deployment.world.project, asked.table, suffix)
    assert deployment.world.store.ids(name).keys() == recorded.stored.keys()
    found: dict[str, set[str]] = {}
    for hit in deployment.search(asked.endpoint, name=settings.id).results:
        found.setdefault(hit.chunk.json_pointer, set()).add(hit.chunk.chunk_text)
    return found


def wanted(document: dict[str, str], settings: IndexVersion) -> dict[str, set[str]]:
    """Returns the texts that an index must answer of a document."""
    cut = settings.cut
    return {
        f"/{name}": {chunk.text for chunk in chunks(text, size=cut.chunk_size, overlap=cut.overlap)}
        for name, text in document.items()
    }


def assert_both_hold(deployment: Deployment, asked: Asked, document: dict[str, str]) -> None:
    for settings in (BLUE, GREEN):
        assert holds(deployment, asked, settings) == wanted(document, settings)
        assert deployment.state(settings).is_whole
    assert deployment.world.status(asked.tool)["state"] == "ready"
    assert (deployment.world.unfinished_rows(asked.table), deployment.sqs.dead) == ([], [])


def died_in_both(mortals: Mortals) -> bool:
    """Returns whether workers died during a scan and during a batch of each index."""
    batches = {(EMBEDS, settings.tables.id) for settings in (BLUE, GREEN)}
    return mortals.died >= batches | {(TOOLS, None)}


def test_after_each_edit_both_indexes_hold_it_whichever_answers_and_whatever_queues_forget(both: Deployment) -> None:
    asked, mortals = indexed(both, {"a": A, "b": B}), Mortals(both)
    for turn, document in enumerate(EDITS):
        both.world.replace(asked.table, document)
        if turn == 1:
            both.deliver()
            for settings in (BLUE, GREEN):
                both.lose(settings)
        mortals.settle()
        assert_both_hold(both, asked, document)
        both.indexes.activate((GREEN, BLUE)[turn % 2].id)
    assert died_in_both(mortals)


@pytest.mark.parametrize("rising", [True, False])
def test_edits_that_overtake_each_other_leave_both_indexes_with_the_last(both: Deployment, *, rising: bool) -> None:
    # With rising lives no scan is completed before the next edit, with falling ones most are.
    lives = range(1, LONGEST_LIFE) if rising else range(LONGEST_LIFE - 1, 0, -1)
    asked, mortals = indexed(both, {"a": A, "b": B}), Mortals(both, cycle(lives))
    for document in EDITS:
        both.world.replace(asked.table, document)
        mortals.take(2)
    mortals.settle()
    assert_both_hold(both, asked, EDITS[-1])
    assert mortals.died
