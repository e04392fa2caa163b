"""Bodies that no client of the REST API sends."""

import json
from typing import Any

import pytest
from sakuin.http.app import rest_api
from sakuin.tables.document import parsed_table
from starlette.testclient import TestClient

from tests.events import AUTHORIZATION
from tests.worlds import World, Worlds

LARGE = "x" * 1000
TOLD = {200, 201, 202, 204, 400, 404, 409, 413, 415, 422}
NONSENSE = [
    *(b"", b"\x00", b"\xff\xfe", b"{", b"null", b"true", b"[]", b'"x"', b"[" * 200_000, b'{"a":' * 100_000, b"NaN"),
    *(b"9" * 10_000, b"1e999", b'{"name": "\\ud800"}', b'{"name": "\\u0000"}', b'{"name": 1}', b'{"name": {}}'),
    *(b"[" * 50_000, "{}".encode("utf-16"), b"\xef\xbb\xbf{}", b"<xml/>", b"a=b&c=d", b"{}" * 10_000),
    b'{"__proto__": {}}',
]


class Platform:
    def __init__(self, world: World) -> None:
        self.http = TestClient(rest_api(world.services), headers=AUTHORIZATION, raise_server_exceptions=False)
        self.project = self.sent("POST", "/v1/projects", b'{"name": "p"}').json()["id"]
        made = json.dumps({"name": "t", "data": [LARGE]}).encode()
        self.table = self.sent("POST", f"/v1/projects/{self.project}/tables", made).json()["id"]

    def sent(self, method: str, path: str, body: bytes, **headers: str) -> Any:
        return self.http.request(method, path, content=body, headers={"Content-Type": "application/json", **headers})

    @property
    def document(self) -> object:
        return parsed_table(self.sent("GET", f"/v1/tables/{self.table}/data", b"").content)


# What is refused changes nothing: all tests have one project.
@pytest.fixture(scope="module")
def platform(a_world: Worlds) -> Platform:
    return Platform(a_world())


ROUTES = [
    *(("POST", "/v1/projects"), ("POST", "/v1/projects/{p}/tables"), ("POST", "/v1/projects/{p}/tables/uploads")),
    *(("PUT", "/v1/tables/{t}"), ("PATCH", "/v1/tables/{t}"), ("POST", "/v1/tables/{t}/uploads")),
    *(("POST", "/v1/projects/{p}/tools"), ("POST", "/v1/projects/{p}/mcps"), ("POST", "/v1/projects/{p}/members")),
    *(("POST", "/v1/files/results"), ("POST", "/v1/anchors")),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_body_that_makes_no_sense_is_refused_and_changes_nothing(platform: Platform, method: str, path: str) -> None:
    address = path.format(p=platform.project, t=platform.table)
    for body in NONSENSE:
        answer = platform.sent(method, address, body)
        assert answer.status_code in TOLD, (body[:40], answer.status_code, answer.text[:200])
        assert "Traceback" not in answer.text
    assert platform.document == [LARGE]
