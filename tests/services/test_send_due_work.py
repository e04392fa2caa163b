"""Work that nobody holds is sent again; what ends its workers every time becomes a dead letter."""

import pytest
from sakuin.domain.work import MAX_TRIES, About, DueWork, Ended, Parked, Taken, WorkQueueName
from sakuin.errors import Unavailable
from sakuin.services.send_due_work import SendDueWork, SentWork

from tests.in_memory.work import MemoryWork, MemoryWorkQueues, a_message


class Maintenance:
    """Rows, queues, and who heard of an end."""

    def __init__(self) -> None:
        self.rows, self.queues = MemoryWork(), MemoryWorkQueues()
        self.gave_up: list[tuple[WorkQueueName, About, str]] = []

    def __call__(self, limit: int = 100) -> SentWork:
        def gave_up(queue: WorkQueueName, about: About, reason: str) -> None:
            self.gave_up.append((queue, about, reason))

        return SendDueWork(self.rows, self.queues, gave_up, limit)()

    def taken(self, *messages: Taken) -> None:
        self.rows.begin(messages)


@pytest.fixture
def maintenance() -> Maintenance:
    return Maintenance()


def test_a_worker_that_died_costs_a_minute(maintenance: Maintenance) -> None:
    maintenance.taken(a_message())
    assert maintenance() == SentWork(0, 0)
    maintenance.rows.now += 60
    assert maintenance() == SentWork(1, 0)
    assert [(work.id, work.body) for work in maintenance.queues.sent] == [("m1", a_message().body)]
    maintenance.rows.now += 60
    assert maintenance() == SentWork(0, 0)


def test_what_ends_its_worker_each_time_is_a_dead_letter_after_five(maintenance: Maintenance) -> None:
    for _ in range(MAX_TRIES):
        maintenance.taken(a_message(queue="embed", subject="a table"))
        maintenance.rows.now += 60
        maintenance()
    assert len(maintenance.queues.sent) == MAX_TRIES - 1
    assert [work.id for work in maintenance.queues.buried] == ["m1"]
    assert maintenance.rows.table["m1"].state == "dead"
    ((queue, about, reason),) = maintenance.gave_up
    assert (queue, about.subject) == ("embed", "a table")
    assert reason.startswith("Its worker stopped without a word 5 times")


def test_the_copies_of_a_dead_letter_are_known_as_dead(maintenance: Maintenance) -> None:
    for _ in range(MAX_TRIES):
        maintenance.taken(a_message())
        maintenance.rows.now += 60
        maintenance()
    assert maintenance.rows.begin([a_message()])["m1"].dead


def test_a_letter_that_could_not_be_buried_is_buried_or_sent_later(maintenance: Maintenance) -> None:
    class Closed(MemoryWorkQueues):
        def bury(self, work: DueWork) -> None:
            raise Unavailable("SQS did not take the request", vendor="sqs")

    for _ in range(MAX_TRIES - 1):
        maintenance.taken(a_message())
        maintenance.rows.now += 60
        maintenance()
    maintenance.taken(a_message())
    maintenance.rows.now += 60
    queues, maintenance.queues = maintenance.queues, Closed()
    with pytest.raises(Unavailable):
        maintenance()
    assert maintenance.rows.table["m1"].state != "dead"
    maintenance.queues = queues
    maintenance.rows.now += 61
    assert maintenance() == SentWork(1, 0)


def test_a_new_day_does_not_send_everything_at_once(maintenance: Maintenance) -> None:
    messages = [a_message(f"m{n}") for n in range(5)]
    maintenance.taken(*messages)
    maintenance.rows.end([Ended(one, Parked(60, "tomorrow")) for one in messages])
    maintenance.rows.now += 61
    assert [maintenance(limit=2).sent for _ in range(4)] == [2, 2, 1, 0]
