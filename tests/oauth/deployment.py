"""A deployment where agents sign in: the functions behind a gateway, and Supabase with Auth, each at its address."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sakuin.platform.aws import Handler
from sakuin_local.serving import served
from sakuin_local.stack import REMAPPED
from sakuin_local.supabase.auth.application import Auth, auth_of, gateway
from sakuin_local.supabase.database import Database
from starlette.responses import PlainTextResponse

from tests.conformance.gateway import behind_gateway
from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.gateway import PUBLISHABLE, SECRET
from tests.isolation.stack import Stack, stack_of
from tests.oauth.person import Person

EMAIL, PASSWORD = "teacher@example.test", "correct horse"
WORDS = "二次方程式の解の公式"


@dataclass
class Deployment:
    """`url` is the address of the functions. The person owns the project of `tenant`, who has a Search Tool.

    While `renames_header`, the gateway renames `WWW-Authenticate` as API Gateway does; CloudFront names it back.
    """

    stack: Stack
    auth: Auth
    tenant: Tenant
    url: str = ""
    renames_header: bool = True

    @property
    def endpoint(self) -> str:
        """The address of the endpoint, which is all that the person gives an agent."""
        return f"{self.url}/mcp/{self.tenant.ids['mcp_id']}"

    def person(self) -> Person:
        """A new browser of the person."""
        return Person(self.url, EMAIL, PASSWORD)


@contextmanager
def deployment(database: Database, store: str) -> Iterator[Deployment]:
    """Serves a deployment while the block runs."""
    made: list[Deployment] = []
    with ExitStack() as until_the_end:

        def start(url: str) -> Handler:
            # In the thread whose event loop the functions keep.
            stack = until_the_end.enter_context(stack_of(database, store, API_URL=url))
            supabase = stack.gateway.url
            auth = auth_of(None, database.signing_key, url=supabase, site_url=url, api_keys={PUBLISHABLE, SECRET})
            user = auth.sessions.records.add_user(EMAIL, PASSWORD)
            nothing = PlainTextResponse("not found", 404)
            stack.gateway.auth_port = until_the_end.enter_context(served(gateway(auth, nothing)))
            made.append(Deployment(stack, auth, moved_in(stack, WORDS, user.id), url))
            return stack.answer

        def front(inner: Any) -> Any:
            return _Renamed(inner, lambda: made[0].renames_header)

        until_the_end.enter_context(behind_gateway(start, around=front, **{"X-Forwarded-Proto": "http"}))
        yield made[0]


@dataclass(frozen=True, slots=True)
class _Renamed:
    """What API Gateway does to a header of answers, while `is_on`."""

    inner: Any
    is_on: Callable[[], bool]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def renamed(message: Any) -> None:
            if "headers" in message and self.is_on():
                headers = [(REMAPPED.get(name.lower(), name), value) for name, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        await self.inner(scope, receive, renamed)
