"""An empty library."""

import pytest

from tests.worlds import World, Worlds


@pytest.fixture
def world(a_world: Worlds) -> World:
    return a_world()
