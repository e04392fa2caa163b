"""The REST API of projects."""

import json
from copy import copy
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pytest
from sakuin.errors import Invalid
from sakuin.http.app import rest_api
from sakuin.language.synonyms import MOST_GROUPS, check_groups
from sakuin.platform.keys import hash_of_key
from sakuin.tables.admin.outbox import Outbox
from sakuin.tables.document import parsed_table, written_table
from starlette.testclient import TestClient

from tests.events import AUTHORIZATION
from tests.exchanges import answers_to
from tests.snapshots import Case, cases, compare
from tests.worlds import World, Worlds

PROJECTS = Path(__file__).with_name("projects.yaml")
JSON = {"Content-Type": "application/json"}


class Api:
    """A client of the API over a world, of nobody at first."""

    user, project, table = "", "", ""

    def __init__(self, world: World) -> None:
        self.world, self.records, self.bodies, self.bus = world, world.projects, world.bodies, world.bus
        self.outbox = Outbox(world.client, world.bus)
        self.http = TestClient(rest_api(world.services))

    def of_new_member(self) -> Self:
        """A member of a project of its own with one Table; the bus is empty."""
        api = copy(self)
        api.user = str(uuid4())
        api.project = api.made("/v1/projects", {"name": "p"})["id"]
        api.table = api.made(f"/v1/projects/{api.project}/tables", {"name": "t", "data": {"a": ["x"]}})["id"]
        api.bus.taken.clear()
        return api

    def call(self, method: str, path: str, body: object = None) -> Any:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {**JSON, "Authorization": f"Bearer {self.world.token(self.user)}"}
        return self.http.request(method, path, content=content, headers=headers)

    def made(self, path: str, body: object) -> Any:
        answer = self.call("POST", path, body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def key_hashes(self, mcp: str) -> tuple[Any, ...] | None:
        """Returns the hash of an endpoint's key, and of the one before."""
        hashes = "select api_key_hash, previous_key_hash from public.mcp where id = %s"
        return self.world.sql.execute(hashes, [mcp]).fetchone()

    def tool(self, name: str = "search_a", **other: object) -> Any:
        asked = {"table_id": self.table, "json_path": "/a", "type": "search", "name": name, **other}
        return self.made(f"/v1/projects/{self.project}/tools", asked)


@pytest.fixture(scope="module")
def one_api(a_world: Worlds) -> Api:
    return Api(a_world())


@pytest.fixture
def api(one_api: Api) -> Api:
    return one_api.of_new_member()


@pytest.mark.parametrize("case", cases(PROJECTS), ids=lambda case: case["rule"])
def test_the_requests_of_a_member_are_answered_as_they_were(api: Api, case: Case) -> None:
    ids = {"project": api.project, "table": api.table, "user": api.user, "guest": str(uuid4())}
    answers = answers_to(case["requests"], api.call, **ids)
    compare(PROJECTS, case, {"answers": answers, "events": api.bus.names})


def test_an_admin_key_opens_every_project(api: Api) -> None:
    assert api.http.get(f"/v1/tables/{api.table}", headers=AUTHORIZATION).json()["project_id"] == api.project


def test_projects_are_listed_with_the_role_of_the_caller(api: Api) -> None:
    api.call("POST", f"/v1/projects/{api.project}/members", {"user_id": (guest := str(uuid4())), "role": "editor"})
    as_guest = {"Authorization": f"Bearer {api.world.token(guest)}"}
    assert api.call("GET", "/v1/projects").json()["projects"][0]["role"] == "owner"
    assert api.http.get("/v1/projects", headers=as_guest).json()["projects"][0]["role"] == "editor"
    assert api.http.get("/v1/projects", headers=AUTHORIZATION).json()["projects"][0]["role"] is None


def test_a_new_tool_is_pending_and_its_event_is_on_the_bus(api: Api) -> None:
    tool = api.tool()
    assert tool["metadata"]["search_index"]["state"] == "pending"
    assert [(event.type, event.detail["table_id"], event.detail["tool_id"]) for event in api.bus.taken] == [
        ("ToolCreated", api.table, tool["id"])
    ]
    assert api.outbox.unsent_events(limit=9) == []


def test_an_event_that_the_bus_does_not_take_stays_and_the_answer_is_good(api: Api) -> None:
    api.bus.down = True
    tool = api.tool()
    assert [event.event for event in api.outbox.unsent_events(limit=9)] == ["ToolCreated"]
    api.bus.down = False
    assert api.call("POST", f"/v1/tools/{tool['id']}/reindex").status_code == 202
    assert api.bus.names == ["ToolCreated", "ToolUpdated"]


def test_a_description_is_within_its_limit(api: Api) -> None:
    too_long = {"table_id": api.table, "json_path": "/a", "name": "a", "description": "x" * 2001}
    assert api.call("POST", f"/v1/projects/{api.project}/tools", too_long).status_code == 422
    uploaded = api.made(f"/v1/projects/{api.project}/tables/uploads", {"name": "t", "size": 10})["table"]["id"]
    assert len(api.tool(table_id=uploaded, json_path="/a" * 4000)["description"]) <= 2000


def test_a_key_is_shown_once_and_kept_as_its_hash(api: Api) -> None:
    made = api.made(f"/v1/projects/{api.project}/mcps", {"name": "m"})
    path = f"/v1/mcps/{made['mcp']['id']}"
    assert api.key_hashes(made["mcp"]["id"]) == (hash_of_key(made["key"]), None)
    assert made["key"] not in api.call("GET", path).text
    rotated = api.call("POST", f"{path}/rotate").json()
    assert api.key_hashes(made["mcp"]["id"]) == (hash_of_key(rotated["key"]), hash_of_key(made["key"]))


@pytest.mark.parametrize(
    "data", [b'"\\ud800 \\u0000"', b"[" * 1500 + b"]" * 1500, b'{"":{"~/\\"*":[1.0,0,null]}}', b'"\xf0\xa0\xae\xb7"']
)
def test_any_document_comes_back(api: Api, data: bytes) -> None:
    assert api.call("PUT", f"/v1/tables/{api.table}", b'{"data":' + data + b"}").status_code == 200
    answer = api.call("GET", f"/v1/tables/{api.table}/data")
    assert answer.status_code == 200
    assert answer.text == written_table(parsed_table(data))


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"\xff", b'{"data":NaN}', b'{"data":1,"x":2}', b"[]", b'{"expected_version":1}', b"[" * 9000),
        *(b'{"data":1,"expected_version":true}', b'{"data":1,"\\ud800":2}'),
    ],
)
def test_a_wrong_document_is_422(api: Api, body: bytes) -> None:
    assert api.call("PUT", f"/v1/tables/{api.table}", body).status_code == 422
    assert api.records.table(None, api.table).version == 1


def test_a_surrogate_in_a_name_is_422(api: Api) -> None:
    assert api.call("POST", "/v1/projects", b'{"name":"\\ud800"}').status_code == 422
    assert api.call("POST", "/v1/projects", b'{"name":"\\u0000"}').status_code == 422
    assert api.call("POST", "/v1/projects", {"name": " "}).status_code == 422
    tables = f"/v1/projects/{api.project}/tables"
    assert api.call("POST", tables, b'{"name":"\\ud800","data":1}').status_code == 422


def test_a_large_table_is_patched_where_it_lies(api: Api) -> None:
    upload = api.records.begin_upload(None, api.table)
    api.bodies.write(upload.key, json.dumps({"a": "語" * 1_000_000, "b": 1}).encode())
    api.records.finish_upload(api.table, upload.upload, upload.key, None)
    path = f"/v1/tables/{api.table}"
    patched = api.call("PATCH", path, [{"op": "set", "path": "/b", "value": 2}]).json()
    assert (patched["version"], patched["pending_upload"]) == (3, False)
    assert api.call("GET", f"{path}/data?pointer=/b").json() == 2
    assert api.call("GET", f"{path}/data").status_code == 422


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ([["x"]] * 25, r"And 40 more\. Correct them and send all groups again\.$"),
        ([[f"左{n}", f"右{n}"] for n in range(MOST_GROUPS + 1)], "There are 2,001 groups; the limit is 2,000."),
        ([[f"{n}{'長' * 50}", f"{n}{'短' * 50}"] for n in range(1000)], "bytes; the limit is 262,144."),
    ],
)
def test_many_mistakes_or_too_many_groups_are_one_short_error(groups: list[list[str]], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        check_groups(groups)
