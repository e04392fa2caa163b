"""The console's page of the deployment's keys."""

from uuid import uuid4

from sakuin.console.pages import keys
from sakuin.platform.keys import hash_of_key

from tests.console.console_client import ConsoleClient
from tests.console.operation import first_page
from tests.events import KEY
from tests.world import World, Worlds

HASH = hash_of_key(KEY)


def console(world: World) -> ConsoleClient:
    stored = [keys.DeploymentKey("knowledge", "ab" * 32, None), keys.DeploymentKey("admin", HASH, "2026-11-22")]
    return ConsoleClient(world, first_page(world), lambda shell: keys.routes(shell, lambda: stored))


def test_an_admin_sees_the_first_digits_of_hashes_and_the_command(a_world: Worlds) -> None:
    page = console(a_world()).sign_in_admin().get("/keys").text
    for shown in ("abababababab", HASH[:12], "2026-11-22", "sakuin keys new --for admin"):
        assert shown in page
    assert HASH not in page


def test_a_user_does_not_find_the_page(a_world: Worlds) -> None:
    user = console(a_world()).sign_in_user(str(uuid4()))
    assert user.get("/keys").status_code == 404
    assert "/keys" not in user.get("/").text
