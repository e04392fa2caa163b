"""Files on this machine, with errors of ours."""

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
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{file} is not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}") from error


def write_text(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}") from error


def write_bytes(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}") from error
