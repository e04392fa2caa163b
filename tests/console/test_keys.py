"""The console's page of the deployment's keys."""

import re
from dataclasses import replace
from uuid import uuid4

import pytest
from sakuin.platform.keys import DeploymentKey, LibraryKeys, hash_of_key

from tests.console.console_client import ConsoleClient, hidden_fields
from tests.events import KEY
from tests.worlds import Worlds

HASH = hash_of_key(KEY)
NEW = re.compile(r"sk_sakuin_[A-Za-z0-9_-]{43}")


@pytest.fixture(scope="module")
def one_console(a_world: Worlds) -> ConsoleClient:
    world = a_world()
    library = LibraryKeys(world.client)

    def stored() -> list[DeploymentKey]:
        return [*(each.shown(None) for each in library.all()), DeploymentKey("admin", HASH, "2026-11-22")]

    return ConsoleClient(world, replace(world.services, deployment_keys=stored))


@pytest.fixture
def console(one_console: ConsoleClient) -> ConsoleClient:
    """The console in a new browser, which made no key."""
    one_console.world.sql.execute("truncate library_key, library_key_filter, console_session")
    return one_console.new_visitor()


def made(console: ConsoleClient) -> list[tuple[str, str]]:
    """Returns the hash and the name of each key that the console made."""
    return console.world.sql.execute("select key_hash, name from library_key").fetchall()


def test_an_admin_sees_the_first_digits_of_hashes_and_the_command(console: ConsoleClient) -> None:
    page = console.sign_in_admin().get("/keys").text
    for shown in (HASH[:12], "2026-11-22", "sakuin keys new --for admin"):
        assert shown in page
    assert HASH not in page


def test_a_key_is_made_after_the_admin_key_was_typed_again_and_is_shown_once(console: ConsoleClient) -> None:
    answer = console.sign_in_admin().send("/keys", "/keys/new", {"name": "Tutor", "key": KEY})
    (key,) = set(NEW.findall(answer.text))
    assert made(console) == [(hash_of_key(key), "Tutor")]
    assert f"export SAKUIN_API_KEY={key}" in answer.text
    assert KEY not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    listed = console.get("/keys").text
    assert ("Tutor" in listed, key in listed, hash_of_key(key)[:12] in listed) == (True, False, True)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"name": "Tutor", "key": ""}, 403),
        ({"name": "Tutor", "key": f"{KEY}x"}, 403),
        ({"name": " ", "key": KEY}, 422),
        ({"name": "x" * 201, "key": KEY}, 422),
    ],
)
def test_a_session_alone_or_no_name_makes_no_key(console: ConsoleClient, fields: dict[str, str], status: int) -> None:
    answer = console.sign_in_admin().send("/keys", "/keys/new", fields)
    assert (answer.status_code, made(console), NEW.findall(answer.text)) == (status, [], [])
    assert not fields["key"] or fields["key"] not in answer.text


def test_the_same_form_makes_no_second_key(console: ConsoleClient) -> None:
    page = console.sign_in_admin().get("/keys").text
    form = {**hidden_fields(page, "/keys/new"), "name": "Tutor", "key": KEY}
    console.post("/keys/new", form)
    again = console.post("/keys/new", form)
    assert (again.url.path, len(made(console)), NEW.findall(again.text)) == ("/console/keys", 1, [])


def test_a_key_that_the_console_made_is_revoked_there(console: ConsoleClient) -> None:
    console.sign_in_admin().send("/keys", "/keys/new", {"name": "Tutor", "key": KEY})
    assert "is revoked" in console.send("/keys", "/keys/revoke").text
    assert made(console) == []


def test_a_user_does_not_find_the_page_and_makes_no_key(console: ConsoleClient) -> None:
    user = console.sign_in_user(str(uuid4()))
    assert user.get("/keys").status_code == 404
    page = user.get("/").text
    assert "/keys" not in page
    csrf = {"csrf": hidden_fields(page, "/sign-out")["csrf"]}
    for path in ("/keys/new", "/keys/revoke"):
        assert user.post(path, {**csrf, "name": "x", "key": KEY}).status_code == 404
    assert made(console) == []


def test_a_key_fixes_a_filter_of_pages_that_the_list_shows(console: ConsoleClient) -> None:
    fields = {"name": "Tutor", "key": KEY, "purpose": "search", "filter": "tenant=42, type=rule"}
    assert NEW.findall(console.sign_in_admin().send("/keys", "/keys/new", fields).text)
    assert console.world.sql.execute("select filter from library_key_filter").fetchall() == [
        ({"tenant": "42", "type": "rule"},)
    ]
    page = console.get("/keys").text
    assert ("<code>tenant=42</code>" in page, "<code>type=rule</code>" in page) == (True, True)
    for wrong in ({"filter": "tenant"}, {"filter": "type=page"}, {"filter": "tenant=1", "purpose": "push"}):
        assert console.send("/keys", "/keys/new", fields | wrong).status_code == 422
    assert len(made(console)) == 1


def test_a_key_is_made_for_one_purpose_in_one_folder_until_a_day(console: ConsoleClient) -> None:
    fields = {"name": "CI", "key": KEY, "purpose": "push", "folder": "/math/7/", "days": "30"}
    answer = console.sign_in_admin().send("/keys", "/keys/new", fields)
    (key,) = set(re.findall(r"sk_sakuin_push_[A-Za-z0-9_-]{43}", answer.text))
    assert f"SAKUIN_PUSH_KEY={key}" in answer.text
    assert "SAKUIN_URL=http" in answer.text
    query = "select purpose, folder, expires_at - now() between '29 days' and '30 days' from library_key"
    assert console.world.sql.execute(query).fetchall() == [("push", "math/7", True)]
    listed = console.get("/keys").text
    assert "<code>math/7</code>" in listed
    assert key not in listed


def test_a_key_that_reads_names_its_project(console: ConsoleClient) -> None:
    project = console.world.projects.create_project(None, "p").id
    fields = {"name": "Auditor", "key": KEY, "purpose": "read", "project": project}
    answer = console.sign_in_admin().send("/keys", "/keys/new", fields)
    assert re.search(r"SAKUIN_READ_KEY=sk_sakuin_read_[A-Za-z0-9_-]{43}", answer.text)
    assert f"<code>{project}</code>" in console.get("/keys").text


@pytest.mark.parametrize(
    "fields",
    [
        {"purpose": "admin"},
        {"purpose": "push", "folder": "a/../b"},
        {"purpose": "push", "days": "0"},
        {"purpose": "push", "days": "soon"},
        {"purpose": "push", "days": "9" * 30},
        {"purpose": "read", "project": str(uuid4())},
    ],
)
def test_wrong_fields_make_no_key_and_keep_what_was_typed(console: ConsoleClient, fields: dict[str, str]) -> None:
    answer = console.sign_in_admin().send("/keys", "/keys/new", {"name": "Tutor", "key": KEY, **fields})
    assert (answer.status_code, made(console)) == (422, [])
    assert 'value="Tutor"' in answer.text
