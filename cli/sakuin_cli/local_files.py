"""The files on this machine, through the operating system."""

from dataclasses import dataclass
from pathlib import Path

from sakuin.errors import Invalid, NotFound

from sakuin_cli.ports import FoundFile


@dataclass(frozen=True, slots=True)
class Disk:
    """A `LocalFiles`."""

    def below(self, path: str) -> list[FoundFile]:
        root = Path(path)
        if root.is_dir():
            places = sorted(file.relative_to(root) for file in root.rglob("*") if file.is_file())
            shown = [place for place in places if not any(part.startswith(".") for part in place.parts)]
            return [FoundFile(_text(root / place), _text(place)) for place in shown]
        if not root.exists():
            raise NotFound(f"{path} is not there")
        return [FoundFile(_text(root), root.name)]

    def read(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise NotFound(f"{path} cannot be read: {error.strerror}") from error


def _text(path: Path) -> str:
    name = path.as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Invalid(f"The name {name!r} is not UTF-8: S3 cannot hold it; rename the file") from None
    return name
