"""`sakuin status`."""

import unicodedata

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Keeper


def test_an_empty_library(keeper: Keeper) -> None:
    assert keeper.sakuin("status", "--json").document == {
        "materials": {"ready": 0, "failed": 0},
        "chunks": 0,
        "waiting": [],
        "failed": [],
        "last_indexed": None,
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
