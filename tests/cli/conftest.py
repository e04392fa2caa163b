"""A person who runs the real command against a small deployment."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.cli.command import run
from tests.cli.deployment import ADMIN_KEY, API_KEY, Deployment, deployed
from tests.functions import MATERIALS

FORMULA = {"rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。"}


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout; anything else there is an error."""
        return json.loads(self.out)


@dataclass
class Operator:
    """A person at a terminal that is no tty, with a folder of files."""

    folder: Path
    deployment: Deployment

    def file(self, place: str, body: bytes | None = None) -> Path:
        """Writes a file, by default a page with one rule."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(a_page(FORMULA) if body is None else body)
        return path

    def sakuin(self, *arguments: object, **settings: str) -> Output:
        """Runs a command, with `settings` in its environment besides those that reach the deployment."""
        environ: dict[str, str | None] = {
            # A terminal around the tests would give its colours and its data folder.
            **{"SAKUIN_DATA": None, "FORCE_COLOR": None, "NO_COLOR": "1", "COLUMNS": "60"},
            **{"SAKUIN_URL": self.deployment.url, "SAKUIN_BUCKET": MATERIALS},
            **{"SAKUIN_API_KEY": API_KEY, "SAKUIN_ADMIN_KEY": ADMIN_KEY},
            **settings,
        }
        result = run(*arguments, **environ)
        return Output(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="package")
def deployment(database: Database) -> Iterator[Deployment]:
    """One deployment for all commands that need no settings of their own."""
    with deployed(database) as running:
        yield running


@pytest.fixture
def operator(deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """A person in an empty folder, whose deployment is empty too."""
    deployment.empty()
    monkeypatch.chdir(tmp_path)
    return Operator(tmp_path, deployment)
