"""Every command of the tutorials, typed in its order on the local stack, prints what the tutorial shows.

A line of a block that begins with `$ ` is typed. The lines below it have to be in what it prints, in this order;
numbers and bars may differ, and `…` stands for anything.
"""

import re
from pathlib import Path

import pytest

from tests.integration.conftest import REPOSITORY, Deployed
from tests.integration.terminal import ADDRESS, Terminal

pytestmark = pytest.mark.integration

TUTORIALS = REPOSITORY / "docs" / "tutorials"
BLOCK = re.compile(r"(?:`([\w./-]+)`[^`\n]*\n\n)?^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Changes of a file that a tutorial describes: the line of the block replaces the line that begins so.
CHANGED = '<div class="tip-box"'


def change(folder: Path, line: str) -> None:
    """Replaces the one line of the reader's pages that begins as `line` does."""
    (page,) = (one for one in folder.glob("my-pages/**/*.html") if CHANGED in one.read_text("utf-8"))
    page.write_text(re.sub(rf"^{CHANGED}.*\n", line, page.read_text("utf-8"), flags=re.MULTILINE), "utf-8")


def pattern(line: str) -> str:
    """The regular expression of a printed line."""
    parts = re.split(r"(…|[█░]+|\d+(?:\.\d+)?(?= s\b|$| {2})|(?<= )\d\.\d+)", line)
    return "".join(
        ".*" if part == "…" else "[█░]+" if part[:1] in "█░" else r"[\d.]+" if at % 2 else re.escape(part)
        for at, part in enumerate(parts)
        if part
    )


def typed(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that it prints."""
    commands = []
    for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, printed = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", each, re.DOTALL).groups()
        commands.append((command, [line for line in printed.splitlines() if line.strip(" …")]))
    return commands


def follow(tutorial: str, terminal: Terminal) -> None:
    for name, language, block in BLOCK.findall(tutorial):
        if name and language:
            terminal.saves(name, block)
        elif block.startswith(CHANGED):
            change(terminal.folder, block)
        for command, shown in typed(block):
            printed = terminal.types(command)
            rest = iter(line.replace(terminal.address, ADDRESS) for line in printed.splitlines())
            for line in shown:
                assert any(re.fullmatch(pattern(line), one) for one in rest), f"$ {command}\n{line}\n\n{printed}"


@pytest.mark.parametrize("name", sorted(path.name for path in TUTORIALS.glob("*.md")))
def test_every_command_of_a_tutorial_prints_what_it_shows(name: str, deployed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "samples-en").symlink_to(REPOSITORY / "samples-en")
    # Those of a reader in English; what `deployed` has are Japanese.
    deployed.printed("push", str(REPOSITORY / "samples-en"), "--prefix", "larder")
    (tmp_path / ".sakuin").symlink_to(deployed.environment["SAKUIN_DATA_FOLDER"])
    follow((TUTORIALS / name).read_text("utf-8"), Terminal(tmp_path, deployed.url))


def test_commands_that_are_not_typed_are_those_of_other_terminals_and_programs() -> None:
    others = {"make up", "source .venv/bin/activate", "claude mcp add"}
    for path in TUTORIALS.glob("*.md"):
        for _, language, block in BLOCK.findall(path.read_text("utf-8")):
            is_text = language or "$ " in block or block.startswith("Search Sakuin")
            assert is_text or any(block.startswith(each) for each in others), block
