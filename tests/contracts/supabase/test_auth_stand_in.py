"""What the stand-in for Supabase Auth keeps. `tests/console` and `tests/oauth` sign in with it."""

from pathlib import Path

from sakuin_local.supabase.auth.application import Auth, auth_of
from sakuin_local.supabase.tokens import signing_key_of

URL = "http://127.0.0.1:54321"


def started_in(folder: Path) -> Auth:
    key = signing_key_of(folder)
    return auth_of(folder / "auth.json", key, url=URL, site_url=URL, api_keys={"publishable", "secret"})


def test_users_are_there_after_a_restart_and_no_password_is(tmp_path: Path) -> None:
    started_in(tmp_path).sessions.records.add_user("user@example.com", "correct")
    (user,) = started_in(tmp_path).sessions.records.users.values()
    assert (user.email, user.has_password("correct"), user.has_password("no")) == ("user@example.com", True, False)
    file = tmp_path / "auth.json"
    assert "correct" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
