"""The recorded events, given to the deployed functions: under their own roles, with their own layers."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Deployed
from tests.integration.recorded import AUTHORIZED, RECORDED, Recorded, recorded_files
from tests.integration.test_function_sizes import FUNCTIONS

pytestmark = pytest.mark.integration


def invoked(deployed: Deployed, recorded: Recorded, event: dict[str, Any]) -> dict[str, Any]:
    """The function's own answer; what it raises fails the test."""
    name = deployed.outputs[f"{recorded.function.removeprefix('Sakuin')}Function"]
    answer = deployed.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    payload: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return payload


def test_every_function_has_a_recorded_event_and_every_event_is_given() -> None:
    assert {one.function for one in RECORDED} == set(FUNCTIONS)
    assert {one.name for one in RECORDED} == recorded_files()


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda one: one.name)
def test_a_recorded_event_is_answered(deployed: Deployed, recorded: Recorded) -> None:
    recorded.check(invoked(deployed, recorded, recorded.event(deployed)))


@pytest.mark.parametrize("recorded", AUTHORIZED, ids=lambda one: one.name)
def test_a_recorded_request_with_a_key_that_opens_is_answered(deployed: Deployed, recorded: Recorded) -> None:
    recorded.check(invoked(deployed, recorded, recorded.event(deployed, authorized=True)))
