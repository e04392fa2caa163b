"""`sakuin validate` and `init`."""

import re
import tomllib

import yaml

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.test_docs_commands import COMMANDS

# Its only explanation is indexed; its box without an id is a warning.
BOX = (
    b"<html><head><title>x</title></head><body><p id='ex-a'>Example</p>"
    b"<div class='tip-box'><h3>Look</h3>words</div></body></html>"
)
# Its only finding is a warning, whether it is indexed or not.
LINKS = b"<html><head><title>x</title></head><body><ul><li><a href='/a'>A</a></li></ul></body></html>"


def test_a_library_that_agrees_with_its_pages_has_no_findings(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    found = operator.sakuin("validate", "--json")
    assert found.code == 0
    assert found.document == {"errors": 0, "warnings": 0, "findings": []}
    assert operator.sakuin("validate").out.splitlines() == [
        "32 words searched, 0 only read, 0 left out, 0 lost",
        "0 errors, 0 warnings",
    ]


def test_all_pages_are_checked_however_many(operator: Operator) -> None:
    # More than two requests' worth; what nobody has indexed is checked too.
    for number in range(101):
        operator.deployment.write(f"{number:03}.html", LINKS)
    assert operator.sakuin("validate", "--json").document["warnings"] == 101


def test_only_the_folder_that_was_named_is_checked(operator: Operator) -> None:
    for key in ("junior/x.html", "junior2/x.html", "x.html"):
        operator.deployment.put(key, BOX)
    findings = operator.sakuin("validate", "--prefix", "junior", "--json").document["findings"]
    assert {finding["material"] for finding in findings} == {"junior/x"}


def test_an_error_is_the_exit_code(operator: Operator) -> None:
    operator.deployment.put("x.html", BOX)
    assert operator.sakuin("validate").code == 0
    found = operator.sakuin("validate", "--strict")
    assert found.code == 1
    assert found.out.splitlines()[0] == "x"
    assert found.out.splitlines()[1].startswith(
        '  error   box-without-id   The box "Look" (.tip-box) has no semantic id'
    )
    assert found.out.splitlines()[-1] == "1 error, 0 warnings: 1 box-without-id"


def test_pages_on_this_machine_are_compared_with_the_index(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page({"rule-old": "古い: 規則です。"}))
    operator.deployment.put("elsewhere.html", BOX)
    operator.file("site/x.html", a_page({"rule-new": "新しい: 規則です。"}))
    found = operator.sakuin("validate", operator.folder / "site", "--prefix", "junior", "--json")
    assert found.code == 1
    findings = [(finding["severity"], finding["rule"], finding["anchor"]) for finding in found.document["findings"]]
    assert findings == [("error", "missing-anchor", "rule-old"), ("warning", "not-indexed", "rule-new")]
    assert {finding["material"] for finding in found.document["findings"]} == {"junior/x"}


def test_errors_come_first_then_findings_come_by_material(operator: Operator) -> None:
    operator.file("site/b.html", LINKS)
    operator.file("site/a.html", LINKS)
    operator.file("site/z.html", b"%PDF-1.7")
    findings = operator.sakuin("validate", operator.folder / "site", "--json").document["findings"]
    assert list(findings[0]) == ["severity", "rule", "material", "anchor", "message"]
    assert [(finding["severity"], finding["rule"], finding["material"]) for finding in findings] == [
        ("error", "unreadable-page", "z"),
        ("warning", "nothing-indexed", "a"),
        ("warning", "nothing-indexed", "b"),
    ]


def test_boxes_of_pages_on_this_machine_are_those_of_the_setting(operator: Operator) -> None:
    operator.file("site/box.html", BOX)
    found = operator.sakuin("validate", operator.folder / "site", "--json", SAKUIN_BOX_SELECTORS=".note")
    assert [finding["rule"] for finding in found.document["findings"]] == ["not-indexed", "not-indexed"]


def test_what_would_improve_a_page_by_headings_is_neither_an_error_nor_a_warning(operator: Operator) -> None:
    operator.deployment.put("docs.html", b"<title>Tea</title><h1 id=tea>Tea</h1><p>Hot</p><h2>Cups</h2><p>Of clay</p>")
    found = operator.sakuin("validate", "--strict", "--json")
    assert (found.code, found.document["errors"], found.document["warnings"]) == (0, 0, 1)
    rules = [(finding["severity"], finding["rule"]) for finding in found.document["findings"]]
    infos = [("info", "page-by-headings"), ("info", "learns-none")]
    assert rules == [("warning", "heading-without-anchor"), *infos]
    lines = operator.sakuin("validate").out.splitlines()
    assert lines[1].startswith('  warning heading-without-anchor 1 heading without an id: "Cups".')
    assert lines[2].startswith("  info    page-by-headings")
    assert lines[3].startswith("  info    learns-none      2 sections without learns.")
    assert lines[-1] == "0 errors, 1 warning: 1 heading-without-anchor"


def test_what_is_the_same_on_several_pages_is_printed_once(operator: Operator) -> None:
    for name in "abcde":
        operator.file(f"site/{name}.html", f"<title>Tea</title><h2 id=tea>Tea {name}</h2><p>Hot</p>".encode())
    operator.file("site/c.html", b"<title>Tea</title><h2>Cold</h2><p>Ice</p><h2>Hot</h2><p>Tea</p>")
    lines = operator.sakuin("validate", operator.folder / "site", "--offline").out.splitlines()
    assert [line for line in lines if line[:1] not in ("", " ")] == [
        "c",
        "5 pages: a, b, c and 2 more",
        "4 pages: a, b, d and 1 more",
        "16 words searched, 0 only read, 0 left out, 0 lost",
        "0 errors, 1 warning: 1 heading-without-anchor",
    ]
    assert sum("page-by-headings" in line for line in lines) == 1


def test_pages_are_checked_without_a_deployment(operator: Operator) -> None:
    operator.file("site/junior/x.html", a_page({"rule-x": "x: y"}) + b"\n<p><a href='#nowhere'>gone</a>")
    operator.file("site/box.html", BOX)
    operator.file("site/learns.yml", b"x: {rule-y: [x], rule-x: [a list of words]}\n")
    operator.file("site/junior/learns.yml", b"x: [")
    operator.file("site/synonyms.yml", b"x: [")
    run = ("validate", operator.folder / "site", "--offline", "--strict")
    found = operator.sakuin(*run, SAKUIN_URL="", SAKUIN_ADMIN_KEY="")
    counts = "1 box-without-id, 1 unreadable-learns, 1 unreadable-synonyms, "
    assert found.out.splitlines()[-1].startswith(f"3 errors, 5 warnings: {counts}")
    assert (found.code, found.err) == (1, "")
    findings = operator.sakuin(*run, "--json", SAKUIN_URL="", SAKUIN_ADMIN_KEY="").document["findings"]
    assert {one["rule"] for one in findings} == {
        *("unreadable-learns", "unreadable-synonyms", "box-without-id", "broken-link"),
        *("learns-completed", "learns-no-action", "learns-without-anchor"),
        *("learns-weak", "learns-none"),
    }
    assert operator.sakuin("validate", "--offline").code == 2
    assert "There is no page" in operator.sakuin("validate", operator.file("empty/learns.yml", b"").parent).err


def test_the_built_pages_are_the_folder_that_is_there_or_the_named_one(operator: Operator) -> None:
    operator.file("site/public/x.html")
    document = operator.sakuin("init", operator.folder / "site", "--prefix", "/docs/", "--json").document
    assert (document["pages"], document["prefix"]) == ("public", "docs")
    config = tomllib.loads((operator.folder / "site/sakuin.toml").read_text())
    assert config == {"pages": "public", "prefix": "docs"}
    assert operator.sakuin("init", "--pages", "a b", "--json").document["pages"] == "a b"


def test_the_workflow_builds_checks_and_pushes_with_commands_that_there_are(operator: Operator) -> None:
    assert operator.sakuin("init", "--pages", "my pages", "--build", 'hugo --title "x: y"').code == 0
    workflow = yaml.safe_load((operator.folder / ".github/workflows/sakuin.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["pages"]["steps"] if "run" in step]
    assert runs[0] == 'hugo --title "x: y"'
    ours = re.findall(r"(?<![\w-])sakuin (?:validate|up|push|eval)\b[^\n|>;]*", "\n".join(runs))
    assert [run.split()[1] for run in ours] == ["validate", "up", "push", "eval", "eval", "push"]
    assert ours[0] == "sakuin validate 'my pages' --offline"
    for run in ours:
        options = {name for parameter in COMMANDS[run.split()[1]].params for name in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", run)) <= options


def test_the_workflow_needs_one_address_and_one_key(operator: Operator) -> None:
    assert operator.sakuin("init", "--prefix", "my docs").code == 0
    text = (operator.folder / ".github/workflows/sakuin.yml").read_text()
    push = yaml.safe_load(text)["jobs"]["pages"]["steps"][-1]
    assert push["env"].keys() == {"SAKUIN_URL", "SAKUIN_PUSH_KEY"}
    assert "aws" not in text.lower()
    assert "id-token" not in text
    assert "`sakuin keys new --for push --name NAME --in 'my docs'`" in text


def test_a_folder_is_pushed_as_it_was_configured_and_nothing_is_overwritten_unless_forced(operator: Operator) -> None:
    operator.file("public/x.html")
    operator.file("sakuin.toml", b"mine")
    refused = operator.sakuin("init")
    assert (refused.code, "--force" in refused.err, (operator.folder / ".github").exists()) == (1, True, False)
    assert "Pages are built into public" in operator.sakuin("init", "--force").out
    assert operator.sakuin("push", "--json").document["pages"][0]["material"] == "x"
