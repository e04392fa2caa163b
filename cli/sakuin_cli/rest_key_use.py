"""On which days a deployment's keys were last used, as its REST API says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from sakuin_cli.client import answered


@dataclass(frozen=True, slots=True)
class RestKeyUse:
    """A `DeployedKeyUse`. `client` is httpx's, with the deployment's address and key."""

    client: httpx.Client = field(repr=False)

    def days(self) -> Mapping[str, str]:
        said = answered(self.client, self.client.build_request("GET", "/v1/keys"))
        return {item["hash"]: item["last_used_on"] for item in said["keys"]}
