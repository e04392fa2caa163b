"""Every target with the same few hundred inputs each time; `make fuzz` finds new ones."""

import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.effort import times
from tests.hostile.targets import Target, requests_to, targets

TARGETS = targets()
# Of new inputs for each target.
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0")) / (len(TARGETS) + 1)


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_is_taken_or_refused(name: str, summary: set[str]) -> None:
    fuzz(TARGETS[name], name, summary)


def test_whatever_an_agent_sends_is_answered(tools: KnowledgeTools, summary: set[str]) -> None:
    fuzz(requests_to(tools), "MCP requests", summary)


def fuzz(target: Target, name: str, summary: set[str]) -> None:
    inputs, begin = 0, time.monotonic()

    def try_inputs(how: settings) -> None:
        @how
        @given(target.inputs)
        def holds(given_input: object) -> None:
            nonlocal inputs
            inputs += 1
            target.holds(given_input)

        holds()

    if not SECONDS:
        try_inputs(settings(max_examples=times(30)))
    while time.monotonic() - begin < SECONDS:
        try_inputs(settings(max_examples=400, derandomize=False, suppress_health_check=list(HealthCheck)))
    if SECONDS:
        summary.add(f"new hostile inputs: {inputs:,} of {name}")
