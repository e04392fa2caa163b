"""The style, the script and the icon of the console."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

_FOLDER = files("sakuin.console").joinpath("static")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def static_file(name: str) -> tuple[bytes, str] | None:
    """Returns a file and its media type; None if there is no such file."""
    media_type = _TYPES.get(PurePosixPath(name).suffix)
    if media_type is None or PurePosixPath(name).name != name or not (file := _FOLDER.joinpath(name)).is_file():
        return None
    return file.read_bytes(), media_type


@cache
def static_path(name: str) -> str:
    """Returns the path of a file below the console, with a part that changes when the file does."""
    content, _media_type = static_file(name) or (b"", "")
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"
