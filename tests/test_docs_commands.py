"""Every command has a section in docs/reference/commands.md, and every document names commands that there are."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import CliRunner
from sakuin.knowledge import validation
from sakuin_cli.main import EXAMPLES, commands
from sakuin_cli.settings import CommandSettings
from sakuin_local.cli import register
from typer.exceptions import TyperException

REPOSITORY = Path(__file__).parents[1]
DOCUMENT = (REPOSITORY / "docs" / "reference" / "commands.md").read_text()
SECTIONS = re.findall(r"^## (`sakuin \w+`[^\n]*)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])
SUBJECT = r"(?:one\.|section\.)*material|clash\.material|upload\.key|key|finding|said"
PRINTED = (
    r"`sakuin ([a-z][^`\n]*)`",
    r"\bnext\([^\n]*?\"sakuin ([^\n\"]*)\"",
    r"else \"sakuin ([^\"]*)\"",
    r"(?:<code[^>]*>|command=\")sakuin ([a-z][^<\"\n]*)",
)
RULE_ROW = r"^\| `([a-z]+(?:-[a-z]+)+)` \| (?:error|warning|info)"


def _below(group: Any, words: str) -> Iterator[tuple[str, Any]]:
    """The commands of a group by all their words: `table put`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _below(command, f"{words}{name} ")
        else:
            yield f"{words}{name}", command


APP = commands()
register(APP)
GROUP = typer.main.get_command(APP)
COMMANDS = dict(_below(GROUP, ""))


def parameters(command: Any) -> set[str]:
    """The options with two dashes, and the arguments in capitals."""
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    arguments = {parameter.metavar for parameter in command.params if parameter.param_type_name == "argument"}
    return options | arguments


def test_every_command_has_an_example_in_the_section_of_its_name() -> None:
    shown = {
        name
        for heading, text in SECTIONS
        for name in COMMANDS
        if f"`{name.split()[0]}`" in heading.replace("sakuin ", "")
        and re.search(rf"^sakuin {name}\b", text, re.MULTILINE)
    }
    assert shown == set(COMMANDS)


def test_every_command_line_of_a_document_is_one_that_there_is() -> None:
    for document in DOCUMENTS:
        for line in re.findall(
            r"^(?:\$ )?sakuin ([a-z][^#\n]*(?:\\\n[^#\n]*)*)", _blocks(document.read_text()), re.MULTILINE
        ):
            _check(line, document)


def test_every_command_in_a_sentence_is_one_that_there_is() -> None:
    groups = {name.split()[0] for name in COMMANDS}
    for document in DOCUMENTS:
        # What was removed is named in the changelog and in decisions.
        if document.name == "CHANGELOG.md" or "decisions" in document.parts:
            continue
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
        for line in re.findall(r"`sakuin ([a-z][^`]*)`", text):
            if line not in groups:
                _check(" ".join(line.split()), document)


def _written_commands() -> Iterator[tuple[Path, str]]:
    """What programs and workflows print or run, with a word in the place of a value."""
    sources = [path for root in ("cli", "layers/sakuin", "local") for path in (REPOSITORY / root).rglob("*.*")]
    for source in sources:
        if source.suffix in (".py", ".toml", ".html"):
            text = re.sub(r"\{[^{}]*\}", "value", source.read_text())
            for pattern in PRINTED:
                yield from ((source, line) for line in re.findall(pattern, text))
    for file in (REPOSITORY / "action.yml", REPOSITORY / "cli/sakuin_cli/site/workflow.yml"):
        text = re.sub(r"<<\w+>>|\$\w+", " value", file.read_text())
        yield from ((file, line) for line in re.findall(r"(?<![\w\"/`-])sakuin ([a-z][^\n|>;&]*)", text))


def test_every_command_that_programs_and_workflows_name_is_one_that_there_is() -> None:
    named = list(_written_commands())
    groups = {name.split()[0] for name in COMMANDS}
    for source, line in named:
        if line not in groups:
            _check(line, source)
    assert {"cli", "layers", "local"} <= {source.relative_to(REPOSITORY).parts[0] for source, _ in named}


def test_make_has_every_target_that_a_document_names() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        text = document.read_text()
        named = re.findall(r"`make ([a-z-]+)", text)
        named += re.findall(r"^(?:\$ )?make ([a-z-]+)", _blocks(text), re.MULTILINE)
        assert set(named) - targets == set(), document


def _blocks(text: str) -> str:
    """The code of a document."""
    return "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def _check(line: str, document: Path) -> None:
    """Fails unless typer's parser takes the words after `sakuin`."""
    name = max((name for name in COMMANDS if f"{line} ".startswith(f"{name} ")), key=len, default=None)
    assert name, f"{document}: {line}"
    command = COMMANDS[name]
    words = [word for word in _words(line.removeprefix(name)) if word not in ("…", "--help")]
    last = next((one for one in command.params if words and words[-1] in one.opts), None)
    # A sentence names an option without its value.
    words += ["value"] * (0 if last is None or getattr(last, "is_flag", False) else last.nargs)
    try:
        command.make_parser(command.context_class(command)).parse_args(words)
    except TyperException as error:
        raise AssertionError(f"{document}: {line}: {error}") from error


def _words(line: str) -> list[str]:
    line = re.split(r"\s[|>&]|\s>|;", line.replace("\\\n", " "))[0]
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


def test_every_rule_of_validation_is_listed() -> None:
    sources = [Path(validation.__file__), *(REPOSITORY / "cli/sakuin_cli/site").glob("*.py")]
    reported = {
        rule for source in sources for rule in re.findall(rf'"([a-z]+(?:-[a-z]+)+)", (?:{SUBJECT})', source.read_text())
    }
    assert reported == set(re.findall(RULE_ROW, DOCUMENT, re.MULTILINE))


def test_every_variable_that_the_reference_shows_is_read_and_no_other() -> None:
    # Texts are read by what the reference shows.
    others = [each for each in fields(CommandSettings) if each.type is not str]
    shown = {name for each in others for name in each.metadata["variables"]}
    source = (REPOSITORY / "cli/sakuin_cli/settings.py").read_text()
    read = source.partition("def read(")[2].partition("def project_id(")[0]
    assert shown == set(re.findall(r'environ\.get\("([A-Z_0-9]+)"', read))


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_ends_with_examples_that_the_command_takes(name: str) -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(GROUP, [*name.split(), "--help"]).output
    examples = re.findall(rf"^ *(sakuin {name}\b.*?) *$", shown, re.MULTILINE)
    assert len(examples) == len(EXAMPLES[name])
    assert {option for line in examples for option in re.findall(r"--[a-z-]+", line)} <= parameters(COMMANDS[name])


def test_every_command_but_up_prints_json() -> None:
    assert [name for name, command in COMMANDS.items() if "--json" not in parameters(command)] == ["up"]
