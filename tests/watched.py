"""Requests to Postgres, as a test sees them."""

from collections.abc import Callable
from typing import Any

from sakuin.platform.supabase.client import Client
from sakuin.platform.supabase.requests import Request, Send


def watched(client: Client, see: Callable[[Request, Any], object]) -> Send:
    """Returns the client's `send`, which shows each request with its answer."""
    send = client.send

    def sent(request: Request) -> Any:
        response = send(request)
        see(request, response)
        return response

    return sent
