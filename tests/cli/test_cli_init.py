"""`sakuin init`."""

import re
import tomllib

import pytest
import yaml
from sakuin_cli.site.recipes import GENERATORS, NAMES, WITHOUT_BOX_IDS

from tests.cli.conftest import Operator
from tests.test_docs_commands import COMMANDS


@pytest.mark.parametrize("mark", [mark for generator in GENERATORS for mark in generator.marks[:1]])
def test_the_generator_is_found_by_its_files(operator: Operator, mark: str) -> None:
    operator.file(f"site/{mark}", b"")
    document = operator.sakuin("init", operator.folder / "site", "--prefix", "/docs/", "--json").document
    (generator,) = (one for one in GENERATORS if mark in one.marks)
    assert (document["generator"], document["pages"]) == (generator.name, generator.pages)
    config = tomllib.loads((operator.folder / "site/sakuin.toml").read_text())
    assert config == {"pages": generator.pages, "prefix": "docs"}


@pytest.mark.parametrize("name", NAMES)
def test_the_workflow_builds_checks_and_pushes_with_commands_that_there_are(operator: Operator, name: str) -> None:
    operator.file("docs/requirements.txt", b"x")
    assert operator.sakuin("init", "--generator", name).code == 0
    workflow = yaml.safe_load((operator.folder / ".github/workflows/sakuin.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["pages"]["steps"] if "run" in step]
    assert "PACKAGES" not in str(runs)
    ours = [run for run in runs if run.startswith("sakuin ")]
    checks = ["validate"] if name in WITHOUT_BOX_IDS else ["annotate", "validate"]
    assert [run.split()[1] for run in ours] == [*checks, "check", "push"]
    for run in ours:
        options = {name for parameter in COMMANDS[run.split()[1]].params for name in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", run)) <= options


def test_the_workflow_needs_one_address_and_one_key(operator: Operator) -> None:
    assert operator.sakuin("init", "--generator", "html", "--prefix", "my docs").code == 0
    text = (operator.folder / ".github/workflows/sakuin.yml").read_text()
    push = yaml.safe_load(text)["jobs"]["pages"]["steps"][-1]
    assert push["env"].keys() == {"SAKUIN_URL", "SAKUIN_PUSH_KEY"}
    assert "aws" not in text.lower()
    assert "id-token" not in text
    assert "`sakuin keys new --for push --name NAME --in 'my docs'`" in text


def test_nothing_is_overwritten_without_force(operator: Operator) -> None:
    operator.file("sakuin.toml", b"mine")
    refused = operator.sakuin("init")
    assert (refused.code, "--force" in refused.err) == (1, True)
    assert not (operator.folder / ".github").exists()
    assert operator.sakuin("init", "--force", "--generator", "html").code == 0
    assert operator.sakuin("init", "--generator", "wordpress", "--force").code == 2


def test_a_folder_of_html_is_pushed_as_it_was_configured(operator: Operator) -> None:
    operator.file("public/x.html")
    assert "html: pages are built into public" in operator.sakuin("init").out
    assert operator.sakuin("push", "--json").document["pages"][0]["material"] == "x"
