"""Reconciliation after a kill of the emulator: its queues are lost, and with them events."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sakuin.errors import SakuinError, Unavailable
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings

from sakuin_local.errors import LocalError

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient

# Functions load their code with the first call, and another program may have died too.
_ANSWERS_WITHIN_S = 600.0
_PAUSE_S = 2.0


def reconcile(
    environment: Mapping[str, str],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Repairs differences between the index and its sources, as `sakuin reconcile` does; returns a sentence about it.

    If most pages are missing from the bucket, none is removed from the index: only the command does that. Retries until
    the API answers.
    """
    client, until = deployment_of(CommandSettings.read(environment)), clock() + _ANSWERS_WITHIN_S
    try:
        while True:
            try:
                return _repair(client)
            except Unavailable:
                if clock() > until:
                    raise
                sleep(_PAUSE_S)
    except SakuinError as error:
        raise LocalError(f"the index could not be compared with the bucket: {error}") from error
    finally:
        client.http.close()


def _repair(client: "DeploymentClient") -> str:
    gone = sum(one["rule"] == "gone" for page in client.reconcile("keys", dry_run=True) for one in page)
    pages = sum(client.status()["materials"].values())
    kinds = ["tables"] if gone > 1 and gone * 2 > pages else ["keys", "tables"]
    repaired = sum(len(page) for kind in kinds for page in client.reconcile(kind, dry_run=False))
    summary = f"compared the index with its sources: {repaired} differences repaired"
    if "keys" not in kinds:
        summary += f"; {gone} of {pages} pages are not in the bucket: `sakuin reconcile` removes them from the index"
    return summary
