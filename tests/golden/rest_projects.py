"""The REST API of projects: Tables, Tools and endpoints, each with its refusals."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from tests.awaiting import awaited
from tests.golden.deployment import Deployment
from tests.golden.files import Entries
from tests.golden.rest import Conversation
from tests.golden.rest_members import members, webhooks

_NOBODY = str(UUID(int=7))
_MEMBER = str(UUID(int=1))
_DOCUMENT = {
    "articles": [
        {"title": "三角形の内角", "content": "三角形の内角の和は百八十度です。平行線の錯角を使って確かめます。" * 40},
        {"title": "短い文", "content": "これは千文字に足りない。"},
    ],
    "notes": {"a/b": 1, "深さ": [True, None, 2.5, "文"]},
}
# What each route below an id says where nothing is.
_BELOW_IDS: tuple[tuple[str, str, Any], ...] = (
    ("DELETE", "/v1/projects/{id}", None),
    ("POST", "/v1/projects/{id}/members", {"user_id": _MEMBER}),
    ("GET", "/v1/projects/{id}/members", None),
    ("DELETE", f"/v1/projects/{{id}}/members/{_MEMBER}", None),
    ("GET", "/v1/projects/{id}/tables", None),
    ("POST", "/v1/projects/{id}/tables", {"name": "t", "data": {}}),
    ("POST", "/v1/projects/{id}/tables/uploads", {"name": "t", "size": 2}),
    ("GET", "/v1/tables/{id}", None),
    ("GET", "/v1/tables/{id}/data", None),
    ("PUT", "/v1/tables/{id}", {"data": {}}),
    ("PATCH", "/v1/tables/{id}", {"name": "t"}),
    ("POST", "/v1/tables/{id}/uploads", {"size": 2}),
    ("DELETE", "/v1/tables/{id}", None),
    ("GET", "/v1/projects/{id}/tools", None),
    ("POST", "/v1/projects/{id}/tools", {"table_id": _NOBODY, "json_path": "", "name": "t"}),
    ("GET", "/v1/tools/{id}", None),
    ("PATCH", "/v1/tools/{id}", {"enabled": False}),
    ("POST", "/v1/tools/{id}/reindex", None),
    ("DELETE", "/v1/tools/{id}", None),
    ("GET", "/v1/projects/{id}/mcps", None),
    ("POST", "/v1/projects/{id}/mcps", {"name": "e"}),
    ("GET", "/v1/mcps/{id}", None),
    ("PATCH", "/v1/mcps/{id}", {"status": "disabled"}),
    ("DELETE", "/v1/mcps/{id}", None),
    ("POST", "/v1/mcps/{id}/rotate", None),
    ("PUT", f"/v1/mcps/{{id}}/tools/{_NOBODY}", None),
    ("DELETE", f"/v1/mcps/{{id}}/tools/{_NOBODY}", None),
)


def projects(deployment: Deployment) -> Entries:
    """Returns every answer, in the order of the requests."""
    conversation = Conversation(deployment, deployment.normaliser())
    with _project(conversation) as project:
        table = _tables(conversation, project)
        tool = _tools(conversation, project, table)
        _endpoints(conversation, project, tool)
        members(conversation, project, table, tool)
        webhooks(conversation, project, table, tool)
        _deletions(conversation, project, table, tool)
    _nothing_there(conversation)
    return conversation.entries


@contextmanager
def _project(conversation: Conversation) -> Iterator[str]:
    ask, normaliser = conversation.ask, conversation.normaliser
    made = ask("create a project", "POST", "/v1/projects", {"name": "golden"}).json()
    project = normaliser.name(made["id"], "<project>")
    # An answer is recorded before its ids have names.
    conversation.entries["create a project"]["body"] = normaliser.value(made)
    try:
        listed = ask("projects", "GET", "/v1/projects").json()["projects"]
        own = [each for each in listed if each["id"] == project or each["name"] == "default"]
        conversation.entries["projects"]["body"] = normaliser.value({"projects": own})
        for name, body in (
            ("none", {}),
            ("blank", {"name": ""}),
            ("too long", {"name": "あ" * 201}),
            ("5", {"name": 5}),
        ):
            ask(f"a project's name: {name}", "POST", "/v1/projects", body)
        ask("a project with an unknown member", "POST", "/v1/projects", {"name": "golden", "color": "red"})
        yield project
    finally:
        ask("delete a project", "DELETE", f"/v1/projects/{project}")


def _tables(conversation: Conversation, project: str) -> str:
    ask = conversation.ask
    tables = f"/v1/projects/{project}/tables"
    table = _create(conversation, "create a Table", tables, {"name": "記事", "data": _DOCUMENT}, "<table>")
    here = f"/v1/tables/{table}"
    ask("tables", "GET", tables)
    ask("read a Table", "GET", here)
    ask("read a document", "GET", f"{here}/data")
    for pointer in (
        "/articles/1",
        "/notes/a~1b",
        "/notes/深さ/2",
        "/notes/nothing",
        "notes",
        "/articles/01",
        "/articles/-",
    ):
        ask(f"read a document at {pointer}", "GET", f"{here}/data", params={"pointer": pointer})
    ask("replace a document", "PUT", here, {"data": {**_DOCUMENT, "more": 1}, "expected_version": 1})
    ask("replace an older document", "PUT", here, {"data": {}, "expected_version": 1})
    patches: dict[str, Any] = {
        "set": {"operations": [{"op": "set", "path": "/more", "value": {"b": 2}}]},
        "add, replace and remove": [
            {"op": "add", "path": "/list", "value": [1]},
            {"op": "add", "path": "/list/-", "value": 2},
            {"op": "replace", "path": "/list/0", "value": 0},
            {"op": "remove", "path": "/more"},
        ],
        "rename": {"name": "記事（改）"},
        "rename and set": {"name": "記事", "operations": [{"op": "set", "path": "/x", "value": 1}]},
        "older": {"operations": [{"op": "set", "path": "/x", "value": 2}], "expected_version": 1},
        "nothing": {},
        "no operation": {"operations": [5]},
        "unknown operation": {"operations": [{"op": "copy", "path": "/x"}]},
        "no pointer": {"operations": [{"op": "set", "path": "x", "value": 1}]},
        "no value": {"operations": [{"op": "set", "path": "/x"}]},
        "nothing there": {"operations": [{"op": "remove", "path": "/nothing/here"}]},
        "the second fails": {
            "operations": [{"op": "set", "path": "/x", "value": 3}, {"op": "remove", "path": "/nothing"}]
        },
        "an unknown member": {"operation": []},
        "a version that is a text": {"name": "a", "expected_version": "1"},
        "a blank name": {"name": ""},
    }
    for name, body in patches.items():
        ask(f"patch a Table: {name}", "PATCH", here, body)
    ask("read a document after all", "GET", f"{here}/data")
    refused: dict[str, Any] = {
        "no name": {"data": {}},
        "no data": {"name": "a"},
        "a blank name": {"name": "", "data": {}},
        "a name that is too long": {"name": "あ" * 201, "data": {}},
        "an unknown member": {"name": "a", "data": {}, "size": 1},
        "a list": [],
    }
    for name, body in refused.items():
        ask(f"a Table: {name}", "POST", tables, body)
    documents = {
        "no JSON": '{"name": "a", "data": {',
        "not a number": '{"name": "a", "data": NaN}',
        "the same name twice": '{"name": "a", "data": {"b": 1, "b": 2}}',
        "too deep": '{"name": "a", "data": ' + "[" * 2001 + "]" * 2001 + "}",
        "too many digits": '{"name": "a", "data": ' + "1" * 4301 + "}",
        "half a character": '{"name": "a", "data": "\\ud83d"}',
        "U+0000": '{"name": "a", "data": "\\u0000"}',
    }
    for name, document in documents.items():
        answer = ask(f"a Table's document: {name}", "POST", tables, content=document)
        if answer.status_code == 201:
            conversation.deployment.api("DELETE", f"/v1/tables/{answer.json()['id']}")
    ask("no Unicode in a Table", "PUT", here, content=b'{"data": "\xff"}')
    _uploads(conversation, tables, here)
    return table


def _create(conversation: Conversation, name: str, path: str, body: object, shown_as: str) -> str:
    """Creates something; its id has a placeholder from now on."""
    made = conversation.ask(name, "POST", path, body).json()
    thing = made.get("mcp", made)
    conversation.normaliser.name(thing["id"], shown_as)
    conversation.entries[name]["body"] = conversation.normaliser.value(made)
    return str(thing["id"])


def _uploads(conversation: Conversation, tables: str, here: str) -> None:
    ask, deployment = conversation.ask, conversation.deployment
    body = json.dumps({"articles": []}).encode()
    announced = ask("announce a Table", "POST", f"{tables}/uploads", {"name": "hochgeladen", "size": len(body)}).json()
    # Address and headers of a request that is signed for this moment: who sends it sees that it works.
    conversation.entries["announce a Table"]["body"]["upload"] = sorted(announced["upload"])
    upload = announced["upload"]
    put = deployment.http.put(upload["url"], headers=upload["headers"], content=body)
    table = announced["table"]["id"]

    def imported() -> bool:
        return int(deployment.api("GET", f"/v1/tables/{table}")["version"]) > 0

    awaited("an imported Table", imported)
    conversation.entries["an uploaded Table"] = {
        "put": put.status_code,
        "read": conversation.normaliser.value(deployment.api("GET", f"/v1/tables/{table}")),
        "data": deployment.api("GET", f"/v1/tables/{table}/data"),
    }
    wrong = ask("announce a document", "POST", f"/v1/tables/{table}/uploads", {"size": 1}).json()
    conversation.entries["announce a document"]["body"]["upload"] = sorted(wrong["upload"])
    deployment.http.put(wrong["upload"]["url"], headers=wrong["upload"]["headers"], content=b"{")

    def refused() -> bool:
        return deployment.api("GET", f"/v1/tables/{table}")["import_error"] is not None

    awaited("a refused document", refused)
    ask("a Table with a refused document", "GET", f"/v1/tables/{table}")
    ask("an upload of nothing", "POST", f"{here}/uploads", {"size": 0})
    ask("an upload that is too large", "POST", f"{here}/uploads", {"size": 100_000_001})
    ask("a new Table that is too large", "POST", f"{tables}/uploads", {"name": "a", "size": 100_000_001})
    ask("a new Table without a size", "POST", f"{tables}/uploads", {"name": "a"})
    deployment.api("DELETE", f"/v1/tables/{table}")


def _tools(conversation: Conversation, project: str, table: str) -> str:
    ask, deployment = conversation.ask, conversation.deployment
    tools = f"/v1/projects/{project}/tools"
    wanted = {"table_id": table, "json_path": "/articles", "name": "articles", "description": "記事を探す"}
    tool = _create(conversation, "create a Tool", tools, wanted, "<tool>")
    deployment.wait_for_tool(tool)
    ask("tools", "GET", tools)
    ask("read a Tool", "GET", f"/v1/tools/{tool}")
    ask("rename a Tool", "PATCH", f"/v1/tools/{tool}", {"name": "search_articles", "description": "記事"})
    ask("disable a Tool", "PATCH", f"/v1/tools/{tool}", {"enabled": False})
    ask("enable a Tool", "PATCH", f"/v1/tools/{tool}", {"enabled": True})
    deployment.wait_for_tool(tool)
    ask("reindex a Tool", "POST", f"/v1/tools/{tool}/reindex")
    deployment.wait_for_tool(tool)
    changes: dict[str, Any] = {
        "nothing": {},
        "a bad name": {"name": "記事"},
        "a long name": {"name": "a" * 65},
        "a long description": {"description": "あ" * 2001},
        "an unknown member": {"json_path": "/notes"},
    }
    for name, body in changes.items():
        ask(f"change a Tool: {name}", "PATCH", f"/v1/tools/{tool}", body)
    refused: dict[str, Any] = {
        "no Table": {"name": "a", "json_path": ""},
        "a Table that is not there": {**wanted, "table_id": _NOBODY},
        "a Table that is no UUID": {**wanted, "table_id": "5"},
        "no pointer": {**wanted, "json_path": "articles"},
        "a pointer to nothing": {**wanted, "json_path": "/nothing"},
        "another type": {**wanted, "type": "write"},
        "a bad name": {**wanted, "name": "a b"},
    }
    for name, body in refused.items():
        answer = ask(f"a Tool: {name}", "POST", tools, body)
        if answer.status_code == 201:
            deployment.api("DELETE", f"/v1/tools/{answer.json()['id']}")
    return tool


def _endpoints(conversation: Conversation, project: str, tool: str) -> None:
    ask, deployment = conversation.ask, conversation.deployment
    mcps = f"/v1/projects/{project}/mcps"
    endpoint = _create(conversation, "create an endpoint", mcps, {"name": "agents", "tool_ids": [tool]}, "<endpoint>")
    here = f"/v1/mcps/{endpoint}"
    ask("endpoints", "GET", mcps)
    ask("read an endpoint", "GET", here)
    ask("rename an endpoint", "PATCH", here, {"name": "agents 2"})
    ask("unbind a Tool", "DELETE", f"{here}/tools/{tool}")
    ask("unbind it again", "DELETE", f"{here}/tools/{tool}")
    ask("bind a Tool", "PUT", f"{here}/tools/{tool}")
    ask("disable a binding", "PUT", f"{here}/tools/{tool}", {"status": "disabled"})
    ask("enable a binding", "PUT", f"{here}/tools/{tool}", {"status": "enabled"})
    twin = conversation.deployment.api("GET", f"/v1/tools/{tool}")
    again = {"table_id": twin["table_id"], "json_path": "/notes", "name": twin["name"]}
    second = deployment.api("POST", f"/v1/projects/{project}/tools", again)["id"]
    conversation.normaliser.name(second, "<second tool>")
    ask("bind a second Tool of the same name", "PUT", f"{here}/tools/{second}")
    ask("an endpoint with two Tools of one name", "POST", mcps, {"name": "a", "tool_ids": [tool, second]})
    deployment.api("DELETE", f"/v1/tools/{second}")
    ask("disable an endpoint", "PATCH", here, {"status": "disabled"})
    ask("enable an endpoint", "PATCH", here, {"status": "enabled"})
    ask("rotate a key", "POST", f"{here}/rotate")
    ask("rotate a key, with no overlap", "POST", f"{here}/rotate", {"overlap_seconds": 0})
    refused: dict[str, tuple[str, str, Any]] = {
        "no name": ("POST", mcps, {}),
        "a blank name": ("POST", mcps, {"name": ""}),
        "a name that is too long": ("POST", mcps, {"name": "あ" * 201}),
        "a Tool that is not there": ("POST", mcps, {"name": "a", "tool_ids": [_NOBODY]}),
        "too many Tools": ("POST", mcps, {"name": "a", "tool_ids": [_NOBODY] * 101}),
        "another status": ("PATCH", here, {"status": "closed"}),
        "no change": ("PATCH", here, {}),
        "a Tool that is not there to bind": ("PUT", f"{here}/tools/{_NOBODY}", None),
        "a negative overlap": ("POST", f"{here}/rotate", {"overlap_seconds": -1}),
        "a binding in another status": ("PUT", f"{here}/tools/{tool}", {"status": "closed"}),
    }
    for name, (method, path, body) in refused.items():
        ask(f"an endpoint: {name}", method, path, body)
    ask("delete an endpoint", "DELETE", here)
    ask("read a deleted endpoint", "GET", here)


def _deletions(conversation: Conversation, project: str, table: str, tool: str) -> None:
    ask = conversation.ask
    ask("delete a Tool", "DELETE", f"/v1/tools/{tool}")
    ask("delete it again", "DELETE", f"/v1/tools/{tool}")
    ask("delete a Table", "DELETE", f"/v1/tables/{table}")
    ask("read a deleted Table", "GET", f"/v1/tables/{table}")
    ask("tools of an emptied project", "GET", f"/v1/projects/{project}/tools")


def _nothing_there(conversation: Conversation) -> None:
    for method, path, body in _BELOW_IDS:
        conversation.ask(f"nothing there: {method} {path}", method, path.format(id=_NOBODY), body)
    for method, path, body in _BELOW_IDS[6:8]:
        conversation.ask(f"no UUID: {method} {path}", method, path.format(id="five"), body)
