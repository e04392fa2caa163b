"""Polling until a deployment has finished its work."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from sakuin.errors import Unavailable

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

# Key and version id.
Version = tuple[str, str]

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0
_SLOWER = 1.5
# About ten seconds: a deployment that restarts answers again by then.
_FAILURES_IN_A_ROW = 12


def poll(
    seconds: float, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Yields at once, then at growing intervals until `seconds` are over: `for _ in poll(300): if done(): break`."""
    until, pause = clock() + seconds, _FIRST_PAUSE
    yield
    while (left := until - clock()) > 0:
        sleep(min(pause, left))
        pause = min(pause * _SLOWER, _LONGEST_PAUSE)
        yield


def await_upload_results(
    client: "DeploymentClient",
    versions: Collection[Version],
    attempts: Iterable[None],
    *,
    on_progress: Callable[[int], None],
) -> "dict[Version, Record]":
    """Returns the results by version; versions without a result after the `attempts` of `poll` are left out."""
    missing = set(versions)
    results: dict[Version, Record] = {}
    failures = 0
    for _ in attempts if missing else ():
        try:
            found, _ = client.upload_results(sorted(missing))
        except Unavailable:
            failures += 1
            if failures == _FAILURES_IN_A_ROW:
                raise
            continue
        failures = 0
        results |= {(result["key"], result["version_id"]): result for result in found}
        missing -= results.keys()
        on_progress(len(results))
        if not missing:
            break
    return results
