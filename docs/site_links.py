"""Hooks of MkDocs: documents beside docs/ and generated references become pages of the site, and links to them work."""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("SECURITY.md", "CHANGELOG.md", "tests/README.md", "tests/labels/README.md", "benchmarks/README.md")
# `scripts/reference` writes these.
GENERATED = ROOT / "build" / "reference"
LINK = re.compile(r"\[([^\]\n]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]+)?\)")


def on_files(files: Files, config: Any) -> Files:
    for name in DOCUMENTS:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    for page in sorted(GENERATED.glob("*.md")):
        files.append(File.generated(config, f"reference/{page.name}", content=page.read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turns links of the repository into links of the site; of a file that the site lacks only the text stays."""
    source = page.file.src_uri
    folder = (ROOT if source in DOCUMENTS else ROOT / "docs") / Path(source).parent

    def linked(found: re.Match[str]) -> str:
        text, target, heading = found.groups()
        path = Path(os.path.normpath(folder / target)).relative_to(ROOT).as_posix()
        name = path if path in DOCUMENTS else path.removeprefix("docs/")
        if not files.get_file_from_path(name):
            return text if (ROOT / path).exists() else found[0]
        return f"[{text}]({os.path.relpath(name, Path(source).parent)}{heading or ''})"

    return LINK.sub(linked, markdown)
