"""`sakuin validate`."""

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Keeper

BOX = b"<html><head><title>x</title></head><body><div class='tip-box'><h3>Look</h3>words</div></body></html>"


def test_a_library_that_agrees_with_its_pages_has_no_findings(keeper: Keeper) -> None:
    keeper.world.put("x.html", a_page(FORMULA))
    said = keeper.sakuin("validate", "--json")
    assert said.code == 0
    assert said.document == {"errors": 0, "warnings": 0, "findings": []}
    assert keeper.sakuin("validate").out == "0 errors, 0 warnings\n"


def test_all_pages_are_checked_however_many(keeper: Keeper) -> None:
    for number in range(120):
        keeper.world.put(f"{number:03}.html", BOX)
    assert keeper.sakuin("validate", "--json").document["warnings"] == 120


def test_only_the_folder_that_was_named_is_checked(keeper: Keeper) -> None:
    for key in ("junior/x.html", "junior2/x.html", "x.html"):
        keeper.world.put(key, BOX)
    findings = keeper.sakuin("validate", "--prefix", "junior", "--json").document["findings"]
    assert [finding["material"] for finding in findings] == ["junior/x"]


def test_an_error_is_the_exit_code(keeper: Keeper) -> None:
    keeper.world.put("x.html", BOX)
    assert keeper.sakuin("validate").code == 0
    said = keeper.sakuin("validate", "--strict")
    assert said.code == 1
    assert said.out.splitlines()[0] == "x"
    assert said.out.splitlines()[1].startswith(
        "  error   box-without-id   The box 「Look」 (.tip-box) has no semantic id"
    )
    assert said.out.splitlines()[-1] == "1 error, 0 warnings"


def test_pages_on_this_machine_are_held_against_the_index(keeper: Keeper) -> None:
    keeper.world.put("junior/x.html", a_page({"rule-old": "古い: 規則です。"}))
    keeper.world.put("elsewhere.html", BOX)
    keeper.file("site/x.html", a_page({"rule-new": "新しい: 規則です。"}))
    said = keeper.sakuin("validate", keeper.folder / "site", "--prefix", "junior", "--json")
    assert said.code == 1
    found = [(finding["severity"], finding["rule"], finding["anchor"]) for finding in said.document["findings"]]
    assert found == [("error", "missing-anchor", "rule-old"), ("warning", "not-indexed", "rule-new")]
    assert {finding["material"] for finding in said.document["findings"]} == {"junior/x"}


def test_boxes_of_pages_on_this_machine_are_those_of_the_setting(keeper: Keeper) -> None:
    keeper.world.box_selectors = (".note",)
    keeper.file("site/box.html", BOX)
    assert keeper.sakuin("validate", keeper.folder / "site", "--json").document["findings"] == []


def test_a_page_that_cannot_be_read_is_an_error_of_its_own(keeper: Keeper) -> None:
    keeper.file("site/bad.html", b"%PDF-1.7")
    keeper.file("site/box.html", BOX)
    document = keeper.sakuin("validate", keeper.folder / "site", "--json").document
    assert [(finding["rule"], finding["material"]) for finding in document["findings"]] == [
        ("unreadable-page", "bad"),
        ("box-without-id", "box"),
    ]


def test_a_folder_without_pages_is_a_failure(keeper: Keeper) -> None:
    keeper.file("site/learns.yml", b"")
    said = keeper.sakuin("validate", keeper.folder / "site", "--json")
    assert (said.code, list(said.document)) == (1, ["error"])
