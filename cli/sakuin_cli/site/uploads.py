"""The S3 keys of an author's files."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sakuin.errors import Invalid, NotFound

NOT_HTML = "not HTML"
HTML = (".html", ".htm", ".xhtml")
MARKDOWN = (".md", ".markdown", ".mdx")
FRONT_MATTER = re.compile(
    r"\A\ufeff?(?P<fence>---|\+\+\+)[ \t]*\r?\n(?P<fields>.*?\n)?(?P=fence)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
# What no author wrote, beside hidden folders.
_OTHERS_FOLDER = "node_modules"

# Pages and folders that site generators add to what an author wrote: errors, indexes of names, listings of source code.
_GENERATED = re.compile(
    r"(?:^|/)(?:(?:404(?:/index)?|genindex(?:-[^/]*)?|py-modindex)\.html$|(?:_(?:static|modules|sources)|wp-json)/)"
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file and its key, NFC. `material` is None for a `learns.yml` and a `synonyms.yml`."""

    path: str
    key: str
    material: str | None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not uploaded, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Uploads:
    """The files to upload, pages last; files with the same key (`clashes`); other files."""

    files: tuple[Upload, ...]
    clashes: tuple[Upload, ...]
    skipped: tuple[SkippedFile, ...]

    @property
    def pages(self) -> tuple[Upload, ...]:
        """Returns the files that are pages."""
        return tuple(file for file in self.files if file.material is not None)

    def clash_reason(self, upload: Upload) -> str:
        """Returns which other files have the same key, and what to do."""
        others = (other.path for other in self.clashes if other.key == upload.key and other != upload)
        named = " and ".join(map(repr, others))
        return f"{named} would have the same key; rename one of them, or push it with another --prefix"


def uploads_below(paths: Iterable[Path], *, folder: str, material_prefix: str = "") -> Uploads:
    """Returns the uploads among the files below `paths`."""
    places = [place for path in paths for place in files_below(path)]
    return uploads_of(places, folder=folder, material_prefix=material_prefix)


def uploads_of(places: Iterable[tuple[str, str]], *, folder: str = "", material_prefix: str = "") -> Uploads:
    """Returns the uploads among `(path, place)`: `samples/a/x.html`, `a/x.html` → `{material_prefix}{folder}/a/x.html`.

    A Markdown file has the key of its page, `a/x.md` → `…/a/x.html`; a page beside it that is built of it counts
    instead. Skips what is neither HTML nor Markdown nor a `learns.yml` or `synonyms.yml`, and pages that no author
    wrote.
    """
    from sakuin.knowledge.names import authored_file, material_of_key

    by_key: defaultdict[str, dict[str, Upload]] = defaultdict(dict)
    skipped: list[SkippedFile] = []
    places = list(places)
    built = {place for _, place in places if place.endswith(".html")}
    for path, place in places:
        page = f"{place.rpartition('.')[0]}.html" if is_markdown(place) else place
        if page != place and page in built:
            skipped.append(SkippedFile(path, f"{page} is its page"))
            continue
        key = f"{material_prefix}{folder_path(folder)}{unicodedata.normalize('NFC', page)}"
        material = material_of_key(key, prefix=material_prefix)
        is_beside = authored_file(key, prefix=material_prefix) is not None
        if (material is None and not is_beside) or _GENERATED.search(page):
            skipped.append(SkippedFile(path, _skip_reason(page)))
        else:
            by_key[key][path] = Upload(path, key, material)
    alone = [next(iter(files.values())) for files in by_key.values() if len(files) == 1]
    clashes = [upload for files in by_key.values() if len(files) > 1 for upload in files.values()]
    # Indexing a page reads its learns.yml, so that file is uploaded first.
    alone.sort(key=lambda upload: (upload.material is not None, upload.key))
    return Uploads(tuple(alone), tuple(clashes), tuple(skipped))


def is_markdown(name: str) -> bool:
    """Returns whether the name of a file is that of Markdown."""
    return name.lower().endswith(MARKDOWN)


def is_page(name: str) -> bool:
    """Returns whether the name of a file is that of HTML or Markdown."""
    return name.lower().endswith((*HTML, *MARKDOWN))


def _skip_reason(place: str) -> str:
    name = PurePosixPath(place)
    if name.suffix == ".html" and _GENERATED.search(place):
        return "made by the site generator"
    if ".." in name.parts:
        return "a key with the segment `..` is not accepted"
    if name.name.lower() in ("learns.yaml", "synonyms.yaml"):
        return "rename it to .yml"
    if name.suffix.lower() in HTML:
        return "rename it to .html"
    return NOT_HTML


def no_page_in(paths: Iterable[Path]) -> Invalid:
    """Returns the error for paths without a page."""
    where = ", ".join(path.as_posix() for path in paths)
    return Invalid(f"There is no page in {where}: name a folder of .html or .md files")


def folder_path(folder: str) -> str:
    """Returns a folder as the prefix of keys and materials, NFC: `/junior` → `junior/`; empty for the top."""
    from sakuin.knowledge.names import folder_name

    return f"{name}/" if (name := folder_name(folder)) else ""


def files_below(root: Path) -> list[tuple[str, str]]:
    """Returns the path, and the path relative to `root`, of all files in a folder but hidden ones and `node_modules`.

    A `root` that is a file is the only one; a missing one raises `NotFound`.
    """
    if root.is_dir():
        places = sorted(file.relative_to(root) for file in root.rglob("*") if file.is_file())
        shown = [place for place in places if not any(map(_is_hidden, place.parts))]
        return [(_text(root / place), _text(place)) for place in shown]
    if not root.exists():
        raise NotFound(f"{root.as_posix()} does not exist")
    return [(_text(root), root.name)]


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == _OTHERS_FOLDER


def _text(path: Path) -> str:
    name = path.as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Invalid(f"The name {name!r} is not UTF-8: S3 cannot store it; rename the file") from None
    return name
