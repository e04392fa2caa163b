"""The files on this machine."""

from pathlib import Path

from sakuin.errors import Invalid, NotFound


def files_below(root: Path) -> list[tuple[str, str]]:
    """Path, and place below `root`, of all files of a folder, by place; hidden ones are left out.

    A `root` that is a file stands alone; one that is not there raises `NotFound`.
    """
    if root.is_dir():
        places = sorted(file.relative_to(root) for file in root.rglob("*") if file.is_file())
        shown = [place for place in places if not any(part.startswith(".") for part in place.parts)]
        return [(_text(root / place), _text(place)) for place in shown]
    if not root.exists():
        raise NotFound(f"{root.as_posix()} is not there")
    return [(_text(root), root.name)]


def read_bytes(path: str) -> bytes:
    """The content of a file; one that is gone or may not be read raises `NotFound`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error


def read_text(file: Path) -> str:
    """The text of a UTF-8 file."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{file} is no UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}") from error


def write_text(file: Path, text: str) -> None:
    """Writes a UTF-8 file."""
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}") from error


def _text(path: Path) -> str:
    name = path.as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Invalid(f"The name {name!r} is not UTF-8: S3 cannot hold it; rename the file") from None
    return name
