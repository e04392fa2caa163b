"""The start of a function: garbage collection and what is loaded ahead."""

import gc
import weakref

import pytest
from sakuin.wiring.starting import starts_ahead, without_gc


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_the_collector_is_off_during_a_start_only() -> None:
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
def test_snapshots_and_provisioned_workers_start_ahead(kind: str, ahead: bool) -> None:
    assert starts_ahead({"AWS_LAMBDA_INITIALIZATION_TYPE": kind}) is ahead
    assert starts_ahead({}) is False
