"""Files beside the pages that every queue has forgotten are found at night."""

from collections.abc import Iterator

import pytest

from tests.convergence.actions import END, Forget, Maintenance, Work
from tests.convergence.interleaving import Fate
from tests.convergence.machine import scripted, settling
from tests.convergence.materials_machine import File, MaterialsMachine, Upload
from tests.convergence.materials_oracle import LEARNS, SYNONYMS
from tests.convergence.materials_world import MaterialsBackend

PAGE = "b.html"
A_NIGHT = Maintenance(later=True, place=END, fate=Fate.GO)
NEXT = Work(0, False, END, Fate.GO)


@pytest.fixture
def page(materials: MaterialsBackend) -> Iterator[MaterialsMachine]:
    """An uploaded page: its event is in the queue."""
    with settling(scripted(MaterialsMachine, materials)) as schedule:
        schedule.step(Upload(PAGE, {"rule-a": "公式に代入する。係数を読みとる。"}))
        yield schedule


def bodies(page: MaterialsMachine) -> list[str]:
    """The messages that can be received."""
    return [message.body for message in page.world.sqs.waiting]


@pytest.mark.parametrize("key", [LEARNS, *SYNONYMS])
def test_an_authored_file_that_every_queue_has_forgotten_is_found_at_night(page: MaterialsMachine, key: str) -> None:
    page.workers.finish_all()
    page.step(File(key, 1))
    page.step(Forget(None))
    page.step(A_NIGHT)
    assert key in bodies(page)[0]


def test_a_page_that_was_not_written_with_its_new_learns_is_found_at_night(page: MaterialsMachine) -> None:
    page.workers.finish_all()
    page.step(File(LEARNS, 1))
    page.step(NEXT)
    assert "reindex" in bodies(page)[0]
    page.step(Forget(None))
    page.step(A_NIGHT)
    page.step(NEXT)
    assert "reindex" in bodies(page)[0]
    page.step(NEXT)
    page.step(A_NIGHT)
    assert bodies(page) == []
