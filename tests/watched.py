"""Requests to Postgres, as a test sees them."""

from collections.abc import Callable
from contextlib import ExitStack

import httpx
from sakuin.platform.supabase.client import Client


def watched(client: Client, see: Callable[[str, httpx.Response], object]) -> ExitStack:
    """Shows each answer with the name of its SQL function or table, until the result is closed."""
    session = client.postgrest.session
    hooks = session.event_hooks

    def answered(response: httpx.Response) -> None:
        response.read()
        see(response.url.path.rpartition("/")[2], response)

    session.event_hooks = {**hooks, "response": [*hooks["response"], answered]}
    watching = ExitStack()
    watching.callback(setattr, session, "event_hooks", hooks)
    return watching
