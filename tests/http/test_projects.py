"""The REST API of projects."""

import json
from copy import copy
from typing import Any, Self
from uuid import uuid4

import pytest
from sakuin.errors import Invalid
from sakuin.http.app import rest_api
from sakuin.language.synonyms import MOST_GROUPS, MOST_PHRASES, check_groups
from sakuin.platform.keys import hash_of_key
from sakuin.tables.admin.outbox import Outbox
from sakuin.tables.document import parsed_table, written_table
from starlette.testclient import TestClient

from tests.events import AUTHORIZATION
from tests.worlds import World, Worlds

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


def test_an_admin_key_opens_every_project(api: Api) -> None:
    answer = api.http.get(f"/v1/tables/{api.table}", headers=AUTHORIZATION)
    assert answer.json() == {
        **{"id": api.table, "project_id": api.project, "name": "t", "version": 1},
        **{"import_error": None, "pending_upload": False, "chunk_threshold_chars": 200},
        **{"bytes": len('{"a":["x"]}'), "chunks_count": 0},
    }


def test_projects_are_listed_with_the_role_of_the_caller(api: Api) -> None:
    api.call("POST", f"/v1/projects/{api.project}/members", {"user_id": (guest := str(uuid4())), "role": "editor"})
    as_guest = {"Authorization": f"Bearer {api.world.token(guest)}"}
    assert api.call("GET", "/v1/projects").json()["projects"][0]["role"] == "owner"
    assert api.http.get("/v1/projects", headers=as_guest).json()["projects"][0]["role"] == "editor"
    assert api.http.get("/v1/projects", headers=AUTHORIZATION).json()["projects"][0]["role"] is None


def test_a_new_tool_is_pending_and_its_event_is_on_the_bus(api: Api) -> None:
    tool = api.tool()
    assert tool["metadata"]["search_index"]["state"] == "pending"
    assert tool["input_schema"]["required"] == ["query"]
    assert tool["description"]
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "検索"},
        {"name": "a b"},
        {"name": "a.b"},
        {"name": "a\n"},
        {"name": "a" * 65},
        {"type": "create"},
        {"json_path": "articles"},
        {"json_path": "/~2"},
        {"json_path": "/\0"},
        {"table_id": "1"},
        {"description": "\0"},
        {"description": "x" * 2001},
        {"unknown": 1},
    ],
)
def test_a_wrong_tool_is_422_and_none_is_made(api: Api, wrong: dict[str, object]) -> None:
    asked = {"table_id": api.table, "json_path": "/a", "type": "search", "name": "a", **wrong}
    assert api.call("POST", f"/v1/projects/{api.project}/tools", asked).status_code == 422
    assert api.records.tools(None, api.project) == []


def test_a_generated_description_is_within_its_limit(api: Api) -> None:
    uploaded = api.made(f"/v1/projects/{api.project}/tables/uploads", {"name": "t", "size": 10})["table"]["id"]
    assert len(api.tool(table_id=uploaded, json_path="/a" * 4000)["description"]) <= 2000


def test_a_tool_for_a_place_that_the_document_does_not_have_is_refused(api: Api) -> None:
    tools = f"/v1/projects/{api.project}/tools"
    asked = {"table_id": api.table, "json_path": "/nothing", "name": "a"}
    refused = api.call("POST", tools, asked)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert refused.json()["detail"].startswith("The document has no node at '/nothing'.")
    assert api.call("GET", tools).json() == {"tools": []}


def test_a_name_twice_at_an_endpoint_is_409_and_no_endpoint_is_half_made(api: Api) -> None:
    one, same, other = api.tool("one"), api.tool("one"), api.tool("other")
    mcps = f"/v1/projects/{api.project}/mcps"
    assert api.call("POST", mcps, {"name": "m", "tool_ids": [one["id"], same["id"]]}).status_code == 409
    assert api.call("GET", mcps).json() == {"mcps": []}
    mcp = api.made(mcps, {"name": "m", "tool_ids": [one["id"], other["id"], one["id"]]})["mcp"]["id"]
    assert api.call("PUT", f"/v1/mcps/{mcp}/tools/{same['id']}").status_code == 409
    assert api.call("PATCH", f"/v1/tools/{other['id']}", {"name": "one"}).status_code == 409
    assert api.call("DELETE", f"/v1/mcps/{mcp}/tools/{other['id']}").status_code == 200
    assert api.call("PATCH", f"/v1/tools/{other['id']}", {"name": "one"}).json()["name"] == "one"
    disabled = api.call("PUT", f"/v1/mcps/{mcp}/tools/{one['id']}", {"status": "disabled"}).json()
    assert disabled["tools"] == [{"tool_id": one["id"], "name": "one", "status": "disabled"}]


def test_a_key_is_shown_once_and_kept_as_its_hash(api: Api) -> None:
    made = api.made(f"/v1/projects/{api.project}/mcps", {"name": "m"})
    path = f"/v1/mcps/{made['mcp']['id']}"
    assert api.key_hashes(made["mcp"]["id"]) == (hash_of_key(made["key"]), None)
    assert made["key"] not in api.call("GET", path).text
    rotated = api.call("POST", f"{path}/rotate").json()
    assert api.key_hashes(made["mcp"]["id"]) == (hash_of_key(rotated["key"]), hash_of_key(made["key"]))
    assert api.call("PATCH", path, {"status": "disabled"}).json()["status"] == "disabled"
    assert api.call("PATCH", path, {"status": "off"}).status_code == 422
    assert api.call("DELETE", path).status_code == 204
    assert api.call("GET", path).status_code == 404


def test_a_table_is_replaced_patched_and_read_by_pointer(api: Api) -> None:
    path = f"/v1/tables/{api.table}"
    assert api.call("PUT", path, {"data": {"b": 1}, "expected_version": 1}).json()["version"] == 2
    assert api.call("PUT", path, {"data": {}, "expected_version": 1}).status_code == 409
    operations = [{"op": "set", "path": "/c~1d", "value": "語"}, {"op": "remove", "path": "/b"}]
    assert api.call("PATCH", path, {"operations": operations}).json()["version"] == 3
    assert api.call("PATCH", path, {"operations": operations, "expected_version": 2}).status_code == 409
    assert api.call("PATCH", path, operations).status_code == 404
    assert api.call("GET", f"{path}/data").json() == {"c/d": "語"}
    assert api.call("GET", f"{path}/data?pointer=/c~1d").json() == "語"
    assert api.call("GET", f"{path}/data?pointer=/x").status_code == 404
    assert api.call("GET", f"{path}/data?pointer=x").status_code == 422
    assert api.call("PATCH", path, {"name": "新"}).json()["name"] == "新"
    changed = api.call("PATCH", path, {"chunk_threshold_chars": 50}).json()
    assert (changed["chunk_threshold_chars"], changed["name"], changed["version"]) == (50, "新", 3)
    for wrong in (0, 1_000_001, -1, 10**30, "50", 5.5, True):
        assert api.call("PATCH", path, {"chunk_threshold_chars": wrong}).status_code == 422
    # Replaced, patched, scanned with another threshold; a name starts nothing.
    assert api.bus.names == ["TableUpdated"] * 3
    assert api.call("DELETE", path).status_code == 204
    assert api.call("GET", path).status_code == 404


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


def test_a_large_table_is_requested_and_uploaded(api: Api) -> None:
    announced = api.made(f"/v1/projects/{api.project}/tables/uploads", {"name": "big", "size": 9_000_000})
    table = announced["table"]
    assert (table["version"], table["pending_upload"]) == (0, True)
    assert f"tables/{api.project}/{table['id']}/1.json" in announced["upload"]["url"]
    assert announced["upload"]["headers"]["Content-Length"] == "9000000"
    again = api.made(f"/v1/tables/{api.table}/uploads", {"size": 1})
    assert (again["table"]["version"], again["table"]["pending_upload"]) == (1, True)
    for size in (0, -1, 10**12, "x"):
        assert api.call("POST", f"/v1/tables/{api.table}/uploads", {"size": size}).status_code == 422
    assert api.call("GET", f"/v1/tables/{table['id']}/data").status_code == 404


def test_a_large_table_is_patched_where_it_lies(api: Api) -> None:
    upload = api.records.begin_upload(None, api.table)
    api.bodies.write(upload.key, json.dumps({"a": "語" * 1_000_000, "b": 1}).encode())
    api.records.finish_upload(api.table, upload.upload, upload.key, None)
    path = f"/v1/tables/{api.table}"
    patched = api.call("PATCH", path, [{"op": "set", "path": "/b", "value": 2}]).json()
    assert (patched["version"], patched["pending_upload"]) == (3, False)
    assert api.call("GET", f"{path}/data?pointer=/b").json() == 2
    assert api.call("GET", f"{path}/data").status_code == 422


# ---------------------------------------------------------------- the synonyms of a project


GROUPS = [["速さの公式", "みはじ", "はじき"], ["SOH-CAH-TOA", "三角比の覚え方"]]


def put(api: Api, groups: object) -> Any:
    return api.call("PUT", f"/v1/projects/{api.project}/synonyms", {"groups": groups})


def groups_of(api: Api) -> Any:
    return api.call("GET", f"/v1/projects/{api.project}/synonyms").json()["groups"]


def test_a_list_is_replaced_and_an_empty_one_deletes_it(api: Api) -> None:
    assert groups_of(api) == []
    assert (put(api, GROUPS).status_code, groups_of(api)) == (200, GROUPS)
    assert put(api, [[" 傾き ", "傾き", "変化の\n割合"]]).json() == {"groups": [["傾き", "変化の 割合"]]}
    assert groups_of(api) == [["傾き", "変化の 割合"]]
    assert put(api, []).json() == {"groups": []}
    kept = "select count(*) from public.project_synonyms where project_id = %s"
    assert api.world.sql.execute(kept, [api.project]).fetchone() == (0,)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([["傾き", "勾配"], ["一つだけ"]], "groups[1]: a group needs two different phrases."),
        ([["傾き", "ｋ", "勾配"]], "groups[0][1]: a phrase has 2 to 60 characters."),
        ([["傾き", "長" * 61, "勾配"]], "groups[0][1]: a phrase has 2 to 60 characters."),
        ([["傾き", "勾\0配", "坂道"]], "groups[0][1]: a phrase has 2 to 60 characters."),
        ([["傾き", "傾き"]], "groups[0]: a group needs two different phrases."),
        ([[f"語句{n}番" for n in range(MOST_PHRASES + 1)]], "groups[0]: more than 20 phrases in one group"),
        ([[f"左{n}", f"右{n}"] for n in range(MOST_GROUPS + 1)], "There are 2,001 groups; the limit is 2,000."),
        ([[f"{n}{'長' * 50}", f"{n}{'短' * 50}"] for n in range(1000)], "bytes; the limit is 262,144."),
    ],
)
def test_a_wrong_list_is_422_with_its_place_and_the_last_list_stays(api: Api, wrong: Any, told: str) -> None:
    assert put(api, GROUPS).status_code == 200
    answer = put(api, wrong)
    assert (answer.status_code, told in answer.json()["detail"]) == (422, True), answer.text
    assert groups_of(api) == GROUPS


@pytest.mark.parametrize("body", [{}, {"groups": "みはじ"}, {"groups": [[1, 2]]}, {"groups": [], "more": 1}, []])
def test_a_request_of_another_shape_is_422(api: Api, body: object) -> None:
    assert api.call("PUT", f"/v1/projects/{api.project}/synonyms", body).status_code == 422


def test_many_mistakes_are_one_short_error() -> None:
    with pytest.raises(Invalid, match=r"And 40 more\. Correct them and send all groups again\.$"):
        check_groups([["x"]] * 25)
