"""While a function starts the collector rests, and nothing that must be collected later is lost to it."""

import gc
import weakref

import pytest
from sakuin.wiring.starting import starts_ahead, without_gc


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_the_collector_rests_during_a_start_and_works_afterwards() -> None:
    assert without_gc(gc.isenabled)() is False
    assert gc.isenabled()


def test_a_start_that_fails_leaves_the_collector_on() -> None:
    @without_gc
    def fails() -> None:
        raise RuntimeError("no secret")

    with pytest.raises(RuntimeError, match="no secret"):
        fails()
    assert gc.isenabled()


def test_what_is_made_after_a_start_is_collected() -> None:
    without_gc(Node)()
    later = weakref.ref(Node())
    gc.collect()
    assert later() is None


@pytest.mark.parametrize(
    ("kind", "ahead"), [("on-demand", False), ("provisioned-concurrency", True), ("snap-start", True)]
)
def test_nobody_waits_for_a_snapshot_or_for_a_worker_kept_ready(kind: str, ahead: bool) -> None:
    assert starts_ahead({"AWS_LAMBDA_INITIALIZATION_TYPE": kind}) is ahead
    assert starts_ahead({}) is False
