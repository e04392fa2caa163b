"""What agents read is what the author wrote: releases, from the page to the answer."""

import pytest

from tests.worlds import World, Worlds

RELEASE = "<h2 id=v{0}>{1}</h2><h3 id=a{0}>Added</h3><p>{2}</p><h3 id=f{0}>Fixed</h3><p>{3}</p>"
CHANGES = "<title>Changes - Kettle</title><main><h1>Changes</h1>" + "".join(
    RELEASE.format(number, title, added, fixed)
    for number, title, added, fixed in (
        (40, "0.40.0 (October 15, 2024)", "A whistle for the spout.", "The lid no longer leaks."),
        (37, "0.37.0 (May 3, 2023)", "A scale for the water.", "The switch no longer sticks."),
        (36, "0.36.1 (March 1, 2023)", "A lamp in the handle.", "The cord no longer twists."),
    )
)


@pytest.fixture(scope="module")
def library(a_world: Worlds) -> None:
    """A page that no test changes."""
    a_world().put("changes.html", CHANGES.encode())


@pytest.fixture
def world(a_world: Worlds, library: None) -> World:
    return a_world(empty=False)


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("What was fixed in 0.37.0?", "0.37.0 › Fixed"),
        ("0.40.0 added", "0.40.0 › Added"),
        ("fixed in version 0.36.1", "0.36.1 › Fixed"),
    ],
)
def test_a_question_about_a_release_finds_its_part(world: World, query: str, title: str) -> None:
    assert world.search(query).results[0].title == title
