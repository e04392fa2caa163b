"""Reconciling a deployment from afar, over its REST API."""

from dataclasses import dataclass, field

import httpx
from sakuin.domain.reconciliation import Difference

from sakuin_cli.client import answered


@dataclass(frozen=True, slots=True)
class RestReconciliation:
    """A `DeployedReconciliation`. `client` is httpx's, with the deployment's address and an admin key."""

    client: httpx.Client = field(repr=False)

    def page(self, kind: str, after: str | None, *, dry_run: bool) -> tuple[list[Difference], str | None]:
        asked = {"kind": kind, "after": after, "dry_run": dry_run}
        said = answered(self.client, self.client.build_request("POST", "/v1/reconcile", json=asked))
        found = [Difference(one["rule"], one["where"], one["message"], one["repair"]) for one in said["differences"]]
        return found, said["next"]
