"""`sakuin status`."""

import unicodedata

from sakuin.adapters.supabase_work import SupabaseWork
from sakuin.domain.work import Dead, Ended, Parked

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator


def test_an_empty_library(operator: Operator) -> None:
    assert operator.sakuin("status", "--json").document == {
        "materials": {"ready": 0, "failed": 0},
        "chunks": 0,
        "waiting": [],
        "failed": [],
        "last_indexed": None,
        "work": {"in_hand": 0, "waiting": 0, "parked": 0, "dead": 0},
        "parked": [],
    }


def test_failures_and_waiting_keys_are_listed_with_their_reasons(operator: Operator) -> None:
    nfc, nfd = (unicodedata.normalize(form, "が.html") for form in ("NFC", "NFD"))
    operator.deployment.put(nfc, a_page(FORMULA))
    operator.deployment.put(nfd, a_page(FORMULA))
    operator.deployment.put("empty.html", b"")
    document = operator.sakuin("status", "--json").document
    assert document["materials"] == {"ready": 1, "failed": 1}
    assert document["chunks"] == 1
    assert document["waiting"] == [{"material": "が", "key": nfd}]
    assert document["failed"] == [
        {"material": "empty", "key": "empty.html", "error": "The file is empty. Upload the built page again."}
    ]
    shown = operator.sakuin("status")
    assert shown.code == 0
    assert "✗ empty  The file is empty." in shown.out
    assert "… が  " in shown.out


def test_one_material_with_all_its_fields(operator: Operator) -> None:
    version = operator.deployment.put("junior/x.html", a_page(FORMULA))
    document = operator.sakuin("status", "--material", "junior/x", "--json").document
    assert document["status"] == "ready"
    assert document["chunks_count"] == 1
    assert document["indexed_version_id"] == document["version_id"] == version
    assert "junior/x.html" in operator.sakuin("status", "--material", "junior/x").out


def test_an_unknown_material_is_a_failure(operator: Operator) -> None:
    # Another material begins with the same letters.
    operator.deployment.put("junior/xy.html", a_page(FORMULA))
    shown = operator.sakuin("status", "--material", "junior/x", "--json")
    assert shown.code == 1
    assert "junior/x" in shown.document["error"]


def parked(operator: Operator, name: str, subject: str) -> None:
    message, rows = a_message(name, subject=subject), SupabaseWork(operator.deployment.client)
    rows.begin([message])
    rows.end([Ended(message, Parked(60, "openai is away", "openai"))])


def test_work_that_waits_in_no_queue_is_shown_with_its_reason(operator: Operator) -> None:
    parked(operator, "m1", "junior/x")
    parked(operator, "m2", "junior/y")
    SupabaseWork(operator.deployment.client).begin([a_message("m3")])
    document = operator.sakuin("status", "--json").document
    assert document["work"] == {"in_hand": 1, "waiting": 0, "parked": 2, "dead": 0}
    assert {row["subject"] for row in document["parked"]} == {"junior/x", "junior/y"}
    since = min(row["since"] for row in document["parked"])
    assert f"… 2 parked  openai is away (since {since}; goes on by itself" in operator.sakuin("status").out


def test_dead_letters_are_pointed_at(operator: Operator) -> None:
    SupabaseWork(operator.deployment.client).end([Ended(a_message(), Dead("it failed"))])
    assert "sakuin redrive" in operator.sakuin("status").out


def test_a_page_shows_which_of_its_messages_are_not_done_and_why(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page(FORMULA))
    parked(operator, "m1", "junior/x")
    (row,) = operator.sakuin("status", "--material", "junior/x", "--json").document["work"]
    assert (row["state"], row["reason"], row["vendor"]) == ("parked", "openai is away", "openai")
    assert f"parked since {row['since']}" in operator.sakuin("status", "--material", "junior/x").out


def test_a_page_that_is_only_on_its_way_is_known(operator: Operator) -> None:
    parked(operator, "m1", "junior/new")
    document = operator.sakuin("status", "--material", "junior/new", "--json").document
    assert (document["status"], document["error"]) == ("waiting", "openai is away")
    assert [row["state"] for row in document["work"]] == ["parked"]
