"""Keys with one purpose and every route and tool: each opens what its purpose says, in its folder or project alone."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import boto3
import pytest
from sakuin.platform.keys import hash_of_key
from sakuin.platform.supabase.client import connected
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.routes import BODIES, LIBRARY, MEMBERS, OF_PUSHES, OPEN
from tests.isolation.stack import Answer, Stack, stack_of
from tests.worlds import World

PURPOSES = ("search", "push", "read")
OWN, FOREIGN = "math", "physics"
# Also the names of a folder that begins like the own one.
FOREIGN_WORDS = ("physics", "運動方程式", "力学", "高校", "mathematics", "集合論")
CHUNK = "physics/x#rule-motion"
LINK = f"https://school.example/{quote('physics/x')}.html#rule-motion"
# What a key of the folder `math` tries with each tool to see what is in another folder, what finds something of its own
# folder, and the files that a key of pushes does not reach.
CASES = json.loads(Path(__file__).with_name("folders.json").read_text("utf-8"))
# A key that is limited to the pages of the folder by a filter.
FILTERED = "filtered"
ATTEMPTS: dict[str, list[dict[str, Any]]] = CASES["foreign"]
OWN_ATTEMPTS: dict[str, dict[str, Any]] = CASES["own"]


@dataclass(frozen=True)
class Library:
    """A stack with pages in three folders, and a key for each purpose: of a folder, or of a tenant's project."""

    stack: Stack
    tenant: Tenant
    other: Tenant
    keys: dict[str, str]

    def new(self, name: str, **opens: object) -> Answer:
        body = {"name": name, "purpose": name, **opens}
        return self.stack.ask("POST", "/v1/keys", body, bearer=self.stack.admin_key)

    def tool(self, name: str, arguments: dict[str, Any], key: str) -> Answer:
        return self.stack.rpc(None, "tools/call", key, name=name, arguments=arguments)


@pytest.fixture(scope="module")
def library(database: Database, stand_in: str) -> Iterator[Library]:
    settings = {"BASE_URL": "https://school.example", "CHATGPT_TOOLS": "true"}
    settings |= {"FEEDBACK_TOOL": "true", "RECORD_REFUSED_QUESTIONS": "true"}
    with stack_of(database, stand_in, **settings) as stack:
        head = "<meta name='category' content='{}'><meta name='level' content='{}'>"
        world = World(database, connected(database.rest_url, database.service_key), stack.sql)
        algebra = head.format("代数", "中学")
        for page in ("math/a", "math/b/y"):
            # Equal texts would be one result.
            formula = {"rule-formula": f"解の公式: 係数を代入する。{page}"}
            world.put(f"{page}.html", a_page(formula, head=algebra))
        motion = {"rule-motion": "運動方程式: 力は質量と加速度の積。"}
        world.put("physics/x.html", a_page(motion, head=head.format("力学", "高校")))
        sets = {"rule-sets": "集合論: 要素の集まり。"}
        world.put("mathematics/z.html", a_page(sets, head=head.format("集合論", "高校")))
        for folder in ("", OWN, f"{OWN}/b", FOREIGN, "mathematics"):
            world.library.describe(folder, f"The owner's words about {folder or 'physics and all'}")
        tenant, other = moved_in(stack, "二次方程式の解の公式"), moved_in(stack, "三平方の定理")
        found = Library(stack, tenant, other, {})
        opens = {"search": {"folder": OWN}, "push": {"folder": OWN}, "read": {"project": tenant.ids["project_id"]}}
        for purpose, folder in (*opens.items(), (FILTERED, {"purpose": "search", "filter": {"category": "代数"}})):
            made = found.new(purpose, **folder)
            assert made.status == 201, made.body
            found.keys[purpose] = made.json["key"]
        yield found


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_key_opens_the_routes_of_its_purpose_and_no_other(library: Library, purpose: str) -> None:
    stack, ids = library.stack, {**library.tenant.ids, "name": "next", "key_hash": "0" * 64}
    paths = stack.ask("GET", "/openapi.json").json["paths"]
    bodies = {route.name: route.body for route in MEMBERS}
    own = {
        "search": LIBRARY,
        "push": set(OF_PUSHES),
        "read": {route.name for route in MEMBERS if route.method == "GET"},
    }
    # The first reader of vectors records the own index version.
    stack.ask("POST", "/v1/index/vectors", {}, bearer=stack.admin_key)
    opened, forbidden, before = set(), set(), stack.rows()
    for name in sorted(f"{method.upper()} {path}" for path, methods in paths.items() for method in methods):
        method, _, path = name.partition(" ")
        body = bodies[name](ids) if name in bodies else BODIES.get(name, {})
        answer = stack.ask(method, path.format_map(ids), body, bearer=library.keys[purpose])
        # A route of files wants a key of a file: it is open, and says so.
        if answer.status in (200, 201, 422):
            opened.add(name)
        elif answer.status == 403:
            forbidden.add(name)
        else:
            assert answer.status == 401, (name, answer.body)
    assert opened - OPEN == own[purpose]
    assert forbidden == ({route.name for route in MEMBERS} - own["read"] if purpose == "read" else set())
    assert stack.rows() == before


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_key_opens_no_endpoint_and_only_one_that_searches_opens_the_library(library: Library, purpose: str) -> None:
    stack, tenant, key = library.stack, library.tenant, library.keys[purpose]
    assert stack.rpc(tenant.ids["mcp_id"], "tools/list", key).status == 401
    assert stack.rpc(None, "tools/list", key).status == (200 if purpose == "search" else 401)


@pytest.mark.parametrize("limit", ["search", FILTERED])
def test_a_key_of_a_folder_shows_nothing_of_others_with_any_tool(library: Library, limit: str) -> None:
    key = library.keys[limit]
    tools = {tool["name"] for tool in library.stack.rpc(None, "tools/list", key).json["result"]["tools"]}
    assert tools == ATTEMPTS.keys() == OWN_ATTEMPTS.keys()
    for name, attempts in ATTEMPTS.items():
        for arguments in attempts:
            answer = library.tool(name, arguments, key)
            assert answer.status == 200, answer.body
            # What was sent comes back.
            sent = json.dumps(arguments, ensure_ascii=False) + LINK
            body = unquote(answer.body)
            assert [word for word in FOREIGN_WORDS if word in body and word not in sent] == [], (name, arguments, body)
            assert "力は質量と加速度の積" not in body
            assert not set(found_in(answer)) - {"math/a", "math/b/y"}, (name, arguments, body)


def found_in(answer: Answer) -> Iterator[str]:
    """The pages of everything that an answer found."""
    content = answer.json["result"].get("structuredContent") or {}
    one = [content["chunk"]] if "chunk" in content else []
    for found in content.get("results", ()):
        yield unquote(urlsplit(found["url"]).path).partition(".html")[0].lstrip("/")
    for found in (*content.get("chunks", ()), *content.get("concepts", ()), *one):
        yield found["id"].partition("#")[0]
    yield from (page["material"] for page in content.get("materials", ()))


def test_a_key_of_a_folder_reads_and_finds_over_rest_what_is_there_alone(library: Library) -> None:
    own = {"read": "read_page", "find": "find_text", "feedback": "give_feedback"}
    for route, tool in own.items():
        for arguments in ATTEMPTS[tool]:
            answer = library.stack.ask("POST", f"/v1/{route}", arguments, bearer=library.keys["search"])
            assert "力は質量と加速度の積" not in answer.body
            assert answer.status in (200, 404, 422), answer.body
            assert answer.status != 200 or not answer.json.get("places") or "math/" in answer.body
        over_mcp = library.tool(tool, OWN_ATTEMPTS[tool], library.keys["search"])
        answer = library.stack.ask("POST", f"/v1/{route}", OWN_ATTEMPTS[tool], bearer=library.keys["search"])
        assert answer.json == over_mcp.json["result"]["structuredContent"]
    said = library.stack.ask("GET", "/v1/feedback", bearer=library.stack.admin_key).json["feedback"]
    assert {one["explanation"] for one in said} - {None} == {"math/b/y#rule-formula"}


@pytest.mark.parametrize("limit", ["search", FILTERED])
def test_a_key_of_a_folder_finds_what_is_there_with_every_tool(library: Library, limit: str) -> None:
    for name, arguments in OWN_ATTEMPTS.items():
        answer = library.tool(name, arguments, library.keys[limit])
        assert "isError" not in answer.json["result"] or answer.json["result"]["isError"] is False, answer.body
        assert "math/b/y" in unquote(answer.body), name


def test_a_key_of_a_folder_is_told_what_that_folder_is_and_not_of_others(library: Library) -> None:
    own, all_pages = library.keys["search"], library.stack.knowledge_key
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    for method, params in (("initialize", hello), ("tools/list", {})):
        told = library.stack.rpc(None, method, own, **params).body
        assert "The owner's words about math [2 pages" in told
        assert [word for word in FOREIGN_WORDS if word in told] == []
        assert "words about physics and all [4 pages" in library.stack.rpc(None, method, all_pages, **params).body
    listed = library.tool("list_materials", {"in": "math/b"}, own).json["result"]["structuredContent"]["about"]
    assert (listed["folder"], listed["pages"], listed["folders"]) == ("math/b", 1, [])


def test_a_cursor_of_the_whole_library_leads_no_key_out_of_its_folder(library: Library) -> None:
    from sakuin.mcp.answers import cursor_of

    for folder in (None, OWN):
        cursor = cursor_of("math/b/y", "list_materials", folder)
        answer = library.tool("list_materials", {"cursor": cursor}, library.keys["search"])
        assert "physics" not in answer.body


@pytest.mark.parametrize("key", CASES["keys"])
def test_a_key_that_pushes_reaches_no_file_outside_of_its_folder(library: Library, key: str) -> None:
    stack, bearer = library.stack, library.keys["push"]
    upload = {"key": key, "size": 1, "md5": "0" * 32}
    given = stack.ask("POST", "/v1/files/uploads", {"files": [upload]}, bearer=bearer)
    assert given.status in (403, 422), given.body
    query = quote(key, safe="", errors="surrogatepass")
    # One that is only spelt otherwise may be removed; no URL has half of a surrogate pair.
    is_allowed = key in ("math/か\u3099.html", "math/\ud800.html")
    for method, path in (("DELETE", "/v1/files"), ("GET", "/v1/files/text")):
        answer = stack.ask(method, f"{path}?key={query}", bearer=bearer)
        assert answer.status in (403, 422) or (is_allowed and answer.status == 200), (answer.status, answer.body)


def test_an_upload_is_signed_for_one_file_and_within_the_limits(library: Library) -> None:
    stack, bearer = library.stack, library.keys["push"]

    def announced(*files: dict[str, object]) -> Answer:
        return stack.ask("POST", "/v1/files/uploads", {"files": [*files]}, bearer=bearer)

    page = {"key": "math/式 100%.html", "size": 7, "md5": "0" * 32}
    (target,) = announced(page).json["uploads"]
    assert unquote(urlsplit(target["url"]).path).endswith("/math/式 100%.html")
    signed = "X-Amz-SignedHeaders=content-length%3Bcontent-md5%3Bcontent-type%3Bhost"
    assert signed in target["url"]
    assert "X-Amz-Expires=900" in target["url"]
    assert target["headers"]["Content-Length"] == "7"
    for wrong in ({"size": 10_000_001}, {"key": "math/learns.yml", "size": 5_000_000}, {"size": -1}, {"md5": "x"}):
        assert announced({**page, **wrong}).status == 422
    assert announced(*[page] * 100).status == 200
    assert announced(*[page] * 101).status == 422


def test_a_key_that_pushes_sees_the_files_and_results_of_its_folder_alone(library: Library) -> None:
    stack, s3 = library.stack, boto3.client("s3", "us-east-1")
    for key in ("math/a.html", "math/learns.yml", "mathematics/z.html", "physics/x.html", "physics/learns.yml"):
        s3.put_object(Bucket="materials", Key=key, Body=b"{}")
    first = stack.ask("GET", "/v1/files?limit=1", bearer=library.keys["push"]).json
    assert (list(first["files"]), first["folder"]) == (["math/a.html"], OWN)
    rest = stack.ask("GET", f"/v1/files?after={quote(first['next_cursor'])}", bearer=library.keys["push"]).json
    assert (list(rest["files"]), rest["next_cursor"]) == (["math/learns.yml"], None)
    before = stack.ask("GET", "/v1/files?after=a", bearer=library.keys["push"]).json
    assert list(before["files"]) == ["math/a.html", "math/learns.yml"]
    for path, body in (
        ("/v1/anchors", ["physics/x"]),
        ("/v1/anchors", ["math/a", "mathematics/z"]),
        ("/v1/files/results", {"versions": [{"key": "physics/x.html", "version_id": "version-1"}]}),
    ):
        assert stack.ask("POST", path, body, bearer=library.keys["push"]).status == 403
    anchors = stack.ask("POST", "/v1/anchors", ["math/a", "math/b/y"], bearer=library.keys["push"]).json
    assert anchors["materials"].keys() == {"math/a", "math/b/y"}


def test_a_key_that_reads_a_project_sees_no_other(library: Library) -> None:
    stack, key = library.stack, library.keys["read"]
    projects = stack.ask("GET", "/v1/projects", bearer=key).json["projects"]
    assert [project["id"] for project in projects] == [library.tenant.ids["project_id"]]
    for route in (route for route in MEMBERS if route.method == "GET" and "{" in route.name):
        assert stack.ask("GET", route.path(library.tenant.ids), bearer=key).status == 200
        assert stack.ask("GET", route.path(library.other.ids), bearer=key).status == 404
    members = f"/v1/projects/{library.tenant.ids['project_id']}/members"
    listed = stack.ask("GET", members, bearer=library.tenant.token).json["members"]
    assert sorted(member["role"] for member in listed) == ["owner", "viewer", "viewer"]


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_key_that_has_expired_or_was_removed_opens_nothing(library: Library, purpose: str) -> None:
    stack = library.stack
    project = {"project": library.tenant.ids["project_id"]} if purpose == "read" else {}
    path = {"search": "/v1/search", "push": "/v1/files", "read": "/v1/projects"}[purpose]
    method, body = ("POST", {"query": "公式"}) if purpose == "search" else ("GET", None)
    made = library.new(purpose, **project).json
    if purpose != "search":
        # Of searches another worker keeps it for a minute.
        assert stack.ask(method, path, body, bearer=made["key"]).status == 200
    assert stack.ask("DELETE", f"/v1/keys/{made['hash']}", bearer=stack.admin_key).status == 204
    assert stack.ask(method, path, body, bearer=made["key"]).status == 401
    expired = library.new(purpose, **project).json
    update = "update library_key set expires_at = now() - interval '1 second' where key_hash = %s"
    stack.sql.execute(update, (hash_of_key(expired["key"]),))
    assert stack.ask(method, path, body, bearer=expired["key"]).status == 401
