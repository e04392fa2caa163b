"""A deployment's REST API, over HTTP with an admin key."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
from sakuin.domain.material_version import Receipt
from sakuin.domain.validation import Finding, IndexedChunk, IndexedMaterial
from sakuin.domain.work import WorkRow
from sakuin.errors import Conflict, Invalid, Misconfigured, NotFound, Unavailable

from sakuin_cli.ports import LibraryCounts, MaterialRecord

# What one request may ask about, as the API limits it.
_A_REQUEST = 500
# A check of 50 pages on a cold function takes its time; API Gateway itself gives up after 30 seconds.
_TIMEOUT = httpx.Timeout(35.0, connect=5.0)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RestLibrary:
    """A `DeployedLibrary`. `client` is httpx's, with the deployment's address and key (`connected_library`)."""

    client: httpx.Client = field(repr=False)

    def counts(self) -> LibraryCounts:
        said = self._get("/v1/status")
        waiting = [(item["material"], item["key"]) for item in said["waiting"]]
        return LibraryCounts(said["materials"], said["chunks"], waiting)

    def materials(self, *, prefix: str = "", after: str | None = None) -> tuple[list[MaterialRecord], str | None]:
        said = self._get("/v1/materials", prefix=prefix, after=after, limit=_A_REQUEST)
        return [_record(item) for item in said["materials"]], said["next_cursor"]

    def material(self, name: str) -> MaterialRecord | None:
        # Of all that begin with a name the name itself comes first.
        said = self._get("/v1/materials", prefix=name, limit=1)
        return next((_record(item) for item in said["materials"] if item["material"] == name), None)

    def receipts(self, versions: Collection[tuple[str, str]]) -> list[Receipt]:
        found: list[Receipt] = []
        for some in _portions(list(versions)):
            asked = [{"key": key, "version_id": version_id} for key, version_id in some]
            said = self._post("/v1/receipts", {"versions": asked})
            found += [
                Receipt(item["key"], item["version_id"], item["outcome"], item["reason"]) for item in said["receipts"]
            ]
        return found

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        found: dict[str, IndexedMaterial] = {}
        for some in _portions(sorted(materials)):
            said = self._post("/v1/anchors", some)
            found |= {name: IndexedMaterial(tuple(map(_chunk, chunks))) for name, chunks in said["materials"].items()}
        return found

    def findings(
        self, *, prefix: str = "", after: str | None = None, strict: bool = False, limit: int = 50
    ) -> tuple[list[Finding], str | None]:
        said = self._get("/v1/validation", prefix=prefix, after=after, strict=strict, limit=limit)
        found = [
            Finding(item["severity"], item["rule"], item["material"], item["anchor"], item["message"])
            for item in said["findings"]
        ]
        return found, said["next_cursor"]

    def _get(self, path: str, **parameters: str | int | bool | None) -> Any:
        given = {name: value for name, value in parameters.items() if value is not None}
        return answered(self.client, self.client.build_request("GET", path, params=given))

    def _post(self, path: str, body: object) -> Any:
        return answered(self.client, self.client.build_request("POST", path, json=body))


def connected_library(url: str, admin_key: str) -> RestLibrary:
    """A library at a deployment's address; opens no connection before the first question."""
    return RestLibrary(connected(url, admin_key))


def connected(url: str, admin_key: str) -> httpx.Client:
    """A client of a deployment's REST API."""
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}, timeout=_TIMEOUT)


def answered(client: httpx.Client, request: httpx.Request) -> Any:
    """The JSON that the API answers, None for none, or one of our errors."""
    try:
        response = client.send(request)
    except httpx.TransportError as error:
        raise Unavailable(
            f"Sakuin does not answer at {client.base_url}. Start it with `sakuin up`, or correct SAKUIN_URL"
        ) from error
    if response.status_code == httpx.codes.NO_CONTENT:
        return None
    if response.is_success:
        return _json(response, client.base_url)
    raise _ours(response)


def _json(response: httpx.Response, url: httpx.URL) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise Misconfigured(f"What answers at {url} is not Sakuin. Correct SAKUIN_URL") from error


def _ours(response: httpx.Response) -> Exception:
    status = response.status_code
    if status in (401, 403):
        return Misconfigured(
            "The admin key does not fit. Correct SAKUIN_ADMIN_KEY; `sakuin up` writes it to its env file"
        )
    detail = _detail(response)
    if status == 404:
        return NotFound(detail or f"{response.url} is not there. Is SAKUIN_URL the address of a Sakuin?")
    if status == 409:
        return Conflict(detail or "Somebody else changed it first")
    if status < 500 and status != 429:
        return Invalid(detail or f"Sakuin refused the request ({status})")
    return Unavailable(detail or f"Sakuin could not answer ({status}). Try again in a moment")


def _detail(response: httpx.Response) -> str | None:
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return None
    if isinstance(detail, list):
        return "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in detail)
    return detail if isinstance(detail, str) else None


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    # Nothing asked is asked too: it tells whether the key fits.
    for start in range(0, len(items) or 1, _A_REQUEST):
        yield items[start : start + _A_REQUEST]


def _record(item: Mapping[str, Any]) -> MaterialRecord:
    return MaterialRecord(
        material=item["material"],
        key=item["key"],
        version_id=item["version_id"],
        status=item["status"],
        error=item["error"],
        generation=item["generation"],
        chunks_count=item["chunks_count"],
        indexed_version_id=item["indexed_version_id"],
        indexed_at=item["indexed_at"],
        work=[WorkRow(**row) for row in item["work"]],
    )


def _chunk(item: Mapping[str, Any]) -> IndexedChunk:
    given = item["learns_given"]
    return IndexedChunk(item["anchor"], tuple(item["learns"]), None if given is None else tuple(given))
