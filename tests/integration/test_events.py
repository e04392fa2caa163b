"""The sample events, given to the deployed functions: under their own roles, with their own layers."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Deployed
from tests.integration.sample_events import AUTHORIZED, SAMPLE_EVENTS, SampleEvent, sample_files
from tests.integration.test_function_sizes import FUNCTIONS

pytestmark = pytest.mark.integration


def invoked(deployed: Deployed, sample: SampleEvent, event: dict[str, Any]) -> dict[str, Any]:
    """The function's own answer; what it raises fails the test."""
    name = deployed.outputs[f"{sample.function.removeprefix('Sakuin')}Function"]
    answer = deployed.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    payload: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return payload


def test_every_function_has_a_sample_event_and_every_event_is_given() -> None:
    assert {one.function for one in SAMPLE_EVENTS} == set(FUNCTIONS)
    assert {one.name for one in SAMPLE_EVENTS} == sample_files()


@pytest.mark.parametrize("sample", SAMPLE_EVENTS, ids=lambda one: one.name)
def test_a_sample_event_is_answered(deployed: Deployed, sample: SampleEvent) -> None:
    sample.check(invoked(deployed, sample, sample.event(deployed)))


@pytest.mark.parametrize("sample", AUTHORIZED, ids=lambda one: one.name)
def test_a_sample_request_with_a_key_that_opens_is_answered(deployed: Deployed, sample: SampleEvent) -> None:
    sample.check(invoked(deployed, sample, sample.event(deployed, authorized=True)))
