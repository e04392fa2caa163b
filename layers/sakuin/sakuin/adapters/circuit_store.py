"""Where Powertools' circuit breaker keeps what it knows."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from aws_lambda_powertools.utilities.circuit_breaker import CircuitState
from aws_lambda_powertools.utilities.circuit_breaker.persistence import CircuitBreakerPersistenceLayer
from aws_lambda_powertools.utilities.circuit_breaker.persistence.base import CircuitBreakerExistingLockError
from aws_lambda_powertools.utilities.circuit_breaker.persistence.record import CircuitStateRecord

from sakuin.errors import SakuinError
from sakuin.ports.circuits import CircuitRecord, CircuitRecords

T = TypeVar("T")
logger = logging.getLogger(__name__)

# While the records cannot be had they are not asked for again so soon: no call waits for them twice.
_ALONE_SECONDS = 30.0


class SharedCircuits(CircuitBreakerPersistenceLayer):
    """Powertools' store over the records of all workers.

    Where those are away a worker goes by what it knows itself: it spares the vendor alone, and nothing waits.
    """

    def __init__(self, records: CircuitRecords, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._records = records
        self._clock = clock
        self._own: dict[str, CircuitStateRecord] = {}
        self._alone_until = 0.0

    def _get_record(self, name: str) -> CircuitStateRecord | None:
        shared, record = self._asked(lambda: self._records.read(name))
        if not shared:
            return self._own.get(name)
        self._own.pop(name, None)
        return _theirs(name, record) if record else None

    def _put_record(
        self, record: CircuitStateRecord, condition: str | None = None, expected_opened_at: int | None = None
    ) -> None:
        if condition is None:
            self._write(
                record,
                lambda: self._records.opened(record.name, failures=record.failure_count, at=record.opened_at or 0),
            )
            return
        shared, claimed = self._asked(
            lambda: self._records.claimed(
                record.name,
                owner=record.half_open_owner or "",
                opened_at=expected_opened_at or 0,
                lease_until=record.probe_lease_expiry or 0,
                now=int(time.time()),
            )
        )
        if not shared:
            self._own[record.name] = record
        elif not claimed:
            raise CircuitBreakerExistingLockError

    def _update_record(self, record: CircuitStateRecord) -> None:
        self._write(record, lambda: self._records.ended(record.name, opened_at=record.opened_at))

    def _write(self, record: CircuitStateRecord, write: Callable[[], None]) -> None:
        shared, _ = self._asked(write)
        if not shared:
            self._own[record.name] = record

    def _asked(self, ask: Callable[[], T]) -> tuple[bool, T | None]:
        """Whether the records could be asked, and what they say."""
        if self._clock() < self._alone_until:
            return False, None
        try:
            return True, ask()
        except SakuinError:
            logger.warning("circuits are not shared: their records cannot be had", exc_info=True)
            self._alone_until = self._clock() + _ALONE_SECONDS
            return False, None


def _theirs(name: str, record: CircuitRecord) -> CircuitStateRecord:
    return CircuitStateRecord(
        name=name,
        state=CircuitState(record.state),
        failure_count=record.failures,
        opened_at=record.opened_at,
        half_open_owner=record.owner,
        probe_lease_expiry=record.lease_until,
    )
