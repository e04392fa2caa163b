"""Files on this machine, with errors of ours."""

import os
from pathlib import Path

from sakuin.errors import Invalid, NotFound


def read_bytes(path: str) -> bytes:
    """Returns the content of a file; raises `NotFound` if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error


def read_text(file: Path) -> str:
    try:
        return read_bytes(file.as_posix()).decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"{file} is not UTF-8: {error.reason} at byte {error.start}") from error


def write_text(file: Path, text: str) -> None:
    write_bytes(file, text.encode())


def write_bytes(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}") from error


def replace_bytes(file: Path, data: bytes, *, mode: int) -> None:
    """Replaces the file in one step, so that no reader finds half of it; `mode` are its permissions."""
    new = file.with_name(f".{file.name}.new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            opened.write(data)
        new.chmod(mode)
        new.replace(file)
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}") from error
