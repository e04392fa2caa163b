"""The samples, as a person would load them: pages through S3 once per content, the Table once per data folder."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from sakuin.errors import SakuinError
from sakuin_cli.client import DeploymentClient
from sakuin_cli.commands.table import create_table
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings

from sakuin_local.command import sakuin
from sakuin_local.environment_file import write_environment
from sakuin_local.errors import LocalError
from sakuin_local.places import SAMPLES
from sakuin_local.stack import Stack

TABLE = SAMPLES / "tables" / "学習コラム.json"
TOOL = "search_columns"
DESCRIPTION = "数学の学び方についてのコラムを、意味と語の両方で探す。"
# The model reads them in a minute; a machine that is busy with other work takes ten.
_SEARCHABLE_SECONDS = 900
_TAKEN_SECONDS = 60


def load(stack: Stack, folder: Path) -> bool:
    """Push them and wait until they are searchable; False where this data folder has them already.

    What was removed since by hand stays away: they are pushed again only when they changed themselves.
    """
    mark = folder / "samples"
    content = _content(SAMPLES)
    if mark.exists() and mark.read_text() == content:
        return False
    sakuin(stack, "push", str(SAMPLES), "--timeout", str(_SEARCHABLE_SECONDS))
    mark.write_text(content)
    return True


def _content(samples: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(samples.rglob("*")):
        if file.is_file():
            digest.update(str(file.relative_to(samples)).encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def load_table(stack: Stack, folder: Path, *, samples: bool) -> dict[str, str]:
    """The default project and, with `samples`, a Table with its tool at an endpoint: settings for the commands.

    Each is made once per data folder, whose `projects.json` remembers the ids, and the key, for its owner only.
    What was removed since by hand stays away.
    """
    file = folder / "projects.json"
    kept: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    client = deployment_of(CommandSettings.read(stack.environment))
    try:
        if "project" not in kept:
            _keep(file, kept, project=client.create_project("default"))
        if samples and "key" not in kept:
            _make(client, file, kept)
    except SakuinError as error:
        raise LocalError(f"the sample Table cannot be loaded: {error}") from error
    finally:
        client.http.close()
    return _settings(stack, kept)


def _make(client: DeploymentClient, file: Path, kept: dict[str, str]) -> None:
    project = kept["project"]
    if "table" not in kept:
        table = create_table(client, project, TABLE.stem, TABLE.read_bytes(), seconds=_TAKEN_SECONDS)
        _keep(file, kept, table=table["id"])
    if "tool" not in kept:
        tool = client.create_tool(
            project, table_id=kept["table"], json_path="/articles", name=TOOL, description=DESCRIPTION
        )
        _keep(file, kept, tool=tool["id"])
    # Its index is built while the stack is in use already: `sakuin status --tool` shows how far it is.
    created = client.create_endpoint(project, name="samples", tools=[kept["tool"]])
    _keep(file, kept, mcp=created["mcp"]["id"], key=created["key"])


def _keep(file: Path, kept: dict[str, str], **more: str) -> None:
    kept |= more
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(kept))
    unfinished.rename(file)


def _settings(stack: Stack, kept: Mapping[str, str]) -> dict[str, str]:
    settings = {"SAKUIN_PROJECT": kept["project"]}
    if "key" in kept:
        settings["SAKUIN_TOOLS_MCP_URL"] = f"{stack.url}/mcp/{kept['mcp']}"
        settings["SAKUIN_TOOLS_API_KEY"] = kept["key"]
    return settings


def write_settings(stack: Stack, folder: Path, settings: Mapping[str, str]) -> None:
    """Adds settings to `<folder>/env`."""
    write_environment(folder / "env", {**stack.environment, **settings})
