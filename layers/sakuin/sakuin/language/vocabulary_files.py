"""The files of vocabularies, `vocabularies/NAME.txt`."""

import hashlib
from functools import cache
from pathlib import Path

from sakuin.errors import Misconfigured

FOLDER = Path(__file__).parent / "vocabularies"


@cache
def vocabulary_text(name: str) -> str:
    """Returns the content of the file of a name. Raises `Misconfigured` if there is none."""
    files = {file.stem: file for file in FOLDER.glob("*.txt")}
    if name not in files:
        raise Misconfigured(f"There is no vocabulary {name!r}. Use {', '.join(sorted(files))}, or a space for none")
    return files[name].read_text("utf-8")


def vocabulary_id(name: str) -> str:
    """Returns the name with a hash of the content; empty for no name. A changed file is another vocabulary."""
    return f"{name}@{hashlib.sha256(vocabulary_text(name).encode()).hexdigest()[:8]}" if name else ""
