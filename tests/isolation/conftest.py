"""Two tenants in one stack."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from tests.database_server import DatabaseServer
from tests.isolation.stack import Stack, stack_of
from tests.worlds import long, turbopuffer_in


@dataclass(frozen=True, slots=True)
class Tenant:
    """A person with one project: its ids by the names that routes and functions have for them, and its secrets."""

    user: str
    token: str
    ids: dict[str, str]
    key: str
    tool: str
    words: str


def moved_in(stack: Stack, words: str, user: str = "", *, is_searched: bool = True) -> Tenant:
    """A tenant with a Table about `words`, which is indexed if it `is_searched`."""
    user = user or str(uuid4())
    token = stack.token(user)

    def made(path: str, body: object) -> dict[str, str]:
        answer = stack.ask("POST", path, body, bearer=token)
        assert answer.status == 201, answer.body
        created: dict[str, str] = answer.json
        return created

    project = made("/v1/projects", {"name": f"project of {words}"})["id"]
    document = {
        "public": {"a": long(words), "~1": {"..": long(f"点々{words}")}},
        "publicsecret": {"b": long(f"秘密{words}")},
        "secret": long(f"内緒{words}"),
        "": {"public": long(f"空{words}")},
    }
    groups = {"groups": [[words, f"別の{words}"]]}
    assert stack.ask("PUT", f"/v1/projects/{project}/synonyms", groups, bearer=token).status == 200
    table = made(f"/v1/projects/{project}/tables", {"name": f"table of {words}", "data": document})["id"]
    asked = {"table_id": table, "json_path": "/public", "type": "search", "name": f"search_{user[:8]}"}
    tool = made(f"/v1/projects/{project}/tools", asked)["id"]
    # Bound to no endpoint: the rest of the Table is in the index, too.
    made(f"/v1/projects/{project}/tools", {**asked, "json_path": "", "name": "everything"})
    bound = stack.ask("POST", f"/v1/projects/{project}/mcps", {"name": words, "tool_ids": [tool]}, bearer=token).json
    if is_searched:
        stack.indexed(project, table)
    # A second member, whom routes and functions can name.
    guest = str(uuid4())
    invited = stack.ask("POST", f"/v1/projects/{project}/members", {"user_id": guest}, bearer=token)
    assert invited.status == 204, invited.body
    ids = {"project_id": project, "table_id": table, "tool_id": tool, "mcp_id": bound["mcp"]["id"], "user_id": guest}
    return Tenant(user, token, ids, bound["key"], asked["name"], words)


@pytest.fixture(scope="package")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with turbopuffer_in(tmp_path_factory.mktemp("turbopuffer")) as address:
        yield address


@pytest.fixture(scope="package")
def stack(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory, stand_in: str) -> Iterator[Stack]:
    """One stack for all tests here that need no other settings; nothing else empties its database."""
    copy = database_server.copy(tmp_path_factory.mktemp("isolation"))
    with copy as database, stack_of(database, stand_in, RECORD_REFUSED_QUESTIONS="true") as open_stack:
        yield open_stack


@pytest.fixture(scope="package")
def owner(stack: Stack) -> Tenant:
    return moved_in(stack, "二次方程式の解の公式")


@pytest.fixture(scope="package")
def other(stack: Stack) -> Tenant:
    return moved_in(stack, "三平方の定理")
