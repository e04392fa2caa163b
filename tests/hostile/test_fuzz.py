"""Every target with the same few hundred inputs each time; `python -m tests.hostile` finds new ones."""

import pytest
from hypothesis import given, settings
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.effort import times
from tests.hostile.targets import Target, requests_to, targets

TARGETS = targets()


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_is_taken_or_refused(name: str) -> None:
    fuzz(TARGETS[name])


def test_whatever_an_agent_sends_is_answered(tools: KnowledgeTools) -> None:
    fuzz(requests_to(tools))


def fuzz(target: Target) -> None:
    @settings(max_examples=times(30))
    @given(target.inputs)
    def holds(given_input: object) -> None:
        target.holds(given_input)

    holds()
