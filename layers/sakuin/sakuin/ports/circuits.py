"""What all workers know of vendors that fail."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class CircuitRecord:
    """A circuit that was opened once. Moments are whole seconds since 1970.

    While it is `HALF_OPEN` its `owner` probes, until `lease_until`.
    """

    state: Literal["CLOSED", "OPEN", "HALF_OPEN"]
    failures: int = 0
    opened_at: int | None = None
    owner: str | None = None
    lease_until: int | None = None


class CircuitRecords(Protocol):
    """The circuits by name; each change is one transaction."""

    def read(self, name: str) -> CircuitRecord | None:
        """What is known; None of a circuit that was never opened."""

    def opened(self, name: str, *, failures: int, at: int) -> None:
        """Opens a closed circuit. One that is open, or probed, stays as it is: the first to say so was right."""

    def claimed(self, name: str, *, owner: str, opened_at: int, lease_until: int, now: int) -> bool:
        """Whether `owner` alone may probe: of a circuit open since `opened_at`, or one whose prober's lease is over."""

    def ended(self, name: str, *, opened_at: int | None) -> None:
        """Ends a probe: the circuit is open anew since `opened_at`, or closed (None)."""
