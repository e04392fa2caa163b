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


def test_a_folder_goes_with_all_that_is_below_it_when_asked(operator: Operator) -> None:
    nfd = unicodedata.normalize("NFD", "ito/が.html")
    kept = ["_sakuin/canary.html", "ito.html", "ito2/a.html"]
    for key in ("ito/a.html", "ito/deep/b.html", nfd, *kept):
        operator.deployment.put(key, a_page(FORMULA, title=key))
    operator.deployment.put("ito/learns.yml", b"a: {rule-formula: [x]}")
    asked = operator.sakuin("rm", "ito/")
    assert (asked.code, asked.out, len(operator.deployment.keys())) == (1, "", 7)
    assert "These 4 files are below ito/:\n  ito/a.html\n  ito/deep/b.html\n  ito/learns.yml\n" in asked.err
    assert "--yes" in asked.err
    removed = operator.sakuin("rm", "ito/", "--yes", "--json").document
    assert [one["material"] for one in removed["materials"]] == ["ito/a", "ito/deep/b", "ito/learns.yml", "ito/が"]
    assert (removed["removed"], operator.deployment.keys()) == (4, kept)
    # Without a slash, a page of that name is meant.
    assert operator.sakuin("rm", "ito", "ito.html", "/", "_sakuin", "--yes", "--json").document["removed"] == 1
    assert operator.deployment.keys() == ["_sakuin/canary.html", "ito2/a.html"]


def test_a_folder_without_a_slash_is_one_unless_a_page_has_its_name(operator: Operator) -> None:
    operator.deployment.put(unicodedata.normalize("NFD", "が/a.html"), a_page(FORMULA))
    assert operator.sakuin("rm", "が", "が/a", "--yes", "--json").document["removed"] == 1
    assert operator.deployment.keys() == []
