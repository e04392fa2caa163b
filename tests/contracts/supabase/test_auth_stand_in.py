"""What the stand-in for Supabase Auth keeps. `tests/console` and `tests/oauth` sign in with it."""

from dataclasses import replace
from pathlib import Path

from sakuin_local.supabase.auth.application import Auth, auth_of, gateway
from sakuin_local.supabase.tokens import signing_key_of
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

URL = "http://127.0.0.1:54321"


def started_in(folder: Path) -> Auth:
    key = signing_key_of(folder)
    return auth_of(folder / "auth.json", key, url=URL, site_url=URL, api_keys={"publishable", "secret"})


def test_a_user_who_is_created_is_confirmed_only_if_that_is_asked_for(tmp_path: Path) -> None:
    auth = started_in(tmp_path)
    with TestClient(gateway(replace(auth, secret_keys={"secret"}), PlainTextResponse(""))) as http:
        for more, status in (({}, 400), ({"email_confirm": True}, 200)):
            account = {"email": f"{status}@school.example", "password": "correct", **more}
            headers = {"apikey": "secret"}
            made = http.post("/auth/v1/admin/users", json=account, headers=headers).json()
            signed_in = http.post("/auth/v1/token?grant_type=password", json=account, headers=headers)
            assert signed_in.status_code == status, signed_in.text
            assert http.delete(f"/auth/v1/admin/users/{made['id']}", headers=headers).status_code == 200
    assert auth.sessions.records.users == {}


def test_users_are_there_after_a_restart_and_no_password_is(tmp_path: Path) -> None:
    started_in(tmp_path).sessions.records.add_user("user@example.com", "correct")
    (user,) = started_in(tmp_path).sessions.records.users.values()
    assert (user.email, user.has_password("correct"), user.has_password("no")) == ("user@example.com", True, False)
    file = tmp_path / "auth.json"
    assert "correct" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
