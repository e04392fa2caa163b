"""One stack at a time uses a data folder, and nobody's files are wiped."""

from pathlib import Path

import pytest
from sakuin_cli.settings import environment
from sakuin_local.addresses import stable_ports
from sakuin_local.aws.keys import api_keys_of
from sakuin_local.data_folder import claimed, write_environment
from sakuin_local.errors import LocalError
from sakuin_local.serving import listen
from sakuin_local.supabase.tokens import keys_of


def test_a_second_one_on_the_same_folder_is_told_so(folder: Path) -> None:
    with claimed(folder), pytest.raises(LocalError, match=r"is already running on"), claimed(folder):
        pass


def test_it_is_free_again_afterwards(folder: Path) -> None:
    with claimed(folder):
        pass
    with claimed(folder) as ended:
        assert ended == []


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, fresh: bool) -> None:
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("years of work")

    with pytest.raises(LocalError, match="files that are not Sakuin's"), claimed(tmp_path, fresh=fresh):
        pass

    assert thesis.exists()


def test_fresh_forgets_everything(folder: Path) -> None:
    with claimed(folder):
        first = api_keys_of(folder)
        (folder / "postgres").mkdir()
    with claimed(folder, fresh=True):
        assert not (folder / "postgres").exists()
        assert api_keys_of(folder) != first


def test_keys_stay_the_same_and_are_their_owners_only(folder: Path) -> None:
    folder.mkdir()

    assert api_keys_of(folder) == api_keys_of(folder)
    assert keys_of(folder) == keys_of(folder)
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_ports_stay_the_same_where_they_are_free(folder: Path) -> None:
    folder.mkdir()
    ports = stable_ports(folder / "ports.json", ("postgres", "rest"))

    assert stable_ports(folder / "ports.json", ("postgres", "rest")) == ports
    with listen(ports["rest"]):
        changed = stable_ports(folder / "ports.json", ("postgres", "rest"))
    assert changed["postgres"] == ports["postgres"]
    assert changed["rest"] != ports["rest"]


def test_a_port_that_is_taken_is_said_plainly() -> None:
    with listen(0) as somebody, pytest.raises(LocalError, match="is in use"):
        listen(somebody.getsockname()[1])


def test_the_environment_file_is_read_back_and_its_owners_only(tmp_path: Path) -> None:
    values = {"SAKUIN_URL": "http://127.0.0.1:8787", "SAKUIN_DATABASE_DSN": "postgresql://a:b=c@d/e"}

    write_environment(tmp_path / "env", values)

    assert environment({}, tmp_path, here=tmp_path) == values
    assert (tmp_path / "env").stat().st_mode & 0o777 == 0o600
