"""Every way out of a worker has a gate, at which its call may fail, be lost, be doubled, or be the worker's last."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import httpx2
from botocore.exceptions import EndpointConnectionError
from sakuin.errors import CircuitOpen, Unavailable

from tests.convergence.interleaving import Died, Fate, fate_of_call

_FATE = "fate"
# On a busy machine too, what does not answer is the schedule's doing.
PATIENCE_SECONDS = 120.0


def gated(session: Any, vendor: str) -> None:
    """Puts the gate around each request of a client of httpx or httpx2: what is above it is the product's own."""
    http: Any = httpx if isinstance(session, httpx.Client) else httpx2
    session.timeout = http.Timeout(PATIENCE_SECONDS)
    plain = http.Client(timeout=PATIENCE_SECONDS)

    def leaves(request: Any) -> None:
        fate = fate_of_call(f"{vendor} {_called(request.method, request.url.path)}")
        request.extensions[_FATE] = fate
        if fate is Fate.DIE_BEFORE:
            raise Died
        if fate is Fate.FAIL_BEFORE:
            raise http.ConnectError("as the schedule has it", request=request)
        if fate is Fate.TWICE:
            # As a client that never saw the first answer does.
            plain.send(request)

    def answers(response: Any) -> None:
        fate = response.request.extensions[_FATE]
        if fate is Fate.DIE_AFTER:
            raise Died
        if fate is Fate.FAIL_AFTER:
            raise http.ReadTimeout("as the schedule has it", request=response.request)

    hooks = session.event_hooks
    session.event_hooks = {
        "request": [*hooks.get("request", ()), leaves],
        "response": [*hooks.get("response", ()), answers],
    }


def _called(method: str, path: str) -> str:
    """`rpc/plan_nodes`, `POST material`; for the store `POST`, `POST query`, `DELETE`."""
    parts = path.strip("/").split("/")
    if "rpc" in parts:
        return f"rpc/{parts[-1]}"
    last = "" if parts[-1].startswith("project_") else parts[-1]
    return f"{method} {last}".strip()


@dataclass(frozen=True)
class Gate:
    """A part that is in memory, behind the same gate.

    `failure` makes what it raises when it does not answer, `refusal` what it raises when it is not even asked.
    """

    real: Any
    vendor: str
    failure: Callable[[], Exception]
    refusal: Callable[[], Exception] | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)
        if not callable(method):
            return method

        def called(*arguments: Any, **named: Any) -> Any:
            fate = fate_of_call(f"{self.vendor} {name}")
            if fate is Fate.DIE_BEFORE:
                raise Died
            if fate is Fate.FAIL_BEFORE:
                raise (self.refusal or self.failure)()
            if fate is Fate.TWICE:
                method(*arguments, **named)
            result = method(*arguments, **named)
            if fate is Fate.DIE_AFTER:
                raise Died
            if fate is Fate.FAIL_AFTER:
                raise self.failure()
            return result

        return called


def aws_failure() -> Exception:
    """What boto3 raises when AWS does not answer."""
    return EndpointConnectionError(endpoint_url="https://aws")


def unavailable(name: str) -> Callable[[], Exception]:
    """What the adapter of a vendor raises that does not answer."""
    return partial(Unavailable, "as the schedule has it", vendor=name)


def vendor(real: Any, name: str, place: str = "") -> Gate:
    """Returns an adapter of a vendor behind its gate; its circuit may be open, so that it is not called."""
    refusal = partial(CircuitOpen, "as the schedule has it", vendor=name)
    return Gate(real, place or name, unavailable(name), refusal)
