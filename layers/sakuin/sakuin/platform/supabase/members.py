"""The connection of a person who signed in: the functions' own session, with that person's token."""

from collections.abc import Callable
from typing import Any

from postgrest import APIError

from sakuin.errors import Misconfigured, Unauthorized, Unavailable
from sakuin.platform.supabase.client import Client, call, credentials

# Gives a client that acts with a token.
Acting = Callable[[str], Client]


# PostgREST's codes for a token that is malformed, wrongly signed, too old, or has claims it does not take.
_REFUSED = ("PGRST301", "PGRST302", "PGRST303")


def acting_with(client: Client, key: Callable[[], str]) -> Acting:
    """Clients that share the session of `client`, and nothing else of it: row level security binds what they do.

    `key` gives the publishable key: with a user's token it lets a request through Supabase's gateway, alone it opens
    nothing. Without one nobody's token is taken: the service key in its place would open everything, once a token is
    left out by mistake.
    """

    def acting(token: str) -> Client:
        if not (publishable := key()):
            raise Misconfigured("Users are let in once the functions' secret has a member supabase_publishable_key")
        return Client(
            str(client.base_url),
            headers=credentials(publishable, token),
            http_client=client.session,
            retry_enabled=False,
        )

    return acting


def nobody(_token: str) -> Client:
    """For functions that act for no user."""
    raise Unauthorized("This function takes no user's token")


def call_as_member(client: Client, function: str, arguments: dict[str, Any]) -> Any:
    """Calls a function of the API with a member's token; `Unauthorized` if Supabase refuses the token."""
    try:
        return call(client, function, arguments)
    except Unavailable as error:
        if isinstance(error.__cause__, APIError) and error.__cause__.code in _REFUSED:
            raise Unauthorized("The token is wrong or too old. Sign in again") from error
        raise
