"""The REST API of projects for the users of a platform, and the webhooks of its database."""

import time
from typing import Any
from uuid import UUID

import jwt

from tests.golden.rest import Conversation

_MEMBER = str(UUID(int=1))
_SECOND = str(UUID(int=2))
_STRANGER = str(UUID(int=3))


def members(conversation: Conversation, project: str, table: str, tool: str) -> None:
    """Asks as a member, as a stranger, and with tokens that are refused."""
    ask = conversation.ask
    secret = conversation.deployment.secret()["supabase_jwt_secret"]
    conversation.deployment.wait_for_tool(tool)
    here = f"/v1/projects/{project}/members"
    member, second, stranger = (_token(secret, sub=user) for user in (_MEMBER, _SECOND, _STRANGER))
    for user, name in ((_MEMBER, "<member>"), (_SECOND, "<second member>"), (_STRANGER, "<stranger>")):
        conversation.normaliser.name(user, name)
    ask("remove a user who is no member", "DELETE", f"{here}/{_MEMBER}")
    ask("add a member", "POST", here, {"user_id": _MEMBER})
    ask("add a member again", "POST", here, {"user_id": _MEMBER})
    ask("add a member who is no UUID", "POST", here, {"user_id": "somebody"})
    ask("members", "GET", here)
    for method, path in (
        ("GET", "/v1/projects"),
        ("GET", here),
        ("GET", f"/v1/projects/{project}/tables"),
        ("GET", f"/v1/tables/{table}"),
        ("GET", f"/v1/tables/{table}/data?pointer=/notes"),
        ("GET", f"/v1/tools/{tool}"),
        ("GET", f"/v1/projects/{project}/mcps"),
    ):
        for who, token in (("member", member), ("stranger", stranger)):
            name = conversation.normaliser.text(f"{who}: {method} {path}")
            ask(name, method, path, key=token)
    ask("member: rename a Table", "PATCH", f"/v1/tables/{table}", {"name": "記事"}, key=member)
    ask("stranger: rename a Table", "PATCH", f"/v1/tables/{table}", {"name": "記事"}, key=stranger)
    ask("member: change a Tool", "PATCH", f"/v1/tools/{tool}", {"description": "記事を探す"}, key=member)
    ask("stranger: change a Tool", "PATCH", f"/v1/tools/{tool}", {"enabled": False}, key=stranger)
    ask("stranger: delete a project", "DELETE", f"/v1/projects/{project}", key=stranger)
    ask("member: add a member", "POST", here, {"user_id": _SECOND}, key=member)
    ask("second member: leave", "DELETE", f"{here}/{_SECOND}", key=second)
    ask("member: leave as the last one", "DELETE", f"{here}/{_MEMBER}", key=member)
    own = ask("member: create a project", "POST", "/v1/projects", {"name": "own"}, key=member).json()
    conversation.normaliser.name(own["id"], "<own project>")
    ask("member: delete his project", "DELETE", f"/v1/projects/{own['id']}", key=member)
    for path in ("/v1/status", "/v1/materials", "/v1/index"):
        ask(f"member: {path}", "GET", path, key=member)
    tokens = {
        "too old": _token(secret, sub=_MEMBER, exp=1_000_000_000),
        "of nobody": _token(secret),
        "of another audience": _token(secret, sub=_MEMBER, aud="others"),
        "of the anonymous role": _token(secret, sub=_MEMBER, role="anon"),
        "signed by somebody else": _token("another secret of at least thirty-two bytes", sub=_MEMBER),
        "that is none": "a.b.c",
    }
    for name, token in tokens.items():
        ask(f"a token {name}", "GET", "/v1/projects", key=token)


def _token(secret: str, **claims: object) -> str:
    """Signs an access token as Supabase Auth does."""
    usual = {"role": "authenticated", "aud": "authenticated", "iss": "supabase", "exp": int(time.time()) + 21_600}
    return jwt.encode({**usual, **claims}, secret, "HS256")


def webhooks(conversation: Conversation, project: str, table: str, tool: str) -> None:
    """Sends what a platform's webhook may send, and what it may not."""
    secret = conversation.deployment.secret()["hook_secret"]
    record = {"id": tool, "table_id": table, "project_id": project}
    before = {"id": table, "project_id": project}
    after = {**before, "version": 99, "data": {}}
    asked: dict[str, tuple[str | None, Any]] = {
        "without a secret": (None, {}),
        "with a wrong secret": ("wrong", {}),
        "of a Tool": (secret, {"type": "UPDATE", "table": "tool", "record": record, "old_record": record}),
        "of a Table": (secret, {"type": "UPDATE", "table": "context_table", "record": after, "old_record": before}),
        "without the old record": (secret, {"type": "UPDATE", "table": "context_table", "record": after}),
        "of another table": (secret, {"type": "INSERT", "table": "project", "record": {"id": project}}),
        "of nothing": (secret, {}),
        "that is a list": (secret, []),
        "without an id": (secret, {"type": "UPDATE", "table": "tool", "record": {}}),
    }
    for name, (given, body) in asked.items():
        headers = {} if given is None else {"x-sakuin-secret": given}
        conversation.ask(f"a webhook {name}", "POST", "/hooks/supabase", key=None, headers=headers, json=body)
    conversation.deployment.wait_for_tool(tool)
