"""The texts of an author's pages, of a JSON document, or of the index, for a starter set of questions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sakuin.errors import Invalid
from sakuin.knowledge.names import OWN_FOLDER, chunk_id
from sakuin.knowledge.validation import IndexedChunk
from sakuin.tables.document import parsed_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.scan import LargeString, large_strings

from sakuin_cli.agent import AgentClient
from sakuin_cli.client import DeploymentClient
from sakuin_cli.evaluation.bootstrap import Passage, spread
from sakuin_cli.files import read_bytes
from sakuin_cli.portions import portions
from sakuin_cli.site.findings import authored_learns, learns_files
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import Upload, folder_path, uploads_below

_LONGEST_TITLE = 80
_SHORTEST_TEXT = 200
_IDS_A_CALL = 20


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


def passages_in_index(agent: AgentClient, client: DeploymentClient, *, folder: str) -> list[Passage]:
    """Returns the explanations below a folder, and for at most 50 of them their text and their author's `learns`."""
    concepts = (concept for answer in agent.pages("list_concepts", {}) for concept in answer["concepts"])
    found = [Passage(concept["id"], concept["title"]) for concept in concepts]
    below = folder_path(folder)
    passages = [one for one in found if one.id.startswith(below) and not one.id.startswith(OWN_FOLDER)]
    if not passages:
        place = f" below {below}" if below else ""
        raise Invalid(f"The index has no page to ask about{place}: push some, or name files with --from")
    contents = _contents([passage.id for passage in spread(passages)], agent)
    indexed = client.indexed({id.rpartition("#")[0] for id in contents})
    return [_whole(passage, contents, indexed) if passage.id in contents else passage for passage in passages]


def _contents(ids: Sequence[str], agent: AgentClient) -> dict[str, str]:
    """Returns the texts of the explanations that are still there."""
    contents: dict[str, str] = {}
    for some in portions(ids, _IDS_A_CALL):
        for answer in agent.pages("get_chunk_by_id", {"ids": some}):
            for chunk in answer["chunks"]:
                contents[chunk["id"]] = contents.get(chunk["id"], "") + chunk["content"]
    return contents


def _whole(passage: Passage, contents: Mapping[str, str], indexed: Mapping[str, Sequence[IndexedChunk]]) -> Passage:
    material, _, anchor = passage.id.rpartition("#")
    content = contents[passage.id]
    learns = next((chunk.learns_given for chunk in indexed.get(material, ()) if chunk.anchor == anchor), None)
    return replace(passage, content=content, learns=learns or ())
