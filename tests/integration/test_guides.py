"""Every command of the guide to deploy, in its order, against the local stack in the place of an account.

What it cannot show: that `sam` builds and deploys to AWS, and that the accounts of the vendors exist.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import REPOSITORY, Deployed, eventually
from tests.integration.terminal import Terminal
from tests.postgres_programs import programs

pytestmark = pytest.mark.integration

SHELL = re.compile(r"^( *)```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PROGRAMS = ("aws", "sam", "npx", "make", "git", "claude")
KEY = re.compile(r"sk_sakuin_[\w-]{20,}")
SECONDS = 600


def blocks(guide: str) -> list[str]:
    """The blocks of commands of a guide."""
    text = (REPOSITORY / "docs" / guide).read_text("utf-8")
    return [re.sub(rf"^{indent}", "", commands, flags=re.MULTILINE) for indent, commands in SHELL.findall(text)]


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Terminal]:
    """Somebody who types blocks into one terminal, in a clone that is their home, too."""
    given, secret = deployed.environment, deployed.client("secretsmanager")
    names = [given["SAKUIN_SECRET"] + suffix for suffix in ("", "-search")]
    before = {name: secret.get_secret_value(SecretId=name)["SecretString"] for name in names}
    guide = {"GUIDE_STACK": given["SAKUIN_STACK"], "GUIDE_SECRET": given["SAKUIN_SECRET"], "GUIDE_URL": deployed.url}
    person = Terminal(tmp_path, deployed.url, {"PYTHONPATH": str(REPOSITORY), **guide}, SECONDS)
    for name in ("samples", "supabase", "samconfig.toml", "template.yaml"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    config = {"region": "AWS_DEFAULT_REGION", "endpoint_url": "AWS_ENDPOINT_URL"}
    config |= {f"aws_{name}": f"AWS_{name.upper()}" for name in ("access_key_id", "secret_access_key")}
    person.saves(".aws/config", "\n".join(["[profile guide]", *(f"{name}={given[of]}" for name, of in config.items())]))
    for name in PROGRAMS:
        person.installs(name, f'exec {sys.executable} -m tests.integration.guide_programs {name} "$@"')
    person.installs("psql", f'exec {programs()}/psql "$@"')
    person.installs("../.venv/bin/uv", "")
    person.saves(".venv/bin/activate", "")
    yield person
    for name, value in before.items():
        secret.put_secret_value(SecretId=name, SecretString=value)


def answered(commands: str, person: Terminal, given: Mapping[str, str]) -> str:
    """A block with what the person has to put in; `given` is the environment of the stack."""
    keys = KEY.findall(person.printed)
    for place, value in (
        ("AWS_PROFILE=…", "AWS_PROFILE=guide"),
        ("AWS_REGION=ap-northeast-1", f"AWS_REGION={given['AWS_DEFAULT_REGION']}"),
        ("SAKUIN_API_KEY=sk_sakuin_…", f"SAKUIN_API_KEY={keys[0] if keys else ''}"),
        ("SAKUIN_ADMIN_KEY=sk_sakuin_…", f"SAKUIN_ADMIN_KEY={keys[1] if len(keys) > 1 else ''}"),
    ):
        commands = commands.replace(place, value)
    return re.sub(r"'postgresql://[^']+'", f"'{given['SAKUIN_DATABASE_DSN']}'", commands)


def accepts_new_keys(person: Terminal) -> bool:
    """Whether the functions know the keys of the guide. They read the secret again after a wrong key, after seconds."""
    agent, admin = (f"Bearer {key}" for key in KEY.findall(person.printed)[:2])
    url, asked = person.address, {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    return (
        httpx.get(f"{url}/v1/keys", headers={"Authorization": admin}, timeout=60).status_code == 200
        and httpx.post(f"{url}/mcp", json=asked, headers=accept | {"Authorization": agent}, timeout=60).is_success
    )


def test_the_guide_to_deploy_works_from_its_first_command_to_its_last(person: Terminal, deployed: Deployed) -> None:
    typed = {}
    for each in [*blocks("how-to/deploy.md"), *blocks("reference/cost.md")]:
        if "sakuin doctor" in each:
            eventually("the keys of the guide", lambda: accepts_new_keys(person))
            eventually("a run of maintain", lambda: httpx.get(f"{deployed.url}/healthz").json()["maintained_at"])
        typed[each] = person.types(answered(each, person, deployed.environment))
    (first,) = [printed for each, printed in typed.items() if "sakuin push samples" in each]
    assert "Nothing is wrong" in first
    assert "11 of 11" in first
    assert "解の公式" in first
    stacks = deployed.client("cloudformation").describe_stacks()["Stacks"]
    assert "sakuin-prod" not in [one["StackName"] for one in stacks if not one["StackStatus"].startswith("DELETE")]
