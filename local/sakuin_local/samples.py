"""The samples in two languages: pages, pushed again when they change, and a Table, created once per data folder."""

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sakuin.errors import SakuinError
from sakuin_cli.client import DeploymentClient
from sakuin_cli.connections import deployment_of
from sakuin_cli.files import replace_bytes
from sakuin_cli.settings import CommandSettings

from sakuin_local.data_folder import environment_for, write_environment
from sakuin_local.errors import LocalError, ServiceDied
from sakuin_local.places import SAMPLES, SAMPLES_EN
from sakuin_local.processes import check_alive
from sakuin_local.stack import Stack


@dataclass(frozen=True, slots=True)
class Samples:
    """A folder of pages with a Table and what its Search Tool says; `parameters` are those of the template."""

    folder: Path
    table: Path
    tool: str
    description: str
    parameters: Mapping[str, str] = field(default_factory=dict)


_MATHEMATICS = Samples(
    SAMPLES,
    SAMPLES / "tables" / "学習コラム.json",
    "search_columns",
    "数学の学び方についてのコラムを、意味と語の両方で探す。",
    {"Vocabulary": "school-mathematics"},
)
_PRODUCT = Samples(
    SAMPLES_EN,
    SAMPLES_EN / "tables" / "answers.json",
    "search_answers",
    "Searches the answers of a product's support team, by meaning and by words.",
)


def samples_in(language: str) -> Samples:
    """Returns school mathematics for Japanese, otherwise the English documentation of a product."""
    return _MATHEMATICS if language == "ja" else _PRODUCT


# The model needs a minute; a busy machine needs ten.
_SEARCHABLE_SECONDS = 900
_IMPORT_SECONDS = 60
_LOOK_SECONDS = 0.2


def load_pages(stack: Stack, pages: Path) -> str:
    """Makes the pages of a folder the whole library, waits until they are searchable, and then follows the folder.

    Returns what the push says if pages cannot be read or still wait: the others are searchable. Empty if all are.
    """
    environment = environment_for(stack.environment)
    options = ("--watch", "--whole", "--replace", "--yes", "--json", "--timeout", str(_SEARCHABLE_SECONDS))
    command: list[str | Path] = [_program(), "push", pages, *options]
    running = stack.programs.start("sakuin-watch", command, environment)
    pushed = ""
    while not pushed.startswith("{"):
        try:
            check_alive(running)
        except ServiceDied as error:
            return str(error)
        time.sleep(_LOOK_SECONDS)
        written = running.log.read_text("utf-8", "replace") if running.log.exists() else ""
        pushed = next((line for line in written.splitlines(keepends=True) if line[0] == "{" and line[-1] == "\n"), "")
    document = json.loads(pushed)
    files = [f"{file['path']}  {file['reason']}" for file in (*document["failed"], *document["pending"])]
    count = f"{document['pushed']} of {len(document['pages'])} pages searchable"
    return "\n".join([*files, count]) if files else ""


def load(stack: Stack, folder: Path, samples: Samples) -> bool:
    """Pushes the samples and waits until they are searchable; returns False if this data folder has them already.

    Pages that a person has removed since then stay removed: all are pushed again only after a change of the samples.
    """
    mark = folder / "samples"
    content = _content(samples.folder)
    if mark.exists() and mark.read_text() == content:
        return False
    _push(stack, samples.folder)
    mark.write_text(content)
    return True


def _push(stack: Stack, pages: Path, *options: str) -> None:
    """Runs `sakuin push` on a folder; raises `LocalError` if it fails."""
    command: list[str | Path] = [_program(), "push", pages, "--timeout", str(_SEARCHABLE_SECONDS), *options]
    stack.programs.run("sakuin-push", command, environment_for(stack.environment))


def _program() -> Path:
    return Path(sys.executable).with_name("sakuin")


def _content(samples: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(samples.rglob("*")):
        if file.is_file():
            digest.update(str(file.relative_to(samples)).encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def load_table(stack: Stack, folder: Path, samples: Samples | None) -> dict[str, str]:
    """Creates the default project and, with `samples`, a Table, a tool and an endpoint; returns settings of commands.

    The user of this machine is an owner of the project. Each is created once per data folder: `projects.json` has the
    ids and the key, readable by its owner only.
    """
    file = folder / "projects.json"
    kept: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    client = deployment_of(CommandSettings.read(stack.environment))
    try:
        if "project" not in kept:
            _keep(file, kept, project=client.call("POST", "projects", json={"name": "default"})["id"])
        if "user" not in kept:
            member = {"user_id": stack.environment["SAKUIN_USER_ID"], "role": "owner"}
            client.call("POST", "projects", kept["project"], "members", json=member)
            _keep(file, kept, user=stack.environment["SAKUIN_USER_ID"])
        if samples and "key" not in kept:
            _create(client, file, kept, samples)
    except SakuinError as error:
        raise LocalError(f"the sample Table could not be loaded: {error}") from error
    finally:
        client.http.close()
    return _settings(stack, kept)


def _create(client: DeploymentClient, file: Path, kept: dict[str, str], samples: Samples) -> None:
    place = ("POST", "projects", kept["project"])
    if "table" not in kept:
        members, document = {"name": samples.table.stem}, samples.table.read_bytes()
        table = client.store_table(*place, "tables", members=members, document=document, seconds=_IMPORT_SECONDS)
        _keep(file, kept, table=table["id"])
    if "tool" not in kept:
        request = {"type": "search", "name": samples.tool, "description": samples.description, "json_path": "/articles"}
        tool = client.call(*place, "tools", json={**request, "table_id": kept["table"]})
        _keep(file, kept, tool=tool["id"])
    # The index is built in the background: `sakuin status --tool` shows its progress.
    created = client.call(*place, "mcps", json={"name": "samples", "tool_ids": [kept["tool"]]})
    _keep(file, kept, mcp=created["mcp"]["id"], key=created["key"])


def _keep(file: Path, kept: dict[str, str], **more: str) -> None:
    kept |= more
    replace_bytes(file, json.dumps(kept).encode(), mode=0o600)


def _settings(stack: Stack, kept: Mapping[str, str]) -> dict[str, str]:
    settings = {"SAKUIN_PROJECT": kept["project"]}
    if "key" in kept:
        settings["SAKUIN_TOOLS_MCP_URL"] = f"{stack.url}/mcp/{kept['mcp']}"
        settings["SAKUIN_TOOLS_API_KEY"] = kept["key"]
    return settings


def write_settings(stack: Stack, folder: Path, settings: Mapping[str, str]) -> None:
    """Adds settings to `<folder>/env`."""
    write_environment(folder / "env", {**stack.environment, **settings})
