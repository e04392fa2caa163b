"""Where agents have their users sign in: metadata (RFC 9728) that names Supabase Auth as the authorization server."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

WELL_KNOWN = "/.well-known/oauth-protected-resource"
LIBRARY = "/mcp"
# Supabase's scopes say what it tells a client about the user; none of them opens anything here. This is its default,
# and one is named because a client that is told none asks for all. `openid` fails while a shared secret signs tokens.
SCOPE = "email"
_ENDPOINT = re.compile(rf"{LIBRARY}/[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}", re.IGNORECASE)


def issuer_of(supabase_url: str) -> str:
    """Returns the issuer of a Supabase project's tokens, which is also the address of its authorization server."""
    return f"{supabase_url.rstrip('/')}/auth/v1"


@dataclass(frozen=True, slots=True)
class SignIn:
    """Signing in at Supabase Auth, offered while `accepts_users` and, for the library, if `opens_library`.

    `api_url` is the address that agents use; empty: the domain of the gateway's API.
    """

    issuer: str
    accepts_users: Callable[[], bool]
    opens_library: bool = False
    api_url: str = ""

    def metadata(self, scope: Mapping[str, Any], path: str) -> dict[str, Any] | None:
        """Returns the metadata of the resource at `path`, "" for all of them; None if users cannot sign in for it."""
        address = self.address(scope)
        if not address or not self._is_offered(path):
            return None
        return {
            "resource": address + path,
            "authorization_servers": [self.issuer],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
        }

    def challenge(self, scope: Mapping[str, Any], path: str) -> str:
        """Returns what a 401 of `path` says about signing in (RFC 9728, 5.1); empty if users cannot sign in for it."""
        address = self.address(scope)
        if not address or not self._is_offered(path):
            return ""
        return f'resource_metadata="{address}{WELL_KNOWN}{path}", scope="{SCOPE}"'

    def _is_offered(self, path: str) -> bool:
        if path == LIBRARY:
            return self.opens_library and self.accepts_users()
        # Of every id: whether there is such an endpoint is not told.
        return (not path or _ENDPOINT.fullmatch(path) is not None) and self.accepts_users()

    def address(self, scope: Mapping[str, Any]) -> str:
        """Returns the address of this deployment; empty if it is unknown.

        The domain is the one that the gateway found the API by, not what a client sent: a client must not have
        metadata of another resource made.
        """
        if self.api_url:
            return self.api_url
        domain = scope.get("aws.event", {}).get("requestContext", {}).get("domainName")
        return f"https://{domain}" if domain else ""
