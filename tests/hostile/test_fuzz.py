"""Every target with the same few hundred inputs each time; `python -m tests.hostile` finds new ones."""

import pytest
from hypothesis import given, settings

from tests.effort import times
from tests.hostile.targets import targets

TARGETS = targets()


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_is_taken_or_refused(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=times(50))
    @given(target.inputs)
    def holds(given_input: object) -> None:
        target.holds(given_input)

    holds()
