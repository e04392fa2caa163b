"""`sakuin status`."""

import unicodedata

from sakuin.domain.work import Dead, Ended, Parked

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Keeper
from tests.in_memory.work import a_message


def test_an_empty_library(keeper: Keeper) -> None:
    assert keeper.sakuin("status", "--json").document == {
        "materials": {"ready": 0, "failed": 0},
        "chunks": 0,
        "waiting": [],
        "failed": [],
        "last_indexed": None,
        "work": {"in_hand": 0, "waiting": 0, "parked": 0, "dead": 0},
        "parked": [],
    }


def test_failures_and_waiting_keys_are_listed_with_their_reasons(keeper: Keeper) -> None:
    nfc, nfd = (unicodedata.normalize(form, "が.html") for form in ("NFC", "NFD"))
    keeper.world.put(nfc, a_page(FORMULA))
    keeper.world.put(nfd, a_page(FORMULA))
    keeper.world.put("empty.html", b"")
    document = keeper.sakuin("status", "--json").document
    assert document["materials"] == {"ready": 1, "failed": 1}
    assert document["chunks"] == 1
    assert document["waiting"] == [{"material": "が", "key": nfd}]
    assert document["failed"] == [
        {"material": "empty", "key": "empty.html", "error": "The file is empty. Upload the built page again."}
    ]
    said = keeper.sakuin("status")
    assert said.code == 0
    assert "✗ empty  The file is empty." in said.out
    assert "… が  " in said.out


def test_one_material_with_all_its_fields(keeper: Keeper) -> None:
    keeper.world.put("junior/x.html", a_page(FORMULA))
    document = keeper.sakuin("status", "--material", "junior/x", "--json").document
    assert document["status"] == "ready"
    assert document["chunks_count"] == 1
    assert document["indexed_version_id"] == document["version_id"] == "version-1"
    assert "junior/x.html" in keeper.sakuin("status", "--material", "junior/x").out


def test_an_unknown_material_is_a_failure(keeper: Keeper) -> None:
    # Another material begins with the same letters.
    keeper.world.put("junior/xy.html", a_page(FORMULA))
    said = keeper.sakuin("status", "--material", "junior/x", "--json")
    assert said.code == 1
    assert "junior/x" in said.document["error"]


def parked(keeper: Keeper, name: str, subject: str) -> None:
    message = a_message(name, subject=subject)
    keeper.world.work.begin([message])
    keeper.world.work.end([Ended(message, Parked(60, "openai is away", "openai"))])


def test_work_that_waits_in_no_queue_is_shown_with_its_reason(keeper: Keeper) -> None:
    parked(keeper, "m1", "junior/x")
    parked(keeper, "m2", "junior/y")
    keeper.world.work.begin([a_message("m3")])
    document = keeper.sakuin("status", "--json").document
    assert document["work"] == {"in_hand": 1, "waiting": 0, "parked": 2, "dead": 0}
    assert {row["subject"] for row in document["parked"]} == {"junior/x", "junior/y"}
    assert "… 2 parked  openai is away (since 1970-01-12" in keeper.sakuin("status").out


def test_dead_letters_are_pointed_at(keeper: Keeper) -> None:
    keeper.world.work.end([Ended(a_message(), Dead("it failed"))])
    assert "sakuin redrive" in keeper.sakuin("status").out


def test_a_page_says_what_of_it_is_not_done_and_why(keeper: Keeper) -> None:
    keeper.world.put("junior/x.html", a_page(FORMULA))
    parked(keeper, "m1", "junior/x")
    (row,) = keeper.sakuin("status", "--material", "junior/x", "--json").document["work"]
    assert (row["state"], row["reason"], row["vendor"]) == ("parked", "openai is away", "openai")
    assert "parked since 1970-01-12" in keeper.sakuin("status", "--material", "junior/x").out


def test_a_page_that_is_only_on_its_way_is_known(keeper: Keeper) -> None:
    parked(keeper, "m1", "junior/new")
    document = keeper.sakuin("status", "--material", "junior/new", "--json").document
    assert (document["status"], document["error"]) == ("waiting", "openai is away")
    assert [row["state"] for row in document["work"]] == ["parked"]
