"""The texts of an author's pages or of a JSON document, for a starter set of questions."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from sakuin.errors import Invalid
from sakuin.knowledge.names import chunk_id
from sakuin.tables.document import parsed_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.scan import LargeString, large_strings

from sakuin_cli.evaluation.bootstrap import Passage
from sakuin_cli.files import read_bytes
from sakuin_cli.site.findings import authored_learns, learns_files
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import Upload, uploads_below

_LONGEST_TITLE = 80
_SHORTEST_TEXT = 200


def passages_below(paths: Collection[Path], *, folder: str) -> list[Passage]:
    """Returns the texts of pages and JSON documents on this machine; `folder` is the library's folder of the pages.

    Files that cannot be read are left out.
    """
    documents = [path for path in paths if path.is_file() and path.suffix == ".json"]
    found = [passage for document in documents for passage in _of_document(read_bytes(document.as_posix()))]
    pages = [path for path in paths if path not in documents]
    uploads = uploads_below(pages, folder=folder)
    learns, _ = learns_files(uploads)
    for page in uploads.pages:
        found += _of_page(page, authored_learns(page, learns))
    if not found:
        raise Invalid("There is no text to ask about: name built pages, or a JSON document with long strings")
    return found


def _of_page(upload: Upload, authored: Mapping[str, tuple[str, ...]]) -> Iterator[Passage]:
    page = local_page(upload.path)
    if isinstance(page, str):
        return
    for one in page.explanations:
        heading = one.headings[-1] if one.headings else page.title
        items = authored.get(one.anchor, ())
        yield Passage(chunk_id(upload.material or "", one.anchor), one.title, heading, one.content, items)


def _of_document(body: bytes) -> Iterator[Passage]:
    document = parsed_table(body)
    for string in large_strings(document, "", threshold=_SHORTEST_TEXT):
        if isinstance(string, LargeString):
            parent = resolve(document, string.json_pointer.rpartition("/")[0]) if string.json_pointer else None
            members = parent.values() if isinstance(parent, dict) else ()
            # The longest of the short texts beside it is most often its title, name or question.
            short = [text for text in members if isinstance(text, str) and len(text) <= _LONGEST_TITLE]
            yield Passage(string.json_pointer, max(short, key=len, default=""), "", string.text)
