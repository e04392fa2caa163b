"""Callers who signed in: what the access token of a user opens, in an agent's hands or his own."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sakuin.errors import Forbidden, Unauthorized
from sakuin.platform.supabase.sign_in import SignIn
from sakuin.tables.model import Endpoint

# Gives the endpoint for its id and a user who is a member of its project; None for anyone else and for no endpoint.
EndpointOfUser = Callable[[str, str], Endpoint | None]

# A JWT (RFC 7519): three parts, and the first begins with `{"`.
_TOKEN = re.compile(r"eyJ[\w-]*\.[\w-]+\.[\w-]*", re.ASCII)


def is_token(text: str) -> bool:
    """Returns whether the text has the form of an access token."""
    return _TOKEN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Users:
    """The users of the deployment. `user_of` gives the UUID of a token's user; it raises `Unauthorized`."""

    sign_in: SignIn
    user_of: Callable[[str], str]
    endpoint: EndpointOfUser

    def find(self, token: str, mcp_id: str | None) -> tuple[str, Endpoint | None]:
        """Returns the token's user, and the endpoint; None for the library.

        `Unauthorized` for a wrong token. `Forbidden` if the user may not search there, whether or not there is such an
        endpoint.
        """
        if not self.sign_in.accepts_users():
            raise Unauthorized
        user = self.user_of(token)
        if mcp_id is None:
            if not self.sign_in.opens_library:
                raise Forbidden("This library opens with a key only. Ask its operator for one (LibraryForUsers)")
            return user, None
        endpoint = self.endpoint(mcp_id, user)
        if endpoint is None:
            raise Forbidden("You are no member of the project of such an endpoint. An owner can add you")
        return user, endpoint
