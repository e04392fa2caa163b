"""`sakuin up` as a person uses it: it starts, says that it runs, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from sakuin_cli.settings import environment as environment_of
from sakuin_local.samples import samples_in
from sakuin_local.up import RUNS_AGAIN
from sakuin_local.welcome import texts_of_locale

from tests.awaiting import awaited

pytestmark = pytest.mark.integration

SAKUIN = Path(sys.executable).with_name("sakuin")
# All of them many times what it takes.
PART_S, WORK_S, STOP_S, COMMAND_S = 300, 600, 120, 600


def command(data: Path, port: int = 0, sakuin: Path = SAKUIN, *pages: Path) -> list[str]:
    return [str(sakuin), "up", *map(str, pages), "--no-samples", f"--data={data}", f"--port={port}"]


@contextmanager
def up(data: Path, sakuin: Path = SAKUIN, *pages: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running `up` and what it said until it was ready."""
    log = data.with_suffix(".log")
    with log.open("w") as errors:
        running = subprocess.Popen(command(data, 0, sakuin, *pages), stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert running.stdout is not None
        said = ""
        for line in running.stdout:
            said += line
            if line.startswith("ready "):
                break
        assert "ready " in said, log.read_text()
        yield running, said
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
        try:
            running.wait(STOP_S)
        finally:
            running.kill()


def programs_of(data: Path) -> list[psutil.Process]:
    """What the stack started, and what that started."""
    leaders = {record["pid"] for record in json.loads((data / "processes.json").read_text())}
    return [process for process in psutil.process_iter() if session_of(process) in leaders]


def session_of(process: psutil.Process) -> int | None:
    """Who leads its session; None once it has ended, as any of the machine's may while they are listed."""
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return None


def answers(data: Path) -> bool:
    """Whether the REST API answers from the database."""
    environment = environment_of({}, data, here=data)
    headers = {"Authorization": f"Bearer {environment['SAKUIN_ADMIN_KEY']}"}
    request = urllib.request.Request(f"{environment['SAKUIN_URL']}/v1/status", headers=headers)
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except OSError:
        return False
    return True


def sakuin(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command against this stack."""
    environment = {**os.environ, **environment_of({}, data, here=data)}
    return run([str(SAKUIN), *arguments], env=environment)


def run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_S, **more)


def page_in(folder: Path, shape: str = "円", area: str = "半径の二乗に円周率をかけます。") -> Path:
    """The folder of one page, as an author has it."""
    page = folder / "pages" / f"{shape}.html"
    page.parent.mkdir()
    page.write_text(
        f'<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>{shape}</title></head><body><h1>{shape}'
        f'</h1><div class="rule-box" id="rule-area"><strong>{shape}の面積</strong><p>{area}</p></div></body></html>',
        "utf-8",
    )
    return page.parent


def ended(process: psutil.Process) -> bool:
    """Whether it runs no more; a dead one that nobody has asked after yet counts."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def records(data: Path) -> dict[str, int]:
    """The stack's programs by name."""
    return {each["name"]: each["pid"] for each in json.loads((data / "processes.json").read_text())}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of the stack."""
    return tmp_path_factory.mktemp("up") / "data"


@pytest.fixture(scope="module")
def stack(data: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """One stack for all tests, with a folder of two files, named as from here; the last test kills it."""
    folder = page_in(data.parent, "三角形", "底辺と高さの積の半分です。")
    (folder / "broken.html").write_bytes(b"\0")
    with up(data, SAKUIN, Path(os.path.relpath(folder))) as running_and_said:
        yield running_and_said


@pytest.mark.usefixtures("stack")
def test_it_serves_the_folder_that_it_was_given_but_for_files_that_cannot_be_read(data: Path) -> None:
    said = data.with_suffix(".log").read_text()
    assert "broken.html  The file is empty." in said
    assert "1 of 2 pages searchable" in said
    assert "/三角形.html#rule-area" in sakuin(data, "search", "三角形の面積").stdout
    (data.parent / "pages" / "broken.html").unlink()
    awaited("the removal of its page", lambda: sakuin(data, "validate").returncode == 0, within_s=WORK_S)


def test_it_says_what_it_read_asks_a_question_about_it_and_says_what_is_next(
    stack: tuple[subprocess.Popen[str], str],
) -> None:
    said = stack[1].splitlines()
    assert any(re.fullmatch("1 page, 1 section read from .*pages/", line) for line in said)
    question = "三角形の面積について教えてください"
    assert f'An agent that asks "{question}" gets:' in said
    assert sum("/三角形.html#rule-area" in line for line in said) == 1
    assert [f'sakuin search "{question}"', 'sakuin describe "三角形"'] == [
        next(line for line in said if line.startswith(command)) for command in ("sakuin search", "sakuin describe")
    ]


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "fr"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_samples_and_the_language(environ: dict[str, str], language: str) -> None:
    texts = texts_of_locale(environ)
    pages = [path.read_text("utf-8") for path in samples_in(texts.language).folder.rglob("*.html")]
    assert (texts.language, len(pages)) == (language, 11 if language == "ja" else 10)
    assert all(f'<html lang="{language}">' in page for page in pages)


def test_it_is_ready_and_refuses_a_second_one(
    stack: tuple[subprocess.Popen[str], str], data: Path, tmp_path: Path
) -> None:
    environment = environment_of({}, data, here=data)
    url = environment["SAKUIN_URL"]
    assert stack[1].splitlines()[-1] == f"ready {url}/mcp"
    assert (
        f'claude mcp add --transport http sakuin {url}/mcp --header "Authorization: Bearer '
        f'{environment["SAKUIN_API_KEY"]}"' in stack[1].splitlines()
    )
    with urllib.request.urlopen(f"{url}/healthz", timeout=30) as answer:
        assert answer.status == 200

    second = run(command(data))
    port = int(url.rsplit(":", 1)[1])
    elsewhere = run(command(tmp_path / "other", port))
    assert (second.returncode, elsewhere.returncode) == (1, 1)
    assert "is already running on" in second.stderr
    assert f"port {port} is in use" in elsewhere.stderr


@pytest.mark.usefixtures("stack")
def test_a_part_that_dies_is_started_again(data: Path) -> None:
    first = records(data)["postgrest"]
    os.kill(first, signal.SIGKILL)
    awaited("another PostgREST", lambda: records(data).get("postgrest", first) != first, within_s=PART_S)
    log = data.with_suffix(".log")
    assert "postgrest ended (killed by SIGKILL)" in log.read_text()
    # Only then is the library the folder again.
    awaited("the end", lambda: RUNS_AGAIN in log.read_text().rpartition("restarting the stack")[2], within_s=PART_S)
    assert answers(data)


def test_what_a_killed_start_left_is_ended_by_the_next_which_has_all_that_was_uploaded_and_leaves_nothing_running(
    stack: tuple[subprocess.Popen[str], str], data: Path, tmp_path: Path
) -> None:
    left = programs_of(data)
    uploaded = sakuin(data, "push", str(page_in(tmp_path)))
    assert uploaded.returncode == 0, uploaded.stderr
    stack[0].kill()
    stack[0].wait(STOP_S)
    with up(data) as (running, _):
        assert [process for process in left if not ended(process)] == []
        assert "ended programs of an earlier run" in data.with_suffix(".log").read_text()
        # The emulator has forgotten its stack and its queues, and still has the page: here, and in the index.
        awaited("the page", lambda: "円の面積" in sakuin(data, "search", "円の面積").stdout, within_s=WORK_S)
        assert sakuin(data, "validate").returncode == 0
        hit = json.loads(sakuin(data, "search", "円の面積", "--json").stdout)["results"][0]
        address, _, anchor = hit["url"].partition("#")
        with urllib.request.urlopen(quote(address, safe=":/%"), timeout=30) as page:
            assert f'id="{anchor}"' in page.read().decode()

        started = programs_of(data)
        assert len(started) > 4
        running.send_signal(signal.SIGINT)
        assert running.wait(STOP_S) == 0
    for process in started:
        awaited(f"the end of {process}", lambda process=process: ended(process))
    assert not (data / "env").exists()
    assert not (data / "aws" / "tmp").exists()
