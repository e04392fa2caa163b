"""What the guides to deploy and to back up name is there."""

import re
import tomllib
from dataclasses import fields

from sakuin.platform.secrets import Secrets
from sakuin_local.aws.template import read_template
from sakuin_local.places import REPOSITORY, SCHEMA, TEMPLATE

GUIDES = "\n".join(
    (REPOSITORY / "docs" / name).read_text() for name in ("how-to/deploy.md", "how-to/backup.md", "reference/cost.md")
)
TEMPLATE_NOW = read_template(TEMPLATE)
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDES, re.DOTALL))


def test_every_output_that_is_asked_for_is_one() -> None:
    asked = set(re.findall(r"\$\(out (\w+)\)", GUIDES))
    assert asked
    assert asked <= set(TEMPLATE_NOW["Outputs"])


def test_every_parameter_that_is_named_is_one() -> None:
    (step,) = re.findall(r"## 7\. .*?\n## ", GUIDES, re.DOTALL)
    named = set(re.findall(r"^\| `([A-Z]\w+)` \|", step, re.MULTILINE))
    config = tomllib.loads((REPOSITORY / "samconfig.toml").read_text())
    assert named == set(config["prod"]["deploy"]["parameters"]["parameter_overrides"])
    assert named <= set(TEMPLATE_NOW["Parameters"])


# As AWS names them, where its types of resources have shorter or other names.
SERVICES = {"Serverless": "Lambda", "ApiGatewayV2": "API Gateway", "Events": "EventBridge", "Logs": "CloudWatch Logs"}


def test_the_rights_name_every_service_that_the_template_uses() -> None:
    (rights,) = re.findall(r"### Rights of the user\n(.*?)\n## ", GUIDES, re.DOTALL)
    types = {each["Type"].split("::")[1] for each in TEMPLATE_NOW["Resources"].values()}
    assert {name for name in types if SERVICES.get(name, name) not in rights} == set()


def test_the_settings_of_the_commands_name_what_the_runbooks_commands_need() -> None:
    (settings,) = re.findall(r"<<ENV\n(.*?)\nENV", GUIDES, re.DOTALL)
    assert {"SAKUIN_URL", "SAKUIN_STACK", "SAKUIN_BUCKET"} <= set(re.findall(r"^(\w+)=", settings, re.MULTILINE))


def test_a_deployment_asks_at_most_ten_questions() -> None:
    deploy = tomllib.loads((REPOSITORY / "samconfig.toml").read_text())["prod"]["deploy"]["parameters"]
    answers = deploy["parameter_overrides"]
    assert len(answers) + len({"stack_name", "region"} & deploy.keys()) <= 10
    assert {name for name, one in TEMPLATE_NOW["Parameters"].items() if "Default" not in one} <= answers.keys()


def test_every_setting_and_member_of_the_secret_is_read() -> None:
    settings = (REPOSITORY / "layers/sakuin/sakuin/settings.py").read_text()
    of_commands = "".join((REPOSITORY / f"cli/sakuin_cli/{name}.py").read_text() for name in ("settings", "options"))
    for name in set(re.findall(r"\bSAKUIN_[A-Z_]+\b", GUIDES)):
        assert f'"{name}"' in settings + of_commands, name
    secret = re.search(r"<<'JSON'\n(.*?)\nJSON", GUIDES, re.DOTALL)
    assert secret
    assert set(re.findall(r'"(\w+)":', secret[1])) <= {field.name for field in fields(Secrets)}


def test_every_database_object_that_is_named_is_made_by_a_migration() -> None:
    made = "\n".join(file.read_text() for file in SCHEMA.glob("*.sql"))
    for table in set(re.findall(r"public\.(\w+)", SHELL)):
        assert re.search(rf"create table public\.{table} ", made), table


def test_the_versions_are_those_that_the_repository_installs() -> None:
    named = re.search(r"SAM CLI ([\d.]+) or newer", GUIDES)
    installed = re.search(r"^aws-sam-cli==([\d.]+)", (REPOSITORY / "requirements/sam.txt").read_text(), re.MULTILINE)
    assert named
    assert installed
    assert installed[1].startswith(named[1])
    assert len(set(re.findall(r"npx (supabase@[\d.]+)", GUIDES))) == 1


def test_what_stays_after_a_teardown_is_what_the_template_keeps() -> None:
    kept = [name for name, each in TEMPLATE_NOW["Resources"].items() if each.get("DeletionPolicy") == "Retain"]
    assert sorted(kept) == ["SakuinMaterialsBucket", "SakuinTablesBucket"]
    assert "for bucket in sakuin-prod-materials sakuin-prod-tables; do" in GUIDES
