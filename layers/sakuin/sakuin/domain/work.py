"""A message on its way through the workers: what it is about, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sakuin.domain.material_version import Source

WorkQueueName = Literal["material", "tool", "embed"]
WorkState = Literal["in_hand", "waiting", "parked", "dead"]
# As every queue of the template says.
MAX_TRIES = 5
# Nothing waits longer for a vendor without a look: what it asks for may be a mistake.
LONGEST_WAIT = 900.0
# A copy of a message says whose copy it is, in this attribute.
WORK_ATTRIBUTE = "work_id"


@dataclass(frozen=True, slots=True)
class About:
    """What a message is about: the material or the Table's id, and the version of an S3 object that it speaks of.

    A version without a sequencer is whichever the bucket holds when somebody looks.
    `fingerprint` is the index over Tables that it is for; None: for all.
    """

    subject: str | None = None
    source: Source | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that a worker took. A copy of a message has its `id`.

    `tries` is how often its queue has given it out, `sent_at` the moment it was sent, in seconds since 1970.
    """

    id: str
    queue: WorkQueueName
    body: str
    correlation_id: str
    about: About
    tries: int
    sent_at: float


@dataclass(frozen=True, slots=True)
class Begun:
    """What the rows say of a message that was taken.

    `attempt` counts every time it was taken, under its own name and as a copy; `parks` how often it was parked;
    `waited` says for how many seconds it has been in trouble.
    `dead`: it lies among the dead letters already, and this one is a copy that was sent before.
    """

    attempt: int = 1
    parks: int = 0
    dead: bool = False
    waited: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Done:
    """There is nothing left to do."""


@dataclass(frozen=True, slots=True)
class Again:
    """It failed, because of `vendor` if that is to blame, and its queue gives it out again after `seconds`."""

    seconds: float
    reason: str
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """It waits in no queue: for `vendor`, or with None for the next day. It is sent again after `seconds`."""

    seconds: float
    reason: str
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """It failed for the last time."""

    reason: str


Outcome = Done | Again | Parked | Dead


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a message."""

    taken: Taken
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class DueWork:
    """Work that is to be sent again. `lost`: the worker that had it gave no sign of life any more."""

    id: str
    queue: WorkQueueName
    body: str
    correlation_id: str
    about: About
    attempt: int
    lost: bool


@dataclass(frozen=True, slots=True)
class WorkRow:
    """What people see of work. `since`: since when it is in trouble; `until`: when it is sent again by itself."""

    id: str
    queue: WorkQueueName
    state: WorkState
    subject: str | None
    attempt: int
    vendor: str | None
    reason: str | None
    taken_at: str
    heartbeat_at: str
    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class WorkCounts:
    """How much work there is of each state.

    `oldest_parked_seconds`: for how long the oldest waits for a vendor, or is overdue; 0 for none.
    """

    states: Mapping[WorkState, int]
    oldest_parked_seconds: int = 0
