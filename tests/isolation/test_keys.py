"""The keys of a Supabase project, of either kind, and whom a request is for."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import ACTING_USER, call, connected, credentials
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import User

from tests.isolation.gateway import PUBLISHABLE, SECRET
from tests.isolation.stack import Stack


def test_a_key_that_is_no_token_is_sent_as_a_key_alone() -> None:
    assert credentials(SECRET) == {"apikey": SECRET}
    assert credentials("a.b.c") == {"apikey": "a.b.c", "Authorization": "Bearer a.b.c"}
    assert credentials(PUBLISHABLE, "d.e.f") == {"apikey": PUBLISHABLE, "Authorization": "Bearer d.e.f"}


def test_either_kind_of_service_key_reads_every_project(stack: Stack) -> None:
    user = str(uuid4())
    stack.ask("POST", "/v1/projects", {"name": "p"}, bearer=stack.token(user))
    known = {
        project.id
        for url, key in ((stack.gateway.url, SECRET), (stack.database.rest_url, stack.database.service_key))
        for project in ProjectRecords(connected(url, key)).projects(None)
    }
    assert known == {str(id) for (id,) in stack.sql.execute("select id from project where deleted_at is null")}


def test_a_publishable_key_alone_opens_nothing(stack: Stack) -> None:
    with pytest.raises(Unavailable, match="permission denied for function list_projects"):
        call(connected(stack.gateway.url, PUBLISHABLE), "list_projects", {})


def test_people_who_ask_at_once_over_one_session_each_see_their_own(stack: Stack) -> None:
    service = connected(stack.gateway.url, SECRET)
    records = ProjectRecords(service)
    people = [User(str(uuid4())) for _ in range(4)]
    own = {user.id: records.create_project(user, user.id).id for user in people}

    def seen(user: User) -> bool:
        return [project.id for project in records.projects(user)] == [own[user.id]]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(seen, people * 15))
    assert ACTING_USER not in service.headers
    assert len(records.projects(None)) > len(people)
