"""The functions' secret as operators write it: nobody's change is lost."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Conflict, Misconfigured, NotFound
from sakuin_cli.deployment_keys import StoredSecret

NAME = "sakuin/prod"


@pytest.fixture
def manager() -> Iterator[Any]:
    """Secrets Manager, with a secret of one member."""
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name=NAME, SecretString='{"openai_api_key": "sk"}')
        yield client
        client.delete_secret(SecretId=NAME, ForceDeleteWithoutRecovery=True)


def functions_read(manager: Any) -> object:
    # AWS gives the current version to those who ask for none; moto does so only until the label moves.
    return json.loads(manager.get_secret_value(SecretId=NAME, VersionStage="AWSCURRENT")["SecretString"])


def test_of_two_operators_the_second_gets_a_conflict_and_changes_nothing(manager: Any) -> None:
    secret = StoredSecret(manager, NAME)
    _, version_id = secret.read()
    secret.replace({"first": "1"}, seen=version_id)
    with pytest.raises(Conflict):
        secret.replace({"second": "2"}, seen=version_id)
    assert functions_read(manager) == {"first": "1"}
    secret.replace({"third": "3"}, seen=secret.read()[1])
    assert functions_read(manager) == {"third": "3"}


def test_a_secret_that_is_not_there_is_not_found(manager: Any) -> None:
    with pytest.raises(NotFound):
        StoredSecret(manager, "gone").read()


@pytest.mark.parametrize("text", ["no json", "[]", '"x"'])
def test_a_secret_of_another_form_is_reported_and_not_shown(text: str, manager: Any) -> None:
    manager.put_secret_value(SecretId=NAME, SecretString=text)
    secret = StoredSecret(manager, NAME)
    with pytest.raises(Misconfigured) as caught:
        secret.read()
    assert text not in str(caught.value)
    assert text not in repr(secret)
