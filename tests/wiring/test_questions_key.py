"""Questions and indexing may have keys of different projects of OpenAI, whose rate limits are separate."""

import pytest
from sakuin.platform.secrets import Secrets
from sakuin.settings import Settings
from sakuin.wiring.clients import Clients, start_telemetry

from tests.contracts.openai_server import OpenAIServer


@pytest.fixture(params=[{"openai_questions_key": "sk-questions"}, {"openai_questions_key": ""}, {}])
def members(members: dict[str, object], request: pytest.FixtureRequest) -> dict[str, object]:
    return members | request.param


def test_questions_use_their_own_key_or_that_of_indexing(
    openai: OpenAIServer, environ: dict[str, str], members: dict[str, object]
) -> None:
    settings, secrets = Settings.read(environ), Secrets.read(members, "sakuin")
    clients = Clients(settings, secrets, start_telemetry("Index"))
    clients.question_embedder(settings.embedding_model).query("question")
    clients.indexing_embedder(settings.embedding_model).passages(["text"])
    own = members.get("openai_questions_key") or "sk-test"
    assert openai.keys == [own, "sk-test"]
    assert own in secrets.confidential
