"""What a push would do: which files are new or changed, which would lose entries of others, which pages are gone."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from sakuin.errors import Invalid, SakuinError
from sakuin.knowledge.learns.authored import LearnsFile, parse_learns
from sakuin.knowledge.names import LEARNS_FILE, OWN_FOLDER, SYNONYMS_FILE, material_of_key
from sakuin.language.unicode_text import nfc

from sakuin_cli.files import read_bytes
from sakuin_cli.site.authored import findings_of_learns, lost_entries
from sakuin_cli.site.config import Site
from sakuin_cli.site.library import etag
from sakuin_cli.site.pages import content_of, local_page
from sakuin_cli.site.uploads import Upload, Uploads, folder_path
from sakuin_cli.terminal import first_of

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.site.library import LibraryFiles

State = Literal["new", "changed", "unchanged"]
# How many lost entries are named.
_NAMED = 10
# A page that loses at least so many explanations, and more than this part of them, is most often a broken build.
_MANY, _PART = 5, 0.3


@dataclass(frozen=True, slots=True)
class Plan:
    """What a push of `uploads` would do.

    `states` and `refused` (with the reason) are by key. `gone` are the keys below the folder that no file here has.
    `library` are the materials of the library. `warnings` are sentences for the author, `losses` those about pages, by
    key, that lose many explanations. `tags` are the ETags of the files here.
    """

    uploads: Uploads
    states: Mapping[str, State]
    refused: Mapping[str, str]
    gone: tuple[str, ...]
    library: frozenset[str]
    warnings: tuple[str, ...]
    losses: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def accepted(self) -> Uploads:
        """Returns the uploads without those that are refused."""
        return replace(self.uploads, files=tuple(file for file in self.uploads.files if file.key not in self.refused))


def plan_of(
    library: "LibraryFiles",
    uploads: Uploads,
    site: Site,
    *,
    replacing: bool = False,
    deleting: bool = False,
    whole: bool = False,
    pushed: Collection[str] = (),
) -> Plan:
    """Compares the uploads with the library. With `replacing`, entries may be lost; with `deleting`, `gone` will go.

    `whole`: the site is the whole library, so that all else is gone. `pushed` are ETags of files whose entries are of
    this site, and may be lost.
    """
    stored = library.etags()
    tags: dict[str, str] = {}
    refused: dict[str, str] = {}
    for file in uploads.files:
        try:
            tags[file.key] = etag(content_of(file.path))
        except SakuinError as error:
            refused[file.key] = str(error)
    folder = f"{library.prefix}{folder_path(site.prefix)}"
    gone = _gone(stored, uploads, folder) if all(path.is_dir() for path in site.paths) else ()
    if not site.prefix and not whole:
        # The other folders of the library are other authors'.
        own = {_top(file.key, folder) for file in uploads.files}
        gone = tuple(key for key in gone if _top(key, folder) in own)
    materials = {key: material for key in stored if (material := _material(key, library.prefix))}
    staying = {key: material for key, material in materials.items() if not (deleting and key in gone)}
    carried = {page.material or "" for page in uploads.pages} | (set(materials.values()) - set(staying.values()))
    missing = [] if deleting else _missing([key for key in gone if key in materials])
    for file in uploads.files:
        if file.material is None and tags.get(file.key, "") not in ("", stored.get(file.key)):
            is_compared = file.key in stored and stored[file.key] not in pushed and not replacing
            if reason := reason_to_refuse(library, file, carried, is_compared=is_compared):
                refused[file.key] = reason
    return Plan(
        uploads,
        {key: "new" if key not in stored else _changed(tag, stored[key]) for key, tag in tags.items()},
        refused,
        gone,
        frozenset(staying.values()) | {page.material or "" for page in uploads.pages},
        (*_same_names(uploads, site, materials), *missing),
        tags=tags,
    )


def losses_of(client: "DeploymentClient", pages: Sequence[Upload], box_selectors: Sequence[str]) -> dict[str, str]:
    """Returns by key what the index would lose, for pages that lose many explanations."""
    indexed = client.indexed([page.material or "" for page in pages]) if pages else {}
    losses: dict[str, str] = {}
    for page in pages:
        known = indexed.get(page.material or "", ())
        # The index keeps what it has of a page that cannot be read.
        if len(known) < _MANY or isinstance(new := local_page(page.path, box_selectors), str):
            continue
        kept = {one.anchor for one in new.explanations}
        lost = [f"#{chunk.anchor}" for chunk in known if chunk.anchor not in kept]
        if len(lost) >= _MANY and len(lost) > _PART * len(known):
            share = f"{len(lost)} of its {len(known)} sections"
            losses[page.key] = f"{page.material} would lose {share}: {first_of(lost, _MANY)}"
    return losses


def learns_warnings(plan: Plan, library: "LibraryFiles", anchors: Mapping[str, Collection[str]]) -> list[str]:
    """Returns warnings about entries of the pushed `learns.yml` that no page has; asks for anchors of other pages."""
    files = [(file, parsed) for file in plan.accepted.files if (parsed := _learns_file(file)) is not None]
    named = {name for _, parsed in files for name in parsed.materials}
    others = {one for one in plan.library if (one in named or one.rpartition("/")[2] in named) and one not in anchors}
    indexed = library.client.indexed(others) if others else {}
    known = {**anchors, **{name: [chunk.anchor for chunk in found] for name, found in indexed.items()}}
    return [
        finding.message
        for file, parsed in files
        for finding in findings_of_learns(
            file.key, file.key.removeprefix(library.prefix).removesuffix(LEARNS_FILE), parsed, plan.library, known
        )
    ]


def _learns_file(file: Upload) -> LearnsFile | None:
    if file.material is not None or not file.key.endswith(LEARNS_FILE):
        return None
    return parse_learns(read_bytes(file.path))


def _changed(tag: str, stored: str) -> State:
    return "unchanged" if tag == stored else "changed"


def _material(key: str, prefix: str) -> str | None:
    material = material_of_key(key, prefix=prefix)
    return None if material is None or material.startswith(OWN_FOLDER) else material


def reason_to_refuse(library: "LibraryFiles", file: Upload, carried: Collection[str], *, is_compared: bool) -> str:
    """Returns why a `learns.yml` or `synonyms.yml` is not uploaded, empty if it is."""
    new = read_bytes(file.path)
    try:
        old = library.read(file.key) if is_compared else b""
        lost = lost_entries(file.key, old=old, new=new, carried=carried)
    except Invalid as error:
        return str(error)
    if not lost:
        return ""
    named = first_of(lost, _NAMED, separator="; ")
    return (
        f"the {file.key} of the library has entries that this file does not have: {named}. "
        "Add them, push the file to a folder of its own with --prefix, or give them up with --replace"
    )


def keys_below(folder: str, stored: Iterable[str]) -> list[str]:
    """Returns the keys of an author's files below a folder: pages, `learns.yml` and `synonyms.yml`."""
    names = (".html", f"/{LEARNS_FILE}", f"/{SYNONYMS_FILE}")
    return [
        key
        for key in stored
        if nfc(key).startswith(folder) and f"/{key}".endswith(names) and f"/{OWN_FOLDER}" not in f"/{key}"
    ]


def _gone(stored: Collection[str], uploads: Uploads, folder: str) -> tuple[str, ...]:
    here = {file.key for file in (*uploads.files, *uploads.clashes)}
    return tuple(key for key in keys_below(folder, stored) if nfc(key) not in here)


def _missing(keys: Sequence[str]) -> list[str]:
    """Returns a warning about pages that are gone from the pushed folders."""
    if not keys:
        return []
    return [f"In the library, and not in your folders: {first_of(keys, _NAMED)}. --delete deletes such pages"]


def _top(key: str, folder: str) -> str:
    """Returns the first folder of a key below `folder`, empty for a page directly there."""
    return key.removeprefix(folder).rpartition("/")[0].partition("/")[0]


def _same_names(uploads: Uploads, site: Site, library: Mapping[str, str]) -> list[str]:
    """Returns a warning for each page that was named by its file and has the name of a page in another folder."""
    single = {path.as_posix() for path in site.paths if path.is_file()}
    return [
        f"{page.material} has the name of {other}: to replace that page, push with --prefix {other.rpartition('/')[0]}"
        for page in uploads.pages
        if page.path in single
        for other in library.values()
        if page.material and other != page.material and other.endswith(f"/{page.material.rpartition('/')[2]}")
    ]
