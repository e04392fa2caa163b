"""Which file of an author's goes to which S3 key."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sakuin_cli.files import files_below


@dataclass(frozen=True, slots=True)
class Upload:
    """One file and its key, NFC. `material` is None for a `learns.yml` and for the site's `synonyms.yml`."""

    path: str
    key: str
    material: str | None


@dataclass(frozen=True, slots=True)
class Uploads:
    """What is uploaded, pages last; what would write one key twice (`clashes`); how many other files there are."""

    files: tuple[Upload, ...]
    clashes: tuple[Upload, ...]
    skipped: int

    @property
    def pages(self) -> tuple[Upload, ...]:
        """The files that are pages."""
        return tuple(file for file in self.files if file.material is not None)

    def clash_reason(self, upload: Upload) -> str:
        """Which other files have the same key, and what to do about it."""
        others = (other.path for other in self.clashes if other.key == upload.key and other != upload)
        named = " and ".join(map(repr, others))
        return f"{named} would have the same key; rename one of them, or push it with another --prefix"


def uploads_below(paths: Iterable[Path], *, folder: str, material_prefix: str) -> Uploads:
    """The uploads among the files below `paths`."""
    places = [place for path in paths for place in files_below(path)]
    return uploads_of(places, folder=folder, material_prefix=material_prefix)


def uploads_of(places: Iterable[tuple[str, str]], *, folder: str = "", material_prefix: str = "") -> Uploads:
    """The uploads among `(path, place)`: `samples/junior/x.html`, `junior/x.html` → `{prefix}{folder/}junior/x.html`.

    `folder` is where the author wants them in the library. What is neither HTML nor `learns.yml` is skipped, but for
    the one `synonyms.yml` at the top of the library.
    """
    # A parser of YAML comes with them.
    from sakuin.knowledge.learns.learns_yml import LEARNS_FILE
    from sakuin.knowledge.names import material_of_key, synonyms_key

    by_key: defaultdict[str, dict[str, Upload]] = defaultdict(dict)
    skipped = 0
    for path, place in places:
        key = f"{material_prefix}{folder_path(folder)}{unicodedata.normalize('NFC', place)}"
        material = material_of_key(key, prefix=material_prefix)
        is_beside = place.rpartition("/")[2] == LEARNS_FILE or key == synonyms_key(material_prefix)
        if material is None and not is_beside:
            skipped += 1
        else:
            by_key[key][path] = Upload(path, key, material)
    alone = [next(iter(files.values())) for files in by_key.values() if len(files) == 1]
    clashes = [upload for files in by_key.values() if len(files) > 1 for upload in files.values()]
    # A page reads its learns.yml when it is indexed: the file has to be there first.
    alone.sort(key=lambda upload: (upload.material is not None, upload.key))
    return Uploads(tuple(alone), tuple(clashes), skipped)


def folder_path(folder: str) -> str:
    """A folder as keys and materials begin with it, NFC: `/junior` → `junior/`; nothing for the top."""
    segments = unicodedata.normalize("NFC", folder).split("/")
    return "".join(f"{segment}/" for segment in segments if segment not in ("", "."))
