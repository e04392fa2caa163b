"""The rows of work of a deployment, over its REST API."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx
from sakuin.domain.work import WorkRow, WorkState

from sakuin_cli.client import answered
from sakuin_cli.ports import WorkList

# As the API limits it.
_IDS_A_REQUEST = 50
_ROWS_A_REQUEST = 500


@dataclass(frozen=True, slots=True)
class RestWork:
    """`DeployedWork`. `client` is httpx's, with the deployment's address and key."""

    client: httpx.Client = field(repr=False)

    def work(self, *, state: WorkState | None = None, subject: str | None = None, ids: Sequence[str] = ()) -> WorkList:
        lists = [
            self._asked(state, subject, ids[start : start + _IDS_A_REQUEST])
            for start in range(0, len(ids) or 1, _IDS_A_REQUEST)
        ]
        return WorkList(lists[0].counts, [row for one in lists for row in one.rows])

    def _asked(self, state: WorkState | None, subject: str | None, ids: Sequence[str]) -> WorkList:
        asked: dict[str, str | int | list[str]] = {"limit": _ROWS_A_REQUEST}
        asked |= {"state": state} if state else {}
        asked |= {"subject": subject} if subject else {}
        asked |= {"id": list(ids)} if ids else {}
        said = answered(self.client, self.client.build_request("GET", "/v1/work", params=asked))
        return WorkList(said["counts"], [WorkRow(**row) for row in said["work"]])
