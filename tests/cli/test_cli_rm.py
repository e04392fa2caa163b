"""`sakuin rm`."""

import unicodedata

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Keeper


def test_a_page_is_gone_afterwards(keeper: Keeper) -> None:
    keeper.world.put("junior/x.html", a_page(FORMULA))
    said = keeper.sakuin("rm", "junior/x", "--json")
    assert said.code == 0
    assert said.document == {
        "removed": 1,
        "failed": [],
        "materials": [
            {"material": "junior/x", "key": "junior/x.html", "version_id": "version-2", "outcome": "applied"}
        ],
        "seconds": 0.1,
    }
    assert keeper.world.records.counts() == {"chunks": 0}


def test_the_key_is_the_one_that_was_stored(keeper: Keeper) -> None:
    nfd = unicodedata.normalize("NFD", "が.html")
    keeper.world.put(nfd, a_page(FORMULA))
    said = keeper.sakuin("rm", "が", "--json")
    assert said.document["materials"][0]["key"] == nfd
    assert keeper.world.bucket.keys("") == []


def test_an_unknown_material_costs_no_other(keeper: Keeper) -> None:
    keeper.world.put("x.html", a_page(FORMULA))
    said = keeper.sakuin("rm", "nothing", "x")
    assert said.code == 1
    assert "✗ nothing  there is no such material" in said.out
    assert "1 of 2 removed" in said.out
    assert keeper.world.bucket.keys("") == []


def test_a_removal_that_is_not_followed_in_time_is_said(keeper: Keeper) -> None:
    keeper.world.put("x.html", a_page(FORMULA))
    keeper.time.stuck = True
    said = keeper.sakuin("rm", "x", "--timeout", "2")
    assert said.code == 1
    assert "x  still searchable after 2 s; look at `sakuin status`" in said.out
