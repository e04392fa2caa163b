"""What every `StoredSecret` promises: nobody's change is lost."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Conflict, Misconfigured, NotFound
from sakuin_cli.ports import StoredSecret
from sakuin_cli.stored_secret import SecretsManagerSecret

from tests.in_memory.secret import MemorySecret

NAME = "sakuin/prod"


@dataclass(frozen=True, slots=True)
class Both:
    """The secret, and what its readers get."""

    secret: StoredSecret
    seen_by_functions: Callable[[], object]


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield boto3.client("secretsmanager")


@pytest.fixture(params=["memory", "aws"])
def both(request: pytest.FixtureRequest) -> Both:
    """Each adapter in turn, with one member."""
    if request.param == "memory":
        memory = MemorySecret({"openai_api_key": "sk"})
        return Both(memory, lambda: memory.members)
    client = request.getfixturevalue("manager")
    client.create_secret(Name=NAME, SecretString='{"openai_api_key": "sk"}')
    secret = SecretsManagerSecret(client, NAME)

    def current() -> object:
        # AWS gives the current version to those who ask for none; moto does so only until the label moves.
        return json.loads(client.get_secret_value(SecretId=NAME, VersionStage="AWSCURRENT")["SecretString"])

    return Both(secret, current)


def test_what_is_written_is_what_functions_read(both: Both) -> None:
    version = both.secret.read()
    both.secret.replace({**version.members, "key_pepper": "胡椒"}, seen=version.id)
    assert both.seen_by_functions() == {"openai_api_key": "sk", "key_pepper": "胡椒"}
    assert both.secret.read().members == both.seen_by_functions()
    assert both.secret.read().id != version.id


def test_of_two_keepers_the_second_is_told_and_changes_nothing(both: Both) -> None:
    version = both.secret.read()
    both.secret.replace({"first": "1"}, seen=version.id)
    with pytest.raises(Conflict):
        both.secret.replace({"second": "2"}, seen=version.id)
    assert both.seen_by_functions() == {"first": "1"}
    both.secret.replace({"third": "3"}, seen=both.secret.read().id)
    assert both.seen_by_functions() == {"third": "3"}


@pytest.mark.parametrize("kind", ["memory", "aws"])
def test_a_secret_that_is_not_there_is_not_found(kind: str, manager: object) -> None:
    secret: StoredSecret = MemorySecret(None) if kind == "memory" else SecretsManagerSecret(manager, "gone")
    with pytest.raises(NotFound):
        secret.read()


@pytest.mark.parametrize("text", ["no json", "[]", '"x"'])
def test_a_secret_of_another_form_says_so_and_shows_nothing(text: str, manager: object) -> None:
    boto3.client("secretsmanager").create_secret(Name=NAME, SecretString=text)
    with pytest.raises(Misconfigured) as caught:
        SecretsManagerSecret(manager, NAME).read()
    assert text not in str(caught.value)
