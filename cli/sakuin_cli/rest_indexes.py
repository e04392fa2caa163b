"""A deployment's indexes, over its REST API with an admin key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from sakuin.domain.index_settings import IndexSettings
from sakuin.domain.index_state import BuiltPart, IndexState

from sakuin_cli.client import answered


@dataclass(frozen=True, slots=True)
class RestIndexes:
    """`DeployedIndexes`. `client` is httpx's, with the deployment's address and key (`rest_client.connected`)."""

    client: httpx.Client = field(repr=False)

    def states(self) -> Sequence[IndexState]:
        return [_state(item) for item in self._asked("GET", "/v1/index")["indexes"]]

    def flip(self, name: str, *, force: bool = False) -> IndexState:
        return _state(self._asked("POST", "/v1/index/flip", json={"index": name, "force": force}))

    def drop(self, name: str) -> str:
        return str(self._asked("DELETE", f"/v1/index/{quote(name, safe='')}")["fingerprint"])

    def _asked(self, method: str, path: str, **how: Any) -> Any:
        return answered(self.client, self.client.build_request(method, path, **how))


def _state(item: Mapping[str, Any]) -> IndexState:
    return IndexState(
        settings=IndexSettings.of(item["settings"]),
        live=item["live"],
        created_at=item["created_at"],
        live_since=item["live_since"],
        retired_at=item["retired_at"],
        pages=_part(item["pages"]),
        tables=_part(item["tables"]),
    )


def _part(item: Mapping[str, Any]) -> BuiltPart:
    return BuiltPart(item["total"], item["missing"], tuple((one["name"], one["reason"]) for one in item["named"]))
