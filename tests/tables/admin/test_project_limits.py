"""How many Tables, Tools and endpoints a project may have."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from sakuin.errors import Invalid
from sakuin.limits import Limits
from sakuin.tables.admin.endpoints import EndpointAdmin
from sakuin.tables.admin.projects import ProjectAdmin
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.admin.tools import ToolAdmin
from sakuin.tables.model import User

from tests.world import World, Worlds


class Member:
    """An admin of one project, in a deployment where two of everything are enough."""

    def __init__(self, world: World) -> None:
        self.records = world.projects
        self.project = self.records.create_project(None, "p").id
        self.tables = TableAdmin(self.records, world.bodies, Limits(table_bytes=1000, tables=2))
        self.tools = ToolAdmin(self.records, most=2)
        self.endpoints = EndpointAdmin(self.records, Limits(endpoints=2, endpoint_tools=2))

    def table(self) -> str:
        return self.tables.create(None, self.project, name="t", document={}).id

    def upload(self) -> str:
        return self.tables.announce(None, self.project, name="t", size=10)[0].id

    def tool(self) -> str:
        table = self.records.tables(None, self.project)[0].id
        made = self.tools.create(
            None, self.project, table_id=table, json_path="", type="search", name=f"t{uuid4().hex}", description=None
        )
        return made.id

    def endpoint(self, *tools: str) -> str:
        return self.endpoints.create(None, self.project, name="e", tools=tools)[0].id


@pytest.fixture
def member(a_world: Worlds) -> Member:
    return Member(a_world())


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (Member.table, "tables"),
        (Member.upload, "tables"),
        (Member.tool, "tools"),
        (Member.endpoint, "endpoints"),
    ],
)
def test_the_third_of_two_is_refused_with_what_raises_the_limit(
    member: Member, make: Callable[[Member], str], limit: str
) -> None:
    if limit == "tools":
        member.table()
    made = [make(member), make(member)]
    with pytest.raises(Invalid, match=rf"That would be 3 \w+; the limit is 2 \({limit}\)\. Remove some"):
        make(member)
    assert len(set(made)) == 2


def test_projects_that_others_made_one_a_member_of_are_not_counted(a_world: Worlds) -> None:
    """Else who knows a user's id takes his projects from him."""
    world = a_world()
    keep = ProjectAdmin(world.projects, Limits(projects=2))
    attacker, victim = (User(id, token=world.token(id)) for id in (str(uuid4()), str(uuid4())))
    for _ in range(2):
        keep.add_member(attacker, keep.create(attacker, "p").id, victim.id)
    with pytest.raises(Invalid, match=r"3 projects that you created; the limit is 2 \(projects\)"):
        keep.create(attacker, "p")
    assert keep.create(victim, "mine").name == "mine"
    assert len(keep.all(victim)) == 3


def test_one_that_was_removed_makes_room(member: Member) -> None:
    member.table()
    member.tables.delete(None, member.table())
    member.table()


def test_an_endpoint_takes_so_many_tools_made_with_it_or_bound_later(member: Member) -> None:
    member.table()
    one, other = member.tool(), member.tool()
    member.tools = ToolAdmin(member.records, most=9)
    third = member.tool()
    with pytest.raises(Invalid, match=r"3 tools of one endpoint; the limit is 2 \(endpoint_tools\)"):
        member.endpoint(one, other, third)
    endpoint = member.endpoint(one, other)
    with pytest.raises(Invalid, match=r"3 tools of one endpoint.*endpoint_tools"):
        member.endpoints.bind(None, endpoint, third)
    # One that is bound already is switched, however many there are.
    member.endpoints.bind(None, endpoint, other, status="disabled")


def test_a_patch_does_not_make_a_table_larger_than_an_upload_may_be(member: Member) -> None:
    table = member.table()
    grown = [{"op": "add", "path": "/a", "value": "x" * 1000}]
    with pytest.raises(Invalid, match=r"the limit is 1,000 \(table_bytes\); this one has 1,008"):
        member.tables.patch(None, table, grown, expected_version=None)
    assert member.tables.node(None, table, "") == {}


def test_an_upload_over_the_size_says_how_much_it_was(member: Member) -> None:
    with pytest.raises(Invalid, match=r"the limit is 1,000 \(table_bytes\); this one has 1,001"):
        member.tables.announce(None, member.project, name="t", size=1001)
