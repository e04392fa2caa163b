"""The user of `sakuin up` signs in to the console, and lets an agent search for him."""

import pytest

from tests.integration.conftest import Deployed
from tests.oauth.person import Person
from tests.oauth.sdk_agent import Agent

pytestmark = [pytest.mark.integration, pytest.mark.anyio]


async def test_an_agent_that_knows_the_address_alone_searches_after_the_user_has_allowed_it(deployed: Deployed) -> None:
    environment = deployed.environment
    person = Person(deployed.url, environment["SAKUIN_USER_EMAIL"], environment["SAKUIN_USER_PASSWORD"])
    agent = Agent(environment["SAKUIN_TOOLS_MCP_URL"], person)

    async with agent.connected() as client:
        answer = await client.call_tool("search_columns", {"query": "公式の覚え方"})
    # The Table may be indexed later.
    assert not answer.is_error, answer.content

    assert environment["SAKUIN_USER_EMAIL"] in person.http.get(f"{deployed.url}/console/agents").text
    assert len(agent.shown) == 1
