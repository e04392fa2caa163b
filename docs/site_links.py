"""Hooks of MkDocs: generated references become pages of the site, and links to what it lacks lead to the repository.

With an address in `extra.search` the search box asks that deployment.
"""

import html
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# `scripts/reference` writes these.
GENERATED = ROOT / "build" / "reference"
LINK = re.compile(r"\[([^\]\n]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]+)?\)")


def on_files(files: Files, config: Any) -> Files:
    for page in sorted(GENERATED.glob("*.md")):
        files.append(File.generated(config, f"reference/{page.name}", content=page.read_text("utf-8")))
    return files


def on_config(config: Any) -> Any:
    if config.extra["search"]:
        config.extra_javascript.append("site_search.js")
    return config


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Writes the address of the search into a page. The script comes from the site: no policy has to allow more."""
    address = html.escape((config.extra["search"] or "").rstrip("/"))
    meta = f'<meta name="sakuin-search" content="{address}">'
    return output.replace("</head>", f"{meta}</head>", 1) if address else output


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turns links to what the site lacks into links to the repository."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def linked(match: re.Match[str]) -> str:
        text, target, heading = match.groups()
        path = Path(os.path.normpath(folder / target))
        file = files.get_file_from_path(os.path.relpath(path, ROOT / "docs"))
        if (file and not file.inclusion.is_excluded()) or not path.exists():
            return match[0]
        return f"[{text}]({config.extra['repository']}/{path.relative_to(ROOT).as_posix()}{heading or ''})"

    return LINK.sub(linked, markdown)
