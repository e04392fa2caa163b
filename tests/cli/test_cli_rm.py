"""`sakuin rm`."""

import unicodedata

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator


def test_a_page_is_gone_afterwards(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page(FORMULA))
    removed = operator.sakuin("rm", "junior/x", "--json")
    assert removed.code == 0
    document = removed.document
    assert document.pop("seconds") > 0
    assert document["materials"][0].pop("version_id")
    assert document == {
        "removed": 1,
        "failed": [],
        "pending": [],
        "materials": [{"material": "junior/x", "key": "junior/x.html", "outcome": "applied"}],
    }
    assert operator.sakuin("status", "--json").document["chunks"] == 0
    assert operator.deployment.keys() == []


def test_the_key_is_the_one_that_was_stored(operator: Operator) -> None:
    nfd = unicodedata.normalize("NFD", "が.html")
    operator.deployment.put(nfd, a_page(FORMULA))
    removed = operator.sakuin("rm", "が", "--json")
    assert removed.document["materials"][0]["key"] == nfd
    assert operator.deployment.keys() == []


def test_an_unknown_material_costs_no_other(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    removed = operator.sakuin("rm", "nothing", "x")
    assert removed.code == 1
    assert "✗ nothing  there is no such material" in removed.out
    assert "1 of 2 removed" in removed.out
    assert operator.deployment.keys() == []


def test_a_removal_that_the_index_does_not_follow_in_time_is_reported(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    operator.deployment.stuck = True
    removed = operator.sakuin("rm", "x", "--timeout", "0")
    assert removed.code == 1
    assert "x  still searchable after 0 s; see `sakuin status`" in removed.out


def test_learns_and_synonyms_files_are_removed_by_their_path(operator: Operator) -> None:
    operator.deployment.put("junior/learns.yml", b"x: [")
    operator.deployment.put("synonyms.yml", b"- [one, two]")
    removed = operator.sakuin("rm", "junior/learns.yml", "synonyms.yml", "learns.yml", "--json")
    assert (removed.code, removed.document["removed"], operator.deployment.keys()) == (1, 2, [])
    (failed,) = removed.document["failed"]
    assert (failed["material"], "no such file" in failed["reason"]) == ("learns.yml", True)
