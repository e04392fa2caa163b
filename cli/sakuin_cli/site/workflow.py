"""The files that `sakuin init` writes: `sakuin.toml`, and a workflow for GitHub Actions."""

import json
import re
import shlex
from pathlib import Path

WORKFLOW = Path(".github/workflows/sakuin.yml")
# The folders that site generators build into.
_BUILT = ("_site", "public", "dist", "build", "site", "_build/html", "docs/_build/html", "html", "www")


def built_folder(folder: Path) -> str:
    """Returns the folder of built pages in the folder of a site: the first that there is of the usual ones."""
    return next((place for place in _BUILT if (folder / place).is_dir()), _BUILT[0])


def config_text(pages: str, prefix: str) -> str:
    """Returns the `sakuin.toml` of a site."""
    return (
        "# `sakuin push` and `sakuin push --watch` read this file.\n"
        "# The folder of built pages:\n"
        f"pages = {json.dumps(pages, ensure_ascii=False)}\n"
        "# Their folder in the library; empty for its top. Links to pages begin with it.\n"
        f"prefix = {json.dumps(prefix, ensure_ascii=False)}\n"
        "# What agents read about this folder; a push with an admin key writes it:\n"
        '# description = "How to use the app, for its users."\n'
    )


def workflow_text(pages: str, prefix: str, build: str) -> str:
    """Returns the workflow of a site that the command `build` builds. Only the main branch is pushed."""
    name = shlex.quote(prefix)
    values = {
        "build": json.dumps(build, ensure_ascii=False),
        "golden": "golden.jsonl",
        "pages": shlex.quote(pages),
        "in": f" --in {name}" if prefix else "",
        "prefix": f" --prefix {name}" if prefix else "",
        # Below a prefix of its own, the library has nothing of other sites. The dry run fails if pages lose much.
        "delete": " --dry-run && sakuin push --delete --yes" if prefix else "",
    }
    text = Path(__file__).with_name("workflow.yml").read_text("utf-8")
    return re.sub("<<(.+?)>>", lambda match: values[match[1]], text)
