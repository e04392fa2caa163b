"""The publisher of the outbox: what the bus rejects blocks nothing else, and the time is limited."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin.platform.aws import BusEvent
from sakuin.tables.admin.outbox import Outbox

from tests.worlds import TableWorld

REJECTED = 120
INSERTED = """insert into outbox (event, project_id, table_id)
    select 'TableUpdated', %s, gen_random_uuid() from generate_series(1, %s)"""


@dataclass
class RejectingBus:
    """A bus that rejects the events of a project; each request takes `seconds`."""

    rejected: str
    seconds: float = 0.0
    now: float = 0.0
    requests: list[Sequence[BusEvent]] = field(default_factory=list)

    def put(self, events: Sequence[BusEvent]) -> list[bool]:
        self.requests.append(events)
        self.now += self.seconds
        return [event.detail["project_id"] != self.rejected for event in events]


@pytest.fixture
def poisoned(tables: TableWorld) -> TableWorld:
    """An outbox whose oldest events the bus always rejects."""
    tables.sql("delete from outbox")
    tables.sql(INSERTED, tables.project, REJECTED)
    return tables


def publish(world: TableWorld, bus: Any) -> int:
    return Outbox(world.client, bus, lambda: bus.now).publish()


def test_events_that_the_bus_always_rejects_block_no_later_ones(poisoned: TableWorld) -> None:
    bus = RejectingBus(poisoned.project)
    poisoned.sql(INSERTED, poisoned.beside().project, 30)
    # `beside` made a project, which sends no event.
    assert publish(poisoned, bus) == 30
    assert publish(poisoned, bus) == 0
    poisoned.sql(INSERTED, poisoned.beside().project, 1)
    bus.requests.clear()
    assert publish(poisoned, bus) == 1
    assert bus.requests[0][0].detail["project_id"] != poisoned.project


def test_each_event_is_sent_once_in_a_run_and_rejected_ones_again_in_the_next(poisoned: TableWorld) -> None:
    bus = RejectingBus(poisoned.project)
    for _ in range(2):
        bus.requests.clear()
        publish(poisoned, bus)
        ids = [event.detail["table_id"] for events in bus.requests for event in events]
        assert (len(ids), len(set(ids))) == (REJECTED, REJECTED)
    bus.rejected = ""
    assert publish(poisoned, bus) == REJECTED
    assert poisoned.sql("select count(*) from outbox where sent_at is null") == [(0,)]


def test_a_slow_bus_takes_a_limited_time(poisoned: TableWorld) -> None:
    poisoned.sql(INSERTED, poisoned.project, 500)
    bus = RejectingBus("", seconds=4.0)
    assert publish(poisoned, bus) == 200
    assert publish(poisoned, bus) == 200
