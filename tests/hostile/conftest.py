"""What hostile input may cost at most: a test that hangs is ended, and fails."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from sakuin.domain.language.analysis import analyzed
from sakuin.entrypoints.mcp_tools import KnowledgeTools

from tests.builders import a_page
from tests.in_memory.world import World

# A net under everything, not a measure: all tests together take less.
HUNG_SECONDS = 120


@pytest.fixture(autouse=True)
def ended_when_it_hangs() -> Iterator[None]:
    """A hang is a failure of its own test."""

    def hung(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still not done after {HUNG_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(HUNG_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session", autouse=True)
def dictionary_loaded() -> None:
    """The first text loads Sudachi's dictionary, which no measure of growth should see."""
    analyzed("二次方程式")


@pytest.fixture
def world() -> World:
    """A library of one good page."""
    world = World(base_url="/school_asset")
    world.put("junior/良い頁.html", a_page({"rule-good": "解の公式: 公式に代入する。"}))
    return world


@pytest.fixture
def tools(world: World) -> KnowledgeTools:
    return KnowledgeTools(world.search, world.read)
