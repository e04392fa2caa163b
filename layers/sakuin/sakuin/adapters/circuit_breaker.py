"""Powertools' circuit breaker, whose state all workers share."""

import time
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.circuit_breaker import (
    CircuitBreakerConfig,
    CircuitBreakerOpenError,
    CircuitState,
    CircuitTransition,
    circuit_breaker,
)
from aws_lambda_powertools.utilities.circuit_breaker.persistence import CircuitBreakerPersistenceLayer

from sakuin.adapters.circuit import Change, Guard, Outcome, Told, circuit_open
from sakuin.errors import Unavailable

# Each is what is left after some tries.
_FAILURES = 3
_OPEN_SECONDS = 30
# Another worker may refuse, or ask again, so much later than the one that knew first.
_CACHED_SECONDS = 5
_SAID: dict[CircuitState, Change] = {
    CircuitState.OPEN: "opened",
    CircuitState.HALF_OPEN: "probed",
    CircuitState.CLOSED: "closed",
}


def guard_of(
    name: str,
    vendor: str,
    store: CircuitBreakerPersistenceLayer,
    told: Told = lambda _name, _change: None,
    *,
    open_seconds: int = _OPEN_SECONDS,
    cached_seconds: int = _CACHED_SECONDS,
) -> Guard:
    """Three failures of a worker in a row open the circuit for all.

    After `open_seconds` one worker makes one call; its success closes the circuit, its failure opens it anew.
    """
    config = CircuitBreakerConfig(
        failure_threshold=_FAILURES,
        recovery_timeout=open_seconds,
        success_threshold=1,
        handled_exceptions=Unavailable,
        local_cache_max_age=cached_seconds,
    )

    def changed(transition: CircuitTransition) -> None:
        told(name, _SAID[transition.to_state])

    @circuit_breaker(name=name, persistence_store=store, config=config, on_transition=changed)
    def made(call: Callable[[], Outcome]) -> Outcome:
        return call()

    def guard(call: Callable[[], Outcome]) -> Outcome:
        try:
            outcome: Any = made(call)
        except CircuitBreakerOpenError as refused:
            opened_at = refused.circuit.opened_at if refused.circuit else None
            left = open_seconds if opened_at is None else opened_at + open_seconds - time.time()
            raise circuit_open(vendor, max(left, 1.0)) from None
        answer: Outcome = outcome
        return answer

    return guard
