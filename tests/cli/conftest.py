"""The commands over an in-memory world."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sakuin_cli.commands import commands
from sakuin_cli.desk import Desk
from typer.testing import CliRunner

from tests.builders import a_page
from tests.in_memory.desk import Time, desk_of
from tests.in_memory.world import World

FORMULA = {"rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。"}


@dataclass(frozen=True, slots=True)
class Said:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout; anything else there is an error."""
        return json.loads(self.out)


@dataclass
class Keeper:
    """A person at a terminal that is no tty, with a folder of files."""

    folder: Path
    world: World = field(default_factory=World)
    time: Time = field(init=False)

    def __post_init__(self) -> None:
        self.time = Time(self.world)

    def file(self, place: str, body: bytes | None = None) -> Path:
        """Writes a file, by default a page with one rule."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(a_page(FORMULA) if body is None else body)
        return path

    def sakuin(self, *arguments: object, desk: Desk | None = None) -> Said:
        """Runs a command."""
        environ = {"SAKUIN_URL": "http://sakuin"}
        app = commands(lambda _settings: desk or desk_of(self.world, self.time), environ)
        # A terminal around the tests would give its colours and its data folder.
        env = {"SAKUIN_DATA": None, "FORCE_COLOR": None, "NO_COLOR": "1", "COLUMNS": "60"}
        result = CliRunner(env=env).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        return Said(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    return Keeper(tmp_path)


@pytest.fixture
def in_folder_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a folder the current one."""
    return monkeypatch.chdir
